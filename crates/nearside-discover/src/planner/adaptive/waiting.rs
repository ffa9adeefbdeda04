//! Which of those who were asked have been overtaken.
//!
//! Slow start lets a group wait for the answers under way. Where the first server of a large country
//! is gone, that would be a second until its first try has timed out: a third of the time in which
//! the best servers are to be found. The planner has no clock, but it sees others answer who were
//! asked later.

use std::collections::VecDeque;

use super::super::ServerId;
use super::size::HeapBytes;

/// When so many have answered beyond those whose turn was before, hardly anybody who has not ever will.
/// At 140 probes a second that is 0.15 s after an answer would have been as quick as the others. Late
/// answers to retries count too: it is an estimate, and only slow start goes by it.
const OVERTAKEN_BY: usize = 20;

/// Those who were asked and were not overtaken yet, the longest waiting first.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    asked: VecDeque<(ServerId, usize)>,
}

impl Waiting {
    /// Notes that a server is asked now, when so many have answered and so many are to answer before
    /// it if all are equally quick.
    pub(super) fn ask(&mut self, server: ServerId, answered: usize, pending: usize) {
        let overtaken_at = answered + pending + OVERTAKEN_BY;
        self.asked.push_back((server, overtaken_at));
    }

    /// The next who is overtaken, now that so many have answered; those who no longer wait are
    /// forgotten.
    pub(super) fn overtaken(
        &mut self,
        answered: usize,
        waits: impl Fn(ServerId) -> bool,
    ) -> Option<ServerId> {
        while let Some(&(server, overtaken_at)) = self.asked.front() {
            if !waits(server) {
                self.asked.pop_front();
            } else if overtaken_at <= answered {
                self.asked.pop_front();
                return Some(server);
            } else {
                return None;
            }
        }
        None
    }
}

impl HeapBytes for Waiting {
    fn heap_bytes(&self) -> usize {
        self.asked.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_longest_is_overtaken_first_and_only_by_those_asked_later() {
        let mut waiting = Waiting::default();
        for (pending, server) in (0..30).map(ServerId).enumerate() {
            waiting.ask(server, 100, pending);
        }
        let answered_but_3_and_7 = |server: ServerId| server.0 == 3 || server.0 == 7;
        let before_3 = 100 + 3;
        let mut overtaken = |answered| waiting.overtaken(answered, answered_but_3_and_7);
        assert_eq!(overtaken(before_3 + OVERTAKEN_BY - 1), None);
        assert_eq!(overtaken(before_3 + OVERTAKEN_BY), Some(ServerId(3)));
        assert_eq!(overtaken(before_3 + OVERTAKEN_BY), None);
        assert_eq!(overtaken(before_3 + OVERTAKEN_BY + 4), Some(ServerId(7)));
        assert_eq!(overtaken(10_000), None, "all others have answered");
        assert!(waiting.asked.is_empty());
    }
}
