use std::fmt;
use std::sync::OnceLock;

/// How much work a solver may do, by whom, and from which seed its luck comes.
///
/// An engine reads no clock and starts no thread: a caller that wants a deadline answers
/// [`Budget::with_deadline`] or [`Budget::with_clock`], and one that has threads brings [`Workers`].
#[derive(Clone, Copy)]
pub struct Budget<'b> {
    seed: u64,
    steps: u64,
    time_is_up: Option<&'b (dyn Fn() -> bool + Sync)>,
    clock: Option<Clock<'b>>,
    workers: &'b dyn Workers,
}

/// Somebody who knows which share of the time is gone, and the share at which to stop.
#[derive(Clone, Copy)]
struct Clock<'b> {
    gone: &'b (dyn Fn() -> f64 + Sync),
    until: f64,
}

impl Clock<'_> {
    fn is_over(&self) -> bool {
        (self.gone)() >= self.until
    }

    /// Nothing is left to be divided when time is up; a caller that was interrupted says infinity.
    fn part(mut self, parts: usize) -> Self {
        let gone = (self.gone)();
        if gone < self.until {
            self.until = gone + (self.until - gone) / parts as f64;
        }
        self
    }
}

impl<'b> Budget<'b> {
    /// A budget without limits, on the caller's thread.
    pub fn unlimited(seed: u64) -> Self {
        Self {
            seed,
            steps: u64::MAX,
            time_is_up: None,
            clock: None,
            workers: &Caller,
        }
    }

    /// At most this many steps: a step is a node of a search, a sampled cover, or a round of the paper's
    /// algorithms. Steps, unlike time, are the same on every machine.
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

    /// Stop soon after `gone`, the share of the time that has passed, reaches 1. Asked as often as a
    /// deadline. Unlike that it can be divided among several questions: [`Budget::part_of_time`].
    #[must_use]
    pub fn with_clock(mut self, gone: &'b (dyn Fn() -> f64 + Sync)) -> Self {
        self.clock = Some(Clock { gone, until: 1.0 });
        self
    }

    /// The same with one of so many equal parts of the time that is left. A deadline without a clock
    /// cannot be divided and stays as it is.
    #[must_use]
    pub fn part_of_time(mut self, parts: usize) -> Self {
        self.clock = self.clock.map(|clock| clock.part(parts.max(1)));
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
            || self.clock.is_some_and(|clock| clock.is_over())
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
            .field("until", &self.clock.map(|clock| clock.until))
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
    use std::sync::atomic::{AtomicU64, Ordering};

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

    #[test]
    fn parts_are_of_the_time_that_is_left() {
        let now = AtomicU64::new(0);
        let gone = || now.load(Ordering::Relaxed) as f64 / 64.0;
        let budget = Budget::unlimited(0).with_clock(&gone);
        let quarter = budget.part_of_time(4);
        let half_of_it = quarter.part_of_time(2);
        let ends_at = |budget: Budget<'_>| {
            let mut times = 0..=64;
            times.find(|&time| {
                now.store(time, Ordering::Relaxed);
                budget.time_is_up()
            })
        };
        assert_eq!(ends_at(half_of_it), Some(8));
        assert_eq!(ends_at(quarter), Some(16));
        assert_eq!(ends_at(budget), Some(64));
    }

    #[test]
    fn an_interrupted_clock_leaves_no_part_any_time() {
        let budget = Budget::unlimited(0).with_clock(&|| f64::INFINITY);
        assert!(budget.part_of_time(3).time_is_up());
    }
}
