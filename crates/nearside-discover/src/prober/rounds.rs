//! Retries in rounds: inside one stretch of a phase all first tries are sent, then all second ones,
//! then all thirds. Stretches overlap in time, so a silent server never holds up the next stretch.

use std::collections::VecDeque;
use std::time::Duration;

use nearside_types::Moment;

use crate::planner::ServerId;

/// Names a stretch for as long as it lives.
pub(crate) type StretchId = u64;

/// What the clock asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// The last try timed out: send another.
    Retry(ServerId),
    /// The last of all tries timed out.
    GiveUp(ServerId),
}

/// All stretches that still wait for something.
#[derive(Debug)]
pub(crate) struct Rounds {
    timeouts: Vec<Duration>,
    first: StretchId,
    stretches: VecDeque<Stretch>,
}

#[derive(Debug)]
struct Stretch {
    phase: u32,
    /// First tries are still being added.
    open: bool,
    /// The round whose timeouts are being watched, from 1.
    round: usize,
    /// Sent in this round, in order of sending, so in order of timing out.
    sent: VecDeque<(ServerId, Moment)>,
    /// Handed out in this round but not sent yet: they wait for their address.
    unsent: usize,
    /// The same for the next round.
    sent_next: VecDeque<(ServerId, Moment)>,
    unsent_next: usize,
}

impl Rounds {
    /// One timeout for each try.
    pub(crate) fn new(timeouts: Vec<Duration>) -> Self {
        Self {
            timeouts,
            first: 0,
            stretches: VecDeque::new(),
        }
    }

    /// Adds a first try that is about to be sent; a new phase opens a new stretch.
    pub(crate) fn add(&mut self, phase: u32) -> StretchId {
        let joins_last = self
            .stretches
            .back()
            .is_some_and(|stretch| stretch.open && stretch.phase == phase);
        if !joins_last {
            self.close();
            self.stretches.push_back(Stretch::new(phase));
        }
        let last = self.stretches.len() - 1;
        self.stretches[last].unsent += 1;
        self.first + last as u64
    }

    /// No more first tries for now: rounds of the last stretch may go on.
    pub(crate) fn close(&mut self) {
        if let Some(last) = self.stretches.back_mut() {
            last.open = false;
        }
    }

    /// Notes that try number `try_number` (from 1) of a server was sent.
    pub(crate) fn sent(
        &mut self,
        stretch: StretchId,
        server: ServerId,
        try_number: usize,
        at: Moment,
    ) {
        let Some(stretch) = self.stretch_mut(stretch) else {
            return;
        };
        if try_number == stretch.round {
            stretch.unsent -= 1;
            stretch.sent.push_back((server, at));
        } else {
            stretch.unsent_next -= 1;
            stretch.sent_next.push_back((server, at));
        }
    }

    /// Notes that a try that was handed out will never be sent.
    pub(crate) fn dropped(&mut self, stretch: StretchId, try_number: usize) {
        let Some(stretch) = self.stretch_mut(stretch) else {
            return;
        };
        if try_number == stretch.round {
            stretch.unsent -= 1;
        } else {
            stretch.unsent_next -= 1;
        }
    }

    fn stretch_mut(&mut self, id: StretchId) -> Option<&mut Stretch> {
        let index = usize::try_from(id.checked_sub(self.first)?).ok()?;
        self.stretches.get_mut(index)
    }

    /// The next thing that is due. Retries are only handed out when `may_send`; giving up costs
    /// nothing and is always reported. `settled` says which servers need no more tries.
    pub(crate) fn due(
        &mut self,
        now: Moment,
        may_send: bool,
        settled: impl Fn(ServerId) -> bool,
    ) -> Option<Due> {
        let tries = self.timeouts.len();
        let due = self.stretches.iter_mut().find_map(|stretch| {
            let (server, sent) = stretch.head(&settled)?;
            let last_round = stretch.round == tries;
            let timed_out = sent + self.timeouts[stretch.round - 1] <= now;
            if !timed_out || !(last_round || may_send) {
                return None;
            }
            stretch.sent.pop_front();
            if last_round {
                return Some(Due::GiveUp(server));
            }
            stretch.unsent_next += 1;
            Some(Due::Retry(server))
        });
        self.forget_finished();
        due
    }

    /// When the next try times out.
    pub(crate) fn next_due(&mut self, settled: impl Fn(ServerId) -> bool) -> Option<Moment> {
        let timeouts = &self.timeouts;
        self.stretches
            .iter_mut()
            .filter_map(|stretch| {
                let (_, sent) = stretch.head(&settled)?;
                Some(sent + timeouts[stretch.round - 1])
            })
            .min()
    }

    fn forget_finished(&mut self) {
        while self.stretches.front().is_some_and(Stretch::is_finished) {
            self.stretches.pop_front();
            self.first += 1;
        }
    }
}

impl Stretch {
    fn new(phase: u32) -> Self {
        Self {
            phase,
            open: true,
            round: 1,
            sent: VecDeque::new(),
            unsent: 0,
            sent_next: VecDeque::new(),
            unsent_next: 0,
        }
    }

    /// The oldest unsettled try of this round, once the round is sent whole; moves on to the next
    /// round when this one has nothing left.
    fn head(&mut self, settled: impl Fn(ServerId) -> bool) -> Option<(ServerId, Moment)> {
        if self.open || self.unsent > 0 {
            return None;
        }
        loop {
            while let Some(&(server, at)) = self.sent.front() {
                if !settled(server) {
                    return Some((server, at));
                }
                self.sent.pop_front();
            }
            if self.unsent_next > 0 || self.sent_next.is_empty() {
                return None;
            }
            self.sent = std::mem::take(&mut self.sent_next);
            self.round += 1;
        }
    }

    fn is_finished(&self) -> bool {
        !self.open
            && self.unsent == 0
            && self.unsent_next == 0
            && self.sent.is_empty()
            && self.sent_next.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    fn nobody(_: ServerId) -> bool {
        false
    }

    #[test]
    fn second_tries_wait_until_all_first_tries_of_the_stretch_are_sent() {
        let mut rounds = Rounds::new(vec![SECOND; 3]);
        for (index, millis) in [(0, 0), (1, 10)] {
            let stretch = rounds.add(7);
            rounds.sent(stretch, ServerId(index), 1, at(millis));
        }
        assert_eq!(
            rounds.due(at(5000), true, nobody),
            None,
            "the stretch is still open"
        );
        rounds.close();
        assert_eq!(rounds.next_due(nobody), Some(at(1000)));
        assert_eq!(
            rounds.due(at(5000), true, nobody),
            Some(Due::Retry(ServerId(0)))
        );
        rounds.sent(0, ServerId(0), 2, at(5000));
        assert_eq!(
            rounds.due(at(6100), true, nobody),
            Some(Due::Retry(ServerId(1)))
        );
        assert_eq!(
            rounds.due(at(9000), true, nobody),
            None,
            "no third try before every second one is sent"
        );
        rounds.sent(0, ServerId(1), 2, at(6100));
        assert_eq!(
            rounds.due(at(6100), true, nobody),
            Some(Due::Retry(ServerId(0)))
        );
    }

    #[test]
    fn giving_up_needs_no_permission_to_send() {
        let mut rounds = Rounds::new(vec![SECOND; 1]);
        let stretch = rounds.add(0);
        rounds.sent(stretch, ServerId(4), 1, at(0));
        rounds.close();
        assert_eq!(rounds.due(at(999), false, nobody), None);
        assert_eq!(
            rounds.due(at(1000), false, nobody),
            Some(Due::GiveUp(ServerId(4)))
        );
        assert_eq!(rounds.next_due(nobody), None);
        assert!(rounds.stretches.is_empty());
    }

    #[test]
    fn settled_servers_are_skipped_and_a_new_phase_does_not_wait_for_the_old() {
        let mut rounds = Rounds::new(vec![SECOND; 2]);
        let old = rounds.add(0);
        rounds.sent(old, ServerId(0), 1, at(0));
        let new = rounds.add(1);
        rounds.sent(new, ServerId(1), 1, at(10));
        rounds.close();
        let settled = |server: ServerId| server == ServerId(0);
        assert_eq!(
            rounds.due(at(1010), true, settled),
            Some(Due::Retry(ServerId(1)))
        );
        rounds.dropped(new, 2);
        assert_eq!(rounds.due(at(9000), true, settled), None);
        assert!(rounds.stretches.is_empty());
    }
}
