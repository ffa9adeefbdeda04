//! Many runs on all cores. Results come back in the order of the work, whoever did it.

use rayon::prelude::*;
use thiserror::Error;

/// Is told how far a long experiment is; from any thread.
pub trait Progress: Sync {
    /// So many runs are ahead.
    fn expect(&self, runs: usize);
    /// One of them is done.
    fn done(&self);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Progress for Unwatched {
    fn expect(&self, _runs: usize) {}
    fn done(&self) {}
}

/// `work` on every item, in parallel; the results in the order of the items.
pub(crate) fn parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync + Send,
) -> Vec<R> {
    items.par_iter().map(work).collect()
}

/// The system gives no threads.
#[derive(Debug, Error)]
#[error("cannot start {threads} threads: {reason}")]
pub struct NoThreads {
    threads: usize,
    reason: String,
}

/// Runs `work` with so many threads instead of one for each core.
///
/// # Errors
/// When the system does not give them.
pub fn with_threads<R: Send>(
    threads: usize,
    work: impl FnOnce() -> R + Send,
) -> Result<R, NoThreads> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| NoThreads {
        threads,
        reason: error.to_string(),
    })?;
    Ok(pool.install(work))
}
