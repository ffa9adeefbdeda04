use std::fmt;
use std::sync::OnceLock;

/// How much work a solver may do, by whom, and from which seed its luck comes.
///
/// An engine reads no clock and starts no thread: a caller that wants a deadline answers
/// [`Budget::with_deadline`], and one that has threads brings [`Workers`].
#[derive(Clone, Copy)]
pub struct Budget<'b> {
    seed: u64,
    steps: u64,
    time_is_up: Option<&'b (dyn Fn() -> bool + Sync)>,
    workers: &'b dyn Workers,
}

impl<'b> Budget<'b> {
    /// A budget without limits, on the caller's thread.
    pub fn unlimited(seed: u64) -> Self {
        Self {
            seed,
            steps: u64::MAX,
            time_is_up: None,
            workers: &Caller,
        }
    }

    /// At most this many steps: a step is a node of a search or a sampled cover. Steps, unlike
    /// time, are the same on every machine.
    #[must_use]
    pub fn with_steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }

    /// Stop soon after `time_is_up` says so. It is asked about every millisecond.
    #[must_use]
    pub fn with_deadline(mut self, time_is_up: &'b (dyn Fn() -> bool + Sync)) -> Self {
        self.time_is_up = Some(time_is_up);
        self
    }

    /// Let these do what can be done side by side.
    #[must_use]
    pub fn with_workers(mut self, workers: &'b dyn Workers) -> Self {
        self.workers = workers;
        self
    }

    /// Where random choices come from.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The limit of steps.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether the deadline has passed.
    pub fn time_is_up(&self) -> bool {
        self.time_is_up.is_some_and(|asked| asked())
    }

    /// The results of `job(0)`, `job(1)`, … in this order, whoever computed them.
    pub(crate) fn map<T: Send + Sync>(
        &self,
        jobs: usize,
        job: impl Fn(usize) -> T + Sync,
    ) -> Vec<T> {
        let slots: Vec<OnceLock<T>> = (0..jobs).map(|_| OnceLock::new()).collect();
        self.workers.run(jobs, &|index| {
            slots[index].get_or_init(|| job(index));
        });
        let done = |slot: OnceLock<T>| slot.into_inner().expect("workers run every job");
        slots.into_iter().map(done).collect()
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("seed", &self.seed)
            .field("steps", &self.steps)
            .field("deadline", &self.time_is_up.is_some())
            .finish_non_exhaustive()
    }
}

/// Whoever runs independent jobs: threads of a shell, or just the caller.
pub trait Workers: Sync {
    /// Runs `job(0)` to `job(jobs − 1)`, each once, in any order and on any thread, and returns when
    /// all are done.
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync));
}

/// Does every job itself, one after the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caller;

impl Workers for Caller {
    fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..jobs).for_each(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Backwards;

    impl Workers for Backwards {
        fn run(&self, jobs: usize, job: &(dyn Fn(usize) + Sync)) {
            (0..jobs).rev().for_each(job);
        }
    }

    #[test]
    fn results_come_in_the_order_of_jobs_whoever_runs_them() {
        let budget = Budget::unlimited(0).with_workers(&Backwards);
        assert_eq!(budget.map(4, |job| job * job), [0, 1, 4, 9]);
    }

    #[test]
    fn without_a_deadline_there_is_always_time() {
        assert!(!Budget::unlimited(0).time_is_up());
        assert!(Budget::unlimited(0).with_deadline(&|| true).time_is_up());
    }
}
