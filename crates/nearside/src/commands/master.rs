//! `nearside master`: a master server with its sockets, its store and its log.

mod config;
mod log;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_discover::sources::OriginLookup;
use nearside_master::store::{Embedded, Loaded, Memory, Redis, Store, StoreError};
use nearside_master::{Command, Service, ServiceConfig, ServiceError, ServiceHandle};
use nearside_net::{MonotonicClock, Stop};
use nearside_registry::Secret;

use self::config::{MasterConfig, StorePlace};
use crate::cli::{MasterArgs, MasterCommand};
use crate::commands::stop_on_interrupt;
use crate::exit::{Exit, WorldFailure};
use crate::origins::{Origins, now};

/// Runs the command.
pub fn run(args: &MasterArgs) -> Result<Exit> {
    match args.what {
        Some(MasterCommand::Config) => {
            io::stdout().write_all(MasterConfig::explained().as_bytes())?;
            Ok(Exit::Done)
        }
        None => serve(&MasterConfig::resolve(args)?, args.seconds),
    }
}

fn serve(config: &MasterConfig, seconds: Option<f64>) -> Result<Exit> {
    let origins = Origins::of(config.origins.clone())?;
    let notes = origins.notes().to_vec();
    let origins = Arc::new(Mutex::new(origins));
    let stop = stop_on_interrupt()?;
    let (service, loaded) = open(config, &origins, &stop)?;
    let mut log = io::stderr();
    for note in notes {
        writeln!(log, "{note}")?;
    }
    say_what_was_known(&mut log, &service, &loaded)?;
    let handle = service.handle();
    for addr in handle.addresses() {
        writeln!(log, "listening on {addr}")?;
    }
    let serving = service.with_log(log::line).spawn().map_err(blame)?;
    let timed_out = follow_origins(&origins, &handle, &stop, seconds);
    stop.stop();
    let ended = serving
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let tally = ended.map_err(blame)?;
    let servers = handle.snapshot().servers;
    writeln!(
        log,
        "{servers} servers; {} registrations, {} lists, {} cookies",
        tally.registrations, tally.lists, tally.cookies
    )?;
    Ok(if timed_out {
        Exit::Done
    } else {
        Exit::Interrupted
    })
}

fn open(
    config: &MasterConfig,
    origins: &Arc<Mutex<Origins>>,
    stop: &Stop,
) -> Result<(Service, Loaded)> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).context("the system gives no random numbers")?;
    let mut service = ServiceConfig {
        listen: config.listen.clone(),
        settings: config.registry.clone(),
        secret: Secret(secret),
        bans: config.bans(),
    };
    let table = Arc::clone(origins);
    let origin_of = move |ip| {
        let origins = table.lock().unwrap_or_else(PoisonError::into_inner);
        origins.origin(ip)
    };
    let started = match &config.store {
        StorePlace::Nowhere => Service::start(service, Memory, origin_of, stop.clone()),
        StorePlace::File(path) => {
            let store = embedded(path)?;
            Service::start(service, store, origin_of, stop.clone())
        }
        StorePlace::Redis(nodes) => {
            let store = shared(nodes, &mut service.secret)?;
            Service::start(service, store, origin_of, stop.clone())
        }
    };
    started.map_err(blame)
}

fn embedded(path: &Path) -> Result<impl Store + 'static> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    Embedded::open(path).map_err(|error| WorldFailure(error.to_string()).into())
}

/// A cluster that front ends share, and with it the key of their cookies.
fn shared(nodes: &[String], secret: &mut Secret) -> Result<impl Store + 'static> {
    let world = |error: StoreError| WorldFailure(error.to_string());
    let mut store = Redis::connect(nodes).map_err(world)?;
    *secret = store.shared_secret(*secret).map_err(world)?;
    Ok(store)
}

/// What was wrongly set is bad input; sockets and stores are the world's doing.
fn blame(error: ServiceError) -> anyhow::Error {
    match error {
        ServiceError::Settings(error) => error.into(),
        ServiceError::Net(error) => error.into(),
        other => WorldFailure(other.to_string()).into(),
    }
}

fn say_what_was_known(log: &mut impl Write, service: &Service, loaded: &Loaded) -> io::Result<()> {
    if service.servers() > 0 {
        writeln!(log, "{} servers known from before", service.servers())?;
    }
    if loaded.unreadable > 0 {
        writeln!(
            log,
            "{} records could not be read and are left out",
            loaded.unreadable
        )?;
    }
    Ok(())
}

/// Until stopped or out of time: takes up origin tables that changed. Tells whether time was what
/// ended it.
fn follow_origins(
    origins: &Mutex<Origins>,
    handle: &ServiceHandle,
    stop: &Stop,
    seconds: Option<f64>,
) -> bool {
    const LOOK: Duration = Duration::from_millis(250);
    const REFRESH: Duration = Duration::from_secs(2);
    let clock = MonotonicClock::start();
    let mut next = clock.now() + REFRESH;
    while !stop.is_stopped() {
        let passed = clock.now();
        if seconds.is_some_and(|limit| passed.since_epoch().as_secs_f64() >= limit) {
            return true;
        }
        if passed >= next {
            next = passed + REFRESH;
            let said = origins
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .refresh();
            if !said.is_empty() {
                handle.tell(Command::RefreshOrigins);
            }
            for note in said {
                let _closed = writeln!(io::stderr(), "{note}");
            }
        }
        thread::sleep(LOOK);
    }
    false
}

/// The default place of the store.
fn usual_store() -> Option<PathBuf> {
    let data = crate::origins::folder_of("XDG_DATA_HOME", ".local/share")?;
    Some(data.join("nearside").join("master.redb"))
}

/// The moment for log lines.
fn timestamp() -> String {
    now().to_string()
}
