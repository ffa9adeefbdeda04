//! Two jobs at a time: the machines this runs on have two cores, and fuzzing uses one per target.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does all the work, also after a failure, and returns what failed.
pub(super) fn two_at_a_time<Job: Sync>(
    jobs: &[Job],
    work: impl Fn(&Job) -> Result<(), String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut failures = Vec::new();
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            failures.extend(work(job).err());
        }
        failures
    };
    thread::scope(|scope| {
        let helper = scope.spawn(worker);
        let mut failures = worker();
        failures.extend(
            helper
                .join()
                .expect("jobs report failures and do not panic"),
        );
        failures
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_job_is_done_once_and_every_failure_is_kept() {
        let done = Mutex::new(Vec::new());
        let jobs: Vec<u32> = (0..9).collect();
        let mut failures = two_at_a_time(&jobs, |job| {
            done.lock().unwrap().push(*job);
            if job % 4 == 0 {
                Err(job.to_string())
            } else {
                Ok(())
            }
        });
        failures.sort();
        assert_eq!(failures, ["0", "4", "8"]);
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, jobs);
    }
}
