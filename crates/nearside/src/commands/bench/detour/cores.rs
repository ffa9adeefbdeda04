//! Who runs where. A core is a machine: the near end and what stands beside it run on one, the far end
//! and what stands beside that on the other, in all lanes alike.
//!
//! A thread that sleeps is woken where it ran last. Left alone, one lane happens to stay on a single
//! core and the next wakes the other one four times for each round trip, which takes longer than
//! anything a forwarder does; which lane has the luck differs from run to run.

use std::io;

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The two cores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cores {
    near: usize,
    far: usize,
}

impl Cores {
    /// The first two that this process may use; `None` if there is only one, or no way to choose.
    #[cfg(target_os = "linux")]
    pub(super) fn choose() -> io::Result<Option<Self>> {
        let allowed = sched_getaffinity(None)?;
        let mut usable = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        let cores = usable.next().zip(usable.next());
        Ok(cores.map(|(near, far)| Self { near, far }))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn choose() -> io::Result<Option<Self>> {
        Ok(None)
    }
}

/// Runs something beside the player; threads and processes that it starts stay there.
pub(super) fn near<T>(cores: Option<Cores>, work: impl FnOnce() -> T) -> io::Result<T> {
    on(cores.map(|cores| cores.near), work)
}

/// The same beside the game server.
pub(super) fn far<T>(cores: Option<Cores>, work: impl FnOnce() -> T) -> io::Result<T> {
    on(cores.map(|cores| cores.far), work)
}

/// What a thread starts inherits its cores (sched_setaffinity(2)).
#[cfg(target_os = "linux")]
fn on<T>(core: Option<usize>, work: impl FnOnce() -> T) -> io::Result<T> {
    let Some(core) = core else {
        return Ok(work());
    };
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only)?;
    let done = work();
    sched_setaffinity(None, &before)?;
    Ok(done)
}

#[cfg(not(target_os = "linux"))]
fn on<T>(_: Option<usize>, work: impl FnOnce() -> T) -> io::Result<T> {
    Ok(work())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_started_stays_on_its_core_and_who_started_it_does_not() {
        // With one core only there is nothing to choose.
        let Some(cores) = Cores::choose().unwrap() else {
            return;
        };
        let before = sched_getaffinity(None).unwrap();
        let where_is = || {
            let allowed = sched_getaffinity(None).unwrap();
            (0..CpuSet::MAX_CPU)
                .filter(|core| allowed.is_set(*core))
                .collect::<Vec<_>>()
        };
        let at_far = far(Some(cores), || std::thread::spawn(where_is)).unwrap();
        let at_near = near(Some(cores), || std::thread::spawn(where_is)).unwrap();
        assert_eq!(at_far.join().unwrap(), [cores.far]);
        assert_eq!(at_near.join().unwrap(), [cores.near]);
        assert_ne!(cores.near, cores.far);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
