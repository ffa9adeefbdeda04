//! `nearside place serve`: solving and sessions over HTTP. One thread does the network; solving and
//! sessions have threads of their own, so a hard question never holds up an easy one.

mod book;
mod deadline;
mod face;
mod failure;
mod gate;
mod hosts;
mod metrics;
mod openapi;
mod requests;
mod routes;
mod service;
mod sessions;
mod solving;
mod store;
mod stream;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nearside_net::Stop;
use tokio::sync::watch;

use self::service::Service;
use self::store::Store;
use super::args::ServeArgs;
use super::show;
use crate::commands::stop_on_interrupt;
use crate::exit::{Exit, WorldFailure};

/// How long answers on their way may take after the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

pub(super) fn run(args: &ServeArgs) -> Result<Exit> {
    if args.openapi {
        show::print(&openapi::text())?;
        return Ok(Exit::Done);
    }
    let stop = stop_on_interrupt()?;
    let store = open_store(args)?;
    let (end, ending) = watch::channel(false);
    let service = Arc::new(Service::new(args, store, stop.clone(), ending)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the network's thread")?;
    let deadline = args
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let ended = runtime.block_on(listen(
        args.listen,
        service,
        wait(stop.clone(), deadline),
        end,
    ));
    // Solving has been told to stop; what does not listen must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended?;
    Ok(if stop.is_stopped() {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn open_store(args: &ServeArgs) -> Result<Store> {
    if args.in_memory {
        return Store::in_memory().context("cannot keep sessions in memory");
    }
    let path = match &args.store {
        Some(path) => path.clone(),
        None => usual_store()?,
    };
    Ok(Store::open(&path).map_err(|error| {
        WorldFailure(format!(
            "cannot open the store {}: {error} (--store names another, --in-memory does without)",
            path.display()
        ))
    })?)
}

/// A file in the user's data folder, which is made if need be.
fn usual_store() -> Result<PathBuf> {
    let data = crate::origins::folder_of("XDG_DATA_HOME", ".local/share").context(
        "neither HOME nor XDG_DATA_HOME is set: name a file with --store, or use --in-memory",
    )?;
    let folder = data.join("nearside");
    std::fs::create_dir_all(&folder)
        .map_err(|error| WorldFailure(format!("cannot make {}: {error}", folder.display())))?;
    Ok(folder.join("place.redb"))
}

/// Answers until `over`, then lets answers on their way finish.
async fn listen(
    addr: SocketAddr,
    service: Arc<Service>,
    over: impl Future<Output = ()> + Send + 'static,
    end: watch::Sender<bool>,
) -> Result<()> {
    let failed =
        |error: io::Error| WorldFailure(format!("cannot listen on {addr}: {error} (see --listen)"));
    let listener = tokio::net::TcpListener::bind(addr).await.map_err(failed)?;
    let addr = listener.local_addr().map_err(failed)?;
    writeln!(io::stderr(), "listening on http://{addr}").context("standard error")?;
    let mut ending = end.subscribe();
    let over = async move {
        over.await;
        let _ = end.send(true);
    };
    let served = axum::serve(listener, routes::router(service)).with_graceful_shutdown(over);
    let too_long = async move {
        let _ = ending.wait_for(|ended| *ended).await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    let served = std::pin::pin!(served.into_future());
    futures_util::future::select(served, std::pin::pin!(too_long)).await;
    Ok(())
}

async fn wait(stop: Stop, deadline: Option<Instant>) {
    let over = || stop.is_stopped() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    while !over() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
