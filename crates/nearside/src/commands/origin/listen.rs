//! `nearside origin listen`: a live table from BGP neighbours, its state on a line, look-ups and
//! metrics over HTTP.

mod http;
pub(in crate::commands) mod live;
mod status;

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_net::{BgpListenError, BgpListener, MonotonicClock, Stop};

use self::live::{Feed, Live};
use crate::cli::OriginListenArgs;
use crate::commands::stop_on_interrupt;
use crate::exit::{Exit, WorldFailure};
use crate::origins::{ListenConfig, Origins};

pub(super) fn run(args: &OriginListenArgs) -> Result<Exit> {
    let config = ListenConfig::read(&args.config)?;
    let origins = Origins::of(config.sources.clone())?;
    for note in origins.notes() {
        writeln!(io::stderr(), "{note}")?;
    }
    let bgp = config.bgp()?;
    let neighbours = bgp.collector.neighbours.clone();
    let listener = BgpListener::bind(bgp)
        .map_err(blame)
        .with_context(|| args.config.display().to_string())?;
    let live = Arc::new(Live::new(&neighbours, origins));
    let stop = stop_on_interrupt()?;
    say_where(&listener)?;
    if let Some(addr) = config.http() {
        http::serve(addr, Arc::clone(&live), stop.clone())?;
        writeln!(io::stderr(), "look-ups and metrics on http://{addr}")?;
    }
    let ticking = tick(Arc::clone(&live), stop.clone(), args.seconds);
    let ended = listener.run(
        &stop,
        &MonotonicClock::start(),
        &mut Feed(Arc::clone(&live)),
    );
    stop.stop();
    let timed_out = ticking.join().unwrap_or(false);
    status::last_words(&live);
    ended.map_err(blame)?;
    Ok(if timed_out {
        Exit::Done
    } else {
        Exit::Interrupted
    })
}

/// A configuration that cannot work is bad input; a port that is taken is the world's doing.
pub(in crate::commands) fn blame(error: BgpListenError) -> anyhow::Error {
    match error {
        BgpListenError::Bind { .. } | BgpListenError::Socket { .. } => {
            WorldFailure(error.to_string()).into()
        }
        other => other.into(),
    }
}

fn say_where(listener: &BgpListener) -> Result<()> {
    let addr = listener.local_addr().map_err(blame)?;
    writeln!(io::stderr(), "waiting for BGP neighbours on {addr}").context("standard error")
}

/// Once a second: the status line, files that changed, and the end of the time. Tells whether the
/// time was what ended the run.
fn tick(live: Arc<Live>, stop: Stop, seconds: Option<f64>) -> thread::JoinHandle<bool> {
    const TICK: Duration = Duration::from_millis(250);
    thread::spawn(move || {
        let clock = MonotonicClock::start();
        let mut line = status::Line::new();
        let mut next = clock.now();
        while !stop.is_stopped() {
            let now = clock.now();
            if seconds.is_some_and(|limit| now.since_epoch().as_secs_f64() >= limit) {
                stop.stop();
                line.end();
                return true;
            }
            if now >= next {
                next = now + Duration::from_secs(1);
                live.refresh();
                line.show(&live);
            }
            thread::sleep(TICK);
        }
        line.end();
        false
    })
}
