//! Whether a game sends more than its tickets are good for: a relay drops the rest, and is not to blame.
//! Each end's packets are counted as the relay counts them, at a little less than the ticket allows, so
//! that the relay is left before it drops any.

use nearside_types::Moment;
use nearside_wire::detour::{CARRY_HEADER, SAFE_BYTES};

use crate::messages::RelayPass;
use crate::relay::Rate;

/// What both ends say, against what they may.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Packets and kilobits each second, as of the last ticket.
    allowed: (u16, u16),
    ours: Option<Rate>,
    theirs: Option<Rate>,
    /// The newest word of the other end.
    newest: Option<u16>,
}

/// Probes, echoes and messages come on top of a game's packets, a few each second.
const SHARE: f64 = 0.95;
/// More words than these were not lost: the other end began anew, or they are old.
const MOST_AT_ONCE: u16 = 1_000;

impl Pace {
    /// A ticket says what is allowed.
    pub(super) fn allow(&mut self, now: Moment, pass: &RelayPass) {
        let allowed = (pass.packets, pass.kilobits);
        if self.allowed != allowed {
            self.allowed = allowed;
            let most = |limit: u16| (f64::from(limit) * SHARE) as u32;
            let rate = Rate::new(most(pass.packets), most(pass.kilobits), now);
            (self.ours, self.theirs) = (Some(rate.clone()), Some(rate));
        }
    }

    /// A frame of so many bytes goes out.
    pub(super) fn sent(&mut self, now: Moment, bytes: usize) {
        if let Some(rate) = self.ours.as_mut().filter(|_| is_for_relays(bytes)) {
            rate.take(now, bytes + CARRY_HEADER);
        }
    }

    /// A word of so many bytes came. Those before it that did not are taken for as long.
    pub(super) fn came(&mut self, now: Moment, word: u16, bytes: usize) {
        let newest = *self.newest.get_or_insert(word);
        let words = word.wrapping_sub(newest);
        if words > u16::MAX / 2 {
            return; // overtaken, and counted when it was
        }
        self.newest = Some(word);
        let counts = is_for_relays(bytes) && words <= MOST_AT_ONCE;
        if let Some(rate) = self.theirs.as_mut().filter(|_| counts) {
            for _ in 0..words {
                rate.take(now, bytes + CARRY_HEADER);
            }
        }
    }

    /// Whether it is, or was within the last few seconds, too much.
    pub(super) fn is_too_fast(&self, now: Moment) -> bool {
        let rates = [&self.ours, &self.theirs].into_iter().flatten();
        rates.into_iter().any(|rate| rate.was_exceeded(now))
    }
}

/// Whether a frame may go by a relay at all: longer ones go directly in any case.
fn is_for_relays(bytes: usize) -> bool {
    bytes + CARRY_HEADER <= SAFE_BYTES
}
