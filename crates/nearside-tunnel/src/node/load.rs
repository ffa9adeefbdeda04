//! A relay that has more to carry than it can says so at once, and again when that is over: the directory
//! offers it to others until it knows.

use std::time::Duration;

use nearside_detour::directory::Report;
use nearside_types::Moment;

use super::Node;
use crate::messages::Ask;

/// What the directory was told last of how we fare as a relay.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    overloaded: bool,
    at: Moment,
}

/// Load is told at most this often beside other reports.
const INTERVAL: Duration = Duration::from_secs(5);

impl Load {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            overloaded: false,
            at: now,
        }
    }

    /// A directory that took us in anew knows nothing of it.
    pub(super) fn forget(&mut self) {
        self.overloaded = false;
    }
}

impl Node {
    /// Whether more came than we carry, lately or since the last report; it counts as told.
    pub(super) fn load_to_tell(&mut self, now: Moment) -> bool {
        let overloaded = self.is_overloaded(now);
        let at = now;
        self.load = Load { overloaded, at };
        overloaded
    }

    /// What was told once need not be told again when it is over.
    fn is_overloaded(&self, now: Moment) -> bool {
        let Load { overloaded, at } = self.load;
        let relay = self.relay.as_ref();
        relay.is_some_and(|relay| {
            relay.is_overloaded(now) || !overloaded && relay.was_overloaded_since(at)
        })
    }

    /// Tells the directory as soon as overload begins or ends.
    pub(super) fn tell_load(&mut self, now: Moment) {
        if self.next_load(now).is_some_and(|next| next <= now) {
            let measured = self.measured(now, Report::default());
            self.desk.ask(now, Ask::Report(measured));
        }
    }

    /// When the directory is to be told that something has changed.
    pub(super) fn next_load(&self, now: Moment) -> Option<Moment> {
        let (relay, _) = self.relay.as_ref().zip(self.joined.as_ref())?;
        let changes = match (self.load.overloaded, self.is_overloaded(now)) {
            (true, true) => relay.relieved()?,
            (false, false) => return None,
            _ => now,
        };
        Some(changes.max(self.load.at + INTERVAL))
    }
}
