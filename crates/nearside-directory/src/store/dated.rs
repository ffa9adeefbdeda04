//! Moments in a store are those of the wall clock, whatever has become of it since this process started:
//! the next process reads them, and so do others.

use nearside_tunnel::service::Change;
use nearside_types::Moment;

use super::{Loaded, News, Store, StoreError, Watch};
use crate::clock::Step;

/// A store that dates what it keeps by the wall clock.
#[derive(Debug)]
pub(crate) struct Dated<S> {
    store: S,
    step: Step,
}

impl<S: Store> Dated<S> {
    pub(crate) const fn new(store: S, step: Step) -> Self {
        Self { store, step }
    }
}

impl<S: Store> Store for Dated<S> {
    /// At the start, when both clocks are one.
    fn load(&mut self) -> Result<Loaded, StoreError> {
        self.store.load()
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        // Nearly always: a clock that is right when a directory starts stays right.
        if self.step.ms() == 0 {
            return self.store.write(changes);
        }
        let to_wall = |at| self.step.to_wall(at);
        let changes = changes.iter().map(|change| at(change, to_wall));
        self.store.write(&changes.collect::<Vec<_>>())
    }

    fn watch(&mut self) -> Option<Box<dyn Watch>> {
        let watch = self.store.watch()?;
        let step = self.step.clone();
        Some(Box::new(DatedWatch { watch, step }))
    }
}

struct DatedWatch {
    watch: Box<dyn Watch>,
    step: Step,
}

impl Watch for DatedWatch {
    fn next(&mut self) -> Result<News, StoreError> {
        let news = self.watch.next()?;
        Ok(match news {
            News::Changes(changes) if self.step.ms() != 0 => {
                let of_wall = |at| self.step.of_wall(at);
                let changes = changes.iter().map(|change| at(change, of_wall));
                News::Changes(changes.collect())
            }
            // The engine takes what lies ahead for now; the rest is corrected by the next signs of life.
            news => news,
        })
    }
}

/// A change with its moment on another clock.
fn at(change: &Change, to: impl Fn(Moment) -> Moment) -> Change {
    let mut change = change.clone();
    if let Some(at) = change.at_mut() {
        *at = to(*at);
    }
    change
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use nearside_detour::ClientId;
    use nearside_detour::directory::Change as Inner;

    use super::*;

    struct Kept(Arc<Mutex<Vec<Change>>>);

    impl Store for Kept {
        fn load(&mut self) -> Result<Loaded, StoreError> {
            Ok(Loaded::default())
        }

        fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
            self.0.lock().unwrap().extend_from_slice(changes);
            Ok(())
        }
    }

    #[test]
    fn what_is_kept_follows_a_clock_that_is_set_back() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let step = Step::default();
        let mut store = Dated::new(Kept(Arc::clone(&kept)), step.clone());
        let moment = Moment::EPOCH + Duration::from_secs(10_000);
        let (id, at) = (ClientId(1), moment);
        let heard = Change::Directory(Inner::Heard { id, at });
        store.write(std::slice::from_ref(&heard)).unwrap();
        step.set(-3_600_000);
        store.write(std::slice::from_ref(&heard)).unwrap();
        let kept = kept.lock().unwrap();
        assert_eq!(kept[0], heard);
        let at = Moment::EPOCH + Duration::from_secs(6_400);
        assert_eq!(kept[1], Change::Directory(Inner::Heard { id, at }));
        // A small correction is none.
        step.set(-3_600_200);
        assert_eq!(step.ms(), -3_600_000);
    }
}
