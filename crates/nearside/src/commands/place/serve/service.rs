//! What all requests share: limits, queues, threads, figures and sessions.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use nearside_net::Stop;
use tokio::sync::{Semaphore, watch};

use super::super::args::ServeArgs;
use super::super::effort::Pool;
use super::book::Book;
use super::failure::Failure;
use super::gate::Gate;
use super::hosts::Hosts;
use super::metrics::Metrics;
use super::requests::Limit;
use super::store::Store;

/// Requests that may wait for a turn, for each that has one.
const QUEUE: usize = 16;
/// Streams of events at the same time.
const STREAMS: usize = 1000;

/// The service.
pub(super) struct Service {
    /// The largest instance or set-up.
    pub(super) max_body: Limit,
    /// The longest that a request may solve.
    pub(super) max_time: Duration,
    /// For questions about instances.
    pub(super) solving: Gate,
    /// For events of sessions, which should not wait for those.
    pub(super) sessions: Gate,
    /// For who reads logs or wakes a session to look at it, which should wait for neither.
    pub(super) reading: Gate,
    /// For streams.
    pub(super) streams: Arc<Semaphore>,
    /// Threads that solvers share.
    pub(super) pool: Pool,
    pub(super) metrics: Metrics,
    pub(super) book: Book,
    pub(super) hosts: Hosts,
    /// Ends solving at once.
    pub(super) stop: Stop,
    /// Ends streams.
    pub(super) ending: watch::Receiver<bool>,
}

pub(super) type Shared = Arc<Service>;

impl Service {
    pub(super) fn new(
        args: &ServeArgs,
        store: Store,
        stop: Stop,
        ending: watch::Receiver<bool>,
    ) -> Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let solvers = args.solvers.unwrap_or(cores);
        Ok(Self {
            max_body: Limit {
                bytes: args.max_body.saturating_mul(1 << 20),
                advice: "--max-body raises it",
            },
            max_time: Duration::from_secs_f64(args.max_time),
            solving: Gate::new(solvers, solvers.saturating_mul(QUEUE)),
            sessions: Gate::new(cores, 256),
            reading: Gate::new(cores, 256),
            streams: Arc::new(Semaphore::new(STREAMS)),
            pool: Pool::new(None)?,
            metrics: Metrics::default(),
            book: Book::open(store, args.max_sessions)?,
            hosts: Hosts::new(args.listen, &args.host),
            stop,
            ending,
        })
    }
}

/// Runs work on a thread where it may take its time.
pub(super) async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::internal(
            "this request broke the service; please report it",
        )),
    }
}
