//! Who may work when: a limited number at a time, a limited number waiting, the rest sent away.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::failure::Failure;

/// A door with a queue.
pub(super) struct Gate {
    room: usize,
    inside: Arc<Semaphore>,
    at_work: Arc<Semaphore>,
}

/// The right to wait for a turn. Held while a request is read, so that memory is bounded too.
pub(super) struct Admitted {
    at_work: Arc<Semaphore>,
    place: OwnedSemaphorePermit,
}

/// The right to work; to be held by the work itself, which may outlive its request.
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _work: OwnedSemaphorePermit,
}

impl Gate {
    pub(super) fn new(at_work: usize, waiting: usize) -> Self {
        let room = at_work.saturating_add(waiting).min(Semaphore::MAX_PERMITS);
        Self {
            room,
            inside: Arc::new(Semaphore::new(room)),
            at_work: Arc::new(Semaphore::new(at_work)),
        }
    }

    /// How many are at work or wait.
    pub(super) fn admitted(&self) -> usize {
        self.room - self.inside.available_permits()
    }

    /// Into the queue, if it is not full.
    pub(super) fn admit(&self) -> Result<Admitted, Failure> {
        let place = Arc::clone(&self.inside).try_acquire_owned();
        let place = place.map_err(|_| Failure::busy("too many requests wait already"))?;
        Ok(Admitted {
            at_work: Arc::clone(&self.at_work),
            place,
        })
    }
}

impl Admitted {
    /// Waits for a turn.
    pub(super) async fn turn(self) -> Result<Turn, Failure> {
        let work = self.at_work.acquire_owned().await;
        let work = work.map_err(|_| Failure::busy("the service ends"))?;
        Ok(Turn {
            _place: self.place,
            _work: work,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_sends_away_until_somebody_leaves() {
        let gate = Gate::new(1, 1);
        let first = gate.admit().ok().unwrap();
        let _second = gate.admit().ok().unwrap();
        assert!(gate.admit().is_err());
        assert_eq!(gate.admitted(), 2);
        drop(first);
        assert!(gate.admit().is_ok());
    }
}
