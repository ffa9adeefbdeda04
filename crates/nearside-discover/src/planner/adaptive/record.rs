//! The planner's own track record: of the long shots it took, how many hit, beside how many it
//! expected to. What it believes of the long shots that are left is corrected by that.
//!
//! Only long shots count. What is likely is settled by probing it; what decides when to stop, and
//! what the user is told is missing, is the sum of many small chances, and those a model of the
//! Internet gets wrong by factors, in either direction, in one place in one direction.

use std::collections::BTreeMap;

use super::super::ServerId;
use super::belief::Chances;
use super::size::HeapBytes;

/// Chances below this are long shots.
const LONG_SHOT: f32 = 0.1;

/// The books on both questions.
#[derive(Debug, Clone, Default)]
pub(super) struct TrackRecord {
    /// What was asked and has not answered yet.
    open: BTreeMap<ServerId, Bet>,
    pub(super) playable: Book,
    pub(super) best: Book,
}

/// The chances of a server when it was asked, and the z that was to be beaten then.
#[derive(Debug, Clone, Copy)]
struct Bet {
    chances: Chances,
    z_best: f32,
}

impl TrackRecord {
    /// Notes that a server was asked, believed to be playable and one of the best with these chances.
    pub(super) fn bet(&mut self, server: ServerId, chances: Chances, z_best: f32) {
        self.open.insert(server, Bet { chances, z_best });
    }

    /// Notes what came of it: its z, and whether that is playable. Silent servers say nothing about
    /// distance.
    pub(super) fn settle(&mut self, server: ServerId, answer: Option<(f32, bool)>) {
        if let (Some(bet), Some((z, playable))) = (self.open.remove(&server), answer) {
            self.playable.enter(bet.chances.playable, playable);
            self.best.enter(bet.chances.best, z < bet.z_best);
        }
    }
}

impl HeapBytes for TrackRecord {
    fn heap_bytes(&self) -> usize {
        self.open.heap_bytes()
    }
}

/// What was expected of long shots, and what came of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Book {
    expected: f32,
    hits: f32,
}

impl Book {
    fn enter(&mut self, chance: f32, hit: bool) {
        if chance < LONG_SHOT {
            self.expected += chance;
            self.hits += f32::from(u8::from(hit));
        }
    }

    /// A chance in the light of experience. `doubt` is how many expected hits the model's word
    /// counts for.
    pub(super) fn correct(&self, chance: f32, doubt: f32) -> f32 {
        if chance >= LONG_SHOT || doubt.is_infinite() {
            return chance;
        }
        let factor = (self.hits + doubt) / (self.expected + doubt);
        (chance * factor).min(LONG_SHOT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(bets: u32, chance: f32, hits: u32) -> Book {
        let mut book = Book::default();
        for id in 0..bets {
            book.enter(chance, id < hits);
        }
        book
    }

    #[test]
    fn long_shots_that_never_hit_lower_the_others() {
        let record = after(200, 0.05, 0);
        let corrected = record.correct(0.02, 2.0);
        assert!((corrected - 0.02 * 2.0 / 12.0).abs() < 1e-5, "{corrected}");
        assert_eq!(record.correct(0.5, 2.0), 0.5, "no long shot");
        assert_eq!(record.correct(0.02, f32::INFINITY), 0.02, "not asked");
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
    }

    #[test]
    fn each_question_has_its_own_book_and_silence_is_in_neither() {
        let chances = Chances {
            playable: 0.05,
            best: 0.01,
        };
        let mut record = TrackRecord::default();
        let answers = [None, Some((4.0, true)), Some((5.0, true))];
        for (id, answer) in (0..).zip(answers) {
            record.bet(ServerId(id), chances, 4.5);
            record.settle(ServerId(id), answer);
        }
        assert_eq!((record.playable.expected, record.playable.hits), (0.1, 2.0));
        assert_eq!((record.best.expected, record.best.hits), (0.02, 1.0));
        assert!(record.open.is_empty());
    }
}
