//! The planner's own track record: of the long shots it took, how many hit, beside how many it
//! expected to. What it believes of the long shots that are left is corrected by that.
//!
//! Only long shots count. What is likely is settled by probing it; what decides when to stop, and
//! what the user is told is missing, is the sum of many small chances, and those a model of the
//! Internet gets wrong by factors, in either direction, in one place in one direction.

use std::collections::BTreeMap;

use super::super::ServerId;

/// Chances below this are long shots.
const LONG_SHOT: f32 = 0.1;

/// What was expected of long shots, and what came of them.
#[derive(Debug, Clone, Default)]
pub(super) struct TrackRecord {
    /// The chances of those that have not answered yet.
    open: BTreeMap<ServerId, f32>,
    expected: f32,
    hits: f32,
}

impl TrackRecord {
    /// Notes that a server was asked that is believed to be playable with this chance.
    pub(super) fn bet(&mut self, server: ServerId, chance: f32) {
        if chance < LONG_SHOT {
            self.open.insert(server, chance);
        }
    }

    /// Notes what came of it; silent servers say nothing about distance.
    pub(super) fn settle(&mut self, server: ServerId, playable: Option<bool>) {
        if let (Some(chance), Some(playable)) = (self.open.remove(&server), playable) {
            self.expected += chance;
            self.hits += f32::from(u8::from(playable));
        }
    }

    /// A chance in the light of experience. `doubt` is how many expected hits the model's word
    /// counts for.
    pub(super) fn correct(&self, chance: f32, doubt: f32) -> f32 {
        if chance >= LONG_SHOT {
            return chance;
        }
        let factor = (self.hits + doubt) / (self.expected + doubt);
        (chance * factor).min(LONG_SHOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bets: u32, chance: f32, hits: u32) -> TrackRecord {
        let mut record = TrackRecord::default();
        for id in 0..bets {
            record.bet(ServerId(id), chance);
            record.settle(ServerId(id), Some(id < hits));
        }
        record
    }

    #[test]
    fn long_shots_that_never_hit_lower_the_others() {
        let record = after(200, 0.05, 0);
        let corrected = record.correct(0.02, 2.0);
        assert!((corrected - 0.02 * 2.0 / 12.0).abs() < 1e-5, "{corrected}");
        assert_eq!(record.correct(0.5, 2.0), 0.5, "no long shot");
    }

    #[test]
    fn surprises_raise_them_but_not_beyond_long_shots() {
        let record = after(100, 0.01, 9);
        assert!(record.correct(0.01, 1.0) > 0.04);
        assert_eq!(record.correct(0.09, 1.0), 0.1);
    }

    #[test]
    fn a_chance_that_is_kept_is_left_as_it_is() {
        let record = after(100, 0.05, 5);
        assert!((record.correct(0.03, 2.0) - 0.03).abs() < 1e-4);
        let silent = {
            let mut record = TrackRecord::default();
            record.bet(ServerId(1), 0.05);
            record.settle(ServerId(1), None);
            record
        };
        assert_eq!(silent.correct(0.03, 2.0), 0.03);
    }
}
