//! What becomes of changes whose store is slow, fails or hangs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use common::wait_until;
use nearside_detour::ClientId;
use nearside_directory::Keeper;
use nearside_directory::store::{Loaded, Store, StoreError};
use nearside_tunnel::messages::Tell;
use nearside_tunnel::service::Change;
use nearside_types::Moment;

/// A store that tells what it is given, and waits for a word before it returns.
struct Slow {
    given: Sender<Vec<Change>>,
    goes_on: Receiver<()>,
}

impl Store for Slow {
    fn load(&mut self) -> Result<Loaded, StoreError> {
        Ok(Loaded::default())
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let _nobody_looks = self.given.send(changes.to_vec());
        let _ended = self.goes_on.recv();
        Ok(())
    }
}

fn slow() -> (Keeper, Receiver<Vec<Change>>, Sender<()>) {
    let ((given, look), (go_on, goes_on)) = (channel(), channel());
    let keeper = Keeper::start(Slow { given, goes_on }).unwrap();
    (keeper, look, go_on)
}

fn parted(session: u64) -> Change {
    Change::Parted { session }
}

#[test]
fn a_store_that_hangs_is_told_of_and_takes_its_changes_in_order_afterwards() {
    let (keeper, look, go_on) = slow();
    keeper.keep(vec![parted(1)]);
    assert_eq!(look.recv().unwrap(), [parted(1)]);
    keeper.keep(vec![parted(2)]);
    keeper.keep(vec![parted(3)]);
    let stats = keeper.stats();
    assert_eq!((stats.waiting(), stats.last_error()), (3, None));
    let deadline = Instant::now() + Duration::from_secs(30);
    while stats.last_error().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
    let why = stats.last_error().unwrap();
    assert!(why.contains("has not returned from a write"), "{why}");
    go_on.send(()).unwrap();
    assert_eq!(look.recv().unwrap(), [parted(2), parted(3)]);
    go_on.send(()).unwrap();
    wait_until("all is written", || stats.waiting() == 0);
    assert_eq!(stats.last_error(), None);
}

#[test]
fn a_letter_is_written_at_once() {
    let (keeper, look, go_on) = slow();
    let letter = Change::Letter {
        to: ClientId(1),
        tell: Box::new(Tell::Done),
        at: Moment::EPOCH,
    };
    // Of a hundred letters one after the other none waits for a second to end.
    let began = Instant::now();
    for _ in 0..100 {
        keeper.keep(vec![letter.clone()]);
        assert_eq!(look.recv().unwrap().len(), 1);
        go_on.send(()).unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(50));
}
