//! The planner's own track record: of the bets it placed, how many hit, beside how many it expected
//! to. What it believes of the servers that are left is corrected by that, in four kinds of books.
//!
//! *Long shots.* What is likely is settled by probing it; what decides when to stop, and what the
//! user is told is missing, is the sum of many small chances, and those a model of the Internet gets
//! wrong by factors, in one place in one direction.
//!
//! *ASes.* Hundreds of servers of one AS may stand just beyond the RTT to stop at: each promises
//! something, and none keeps it.
//!
//! *Hopes.* A network that nobody has answered from is worth a probe for its country's sake, whatever
//! its AS has shown. Where that never came true, it is worth less in all of the country.
//!
//! *Spot checks.* Bets are placed where much is promised. What was given up is looked at again only
//! here, by chance: if more is there than was believed, more is believed of all of it.

use std::collections::BTreeMap;

use super::super::ServerId;
use super::belief::{Chances, Group};
use super::config::Model;
use super::size::HeapBytes;
use super::tree::NodeId;

/// Chances below this are long shots.
const LONG_SHOT: f32 = 0.1;

/// All books.
#[derive(Debug, Clone, Default)]
pub(super) struct TrackRecord {
    /// What was asked and has not answered yet.
    open: BTreeMap<ServerId, Bet>,
    /// Long shots at playable servers …
    pub(super) playable: Book,
    /// … and at the best.
    pub(super) best: Book,
    /// All bets on playable servers, by AS.
    by_as: BTreeMap<NodeId, Book>,
    /// Bets placed for nothing but hope, by country.
    hopes: BTreeMap<NodeId, Book>,
    /// Spot checks that were answered.
    given_up: Book,
    /// Spot checks that were sent.
    spot_checks: usize,
}

/// The chances of a server when it was asked, and the z that was to be beaten then.
#[derive(Debug, Clone, Copy)]
struct Bet {
    chances: Chances,
    z_best: f32,
    reason: Reason,
}

/// Why a server was asked.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// It promised much; its AS answers for that, and for mere hopes its country.
    Promising {
        origin_as: NodeId,
        hope: Option<Hope>,
    },
    /// To see what is among those that promise little: this chance, without what spot checks said
    /// before.
    SpotCheck(f32),
}

/// What was hoped for, in which country.
#[derive(Debug, Clone, Copy)]
struct Hope {
    country: NodeId,
    chance: f32,
}

impl TrackRecord {
    /// Notes that a server was asked since its group promised much.
    pub(super) fn bet(&mut self, server: ServerId, group: &Group, z_best: f32) {
        let hope = (group.hope > group.chances.playable).then_some(Hope {
            country: group.country,
            chance: group.hope,
        });
        let origin_as = group.book;
        self.note(server, group, z_best, Reason::Promising { origin_as, hope });
    }

    /// Notes that a server was asked as a spot check.
    pub(super) fn spot_check(
        &mut self,
        server: ServerId,
        group: &Group,
        z_best: f32,
        model: &Model,
    ) {
        let reason = Reason::SpotCheck(self.before_spot_checks(group, model));
        self.spot_checks += 1;
        self.note(server, group, z_best, reason);
    }

    fn note(&mut self, server: ServerId, group: &Group, z_best: f32, reason: Reason) {
        let bet = Bet {
            chances: group.chances,
            z_best,
            reason,
        };
        self.open.insert(server, bet);
    }

    /// How many spot checks were sent.
    pub(super) const fn spot_checks(&self) -> usize {
        self.spot_checks
    }

    /// Notes what came of it: its z, and the chance that it is truly playable. Silent servers say
    /// nothing about distance.
    pub(super) fn settle(&mut self, server: ServerId, answer: Option<(f32, f32)>) {
        let (Some(bet), Some((z, playable))) = (self.open.remove(&server), answer) else {
            return;
        };
        let better = f32::from(u8::from(z < bet.z_best));
        self.best.enter_long_shot(bet.chances.best, better);
        match bet.reason {
            Reason::SpotCheck(chance) => self.given_up.enter(chance, playable),
            Reason::Promising { origin_as, hope } => {
                let chance = bet.chances.playable;
                self.playable.enter_long_shot(chance, playable);
                let book = self.by_as.entry(origin_as).or_default();
                book.enter(chance, playable);
                if let Some(hope) = hope {
                    let book = self.hopes.entry(hope.country).or_default();
                    book.enter(hope.chance, playable);
                }
            }
        }
    }

    /// What is hoped of a group, as far as hopes came true in its country.
    pub(super) fn hope(&self, group: &Group, model: &Model) -> f32 {
        let book = self.hopes.get(&group.country);
        group.hope * book.map_or(1.0, |book| book.factor(model.hope_doubt).min(1.0))
    }

    /// The share of what was promised of an AS that came true. An AS that kept more is not raised:
    /// its own answers do that.
    pub(super) fn kept(&self, origin_as: NodeId, model: &Model) -> f32 {
        let book = self.by_as.get(&origin_as);
        book.map_or(1.0, |book| book.factor(model.as_doubt).min(1.0))
    }

    /// The chance of a group's servers to be playable, in the light of all experience.
    pub(super) fn playable_chance(&self, group: &Group, model: &Model) -> f32 {
        let chance = self.before_spot_checks(group, model);
        self.given_up.correct(chance, model.spot_check_doubt)
    }

    fn before_spot_checks(&self, group: &Group, model: &Model) -> f32 {
        let chance = group.chances.playable * group.kept;
        self.playable.correct(chance, model.doubt)
    }
}

impl HeapBytes for TrackRecord {
    fn heap_bytes(&self) -> usize {
        self.open.heap_bytes() + self.by_as.heap_bytes() + self.hopes.heap_bytes()
    }
}

/// What was expected of bets, and what came of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Book {
    expected: f32,
    hits: f32,
}

impl Book {
    /// Enters a bet; `hit` is 1 or 0, or between them where nobody can be sure.
    fn enter(&mut self, chance: f32, hit: f32) {
        self.expected += chance;
        self.hits += hit;
    }

    fn enter_long_shot(&mut self, chance: f32, hit: f32) {
        if chance < LONG_SHOT {
            self.enter(chance, hit);
        }
    }

    /// A long shot's chance in the light of experience. `doubt` is how many expected hits the
    /// model's word counts for.
    pub(super) fn correct(&self, chance: f32, doubt: f32) -> f32 {
        if chance >= LONG_SHOT {
            return chance;
        }
        (chance * self.factor(doubt)).min(LONG_SHOT)
    }

    fn factor(&self, doubt: f32) -> f32 {
        if doubt.is_infinite() {
            return 1.0;
        }
        (self.hits + doubt) / (self.expected + doubt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::Part;
    use super::*;

    fn after(bets: u32, chance: f32, hits: u32) -> Book {
        let mut book = Book::default();
        for id in 0..bets {
            book.enter_long_shot(chance, f32::from(u8::from(id < hits)));
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

    fn group(playable: f32) -> Group {
        Group {
            node: 7,
            part: Part::Loose,
            left: 10,
            chances: Chances {
                playable,
                best: 0.01,
            },
            hope: 0.0,
            alive: 1.0,
            at_stake: 1,
            strength: 1.0,
            book: 7,
            country: 3,
            kept: 1.0,
            busy: false,
        }
    }

    #[test]
    fn each_question_has_its_own_book_and_silence_is_in_neither() {
        let mut record = TrackRecord::default();
        let answers = [None, Some((4.0, 1.0)), Some((5.0, 1.0))];
        for (id, answer) in (0..).zip(answers) {
            record.bet(ServerId(id), &group(0.05), 4.5);
            record.settle(ServerId(id), answer);
        }
        assert_eq!((record.playable.expected, record.playable.hits), (0.1, 2.0));
        assert_eq!((record.best.expected, record.best.hits), (0.02, 1.0));
        assert!(record.open.is_empty());
    }

    #[test]
    fn an_as_that_keeps_nothing_is_believed_less_and_one_that_keeps_all_no_more() {
        let mut record = TrackRecord::default();
        let mut place = |book, hit| {
            for id in 0..60 {
                let group = Group {
                    book,
                    ..group(0.15)
                };
                record.bet(ServerId(id), &group, 0.0);
                record.settle(ServerId(id), Some((5.0, hit)));
            }
        };
        place(7, 0.0);
        place(8, 1.0);
        let kept = |book| record.kept(book, &Model::DEFAULT);
        assert!((kept(7) - 0.5 / 9.5).abs() < 1e-3, "{}", kept(7));
        assert_eq!(kept(8), 1.0);
        assert_eq!(kept(9), 1.0, "nobody bet on it");
        let believed = |kept| {
            let group = Group { kept, ..group(0.5) };
            record.playable_chance(&group, &Model::DEFAULT)
        };
        assert!(believed(kept(7)) < 0.2 * believed(1.0));
    }

    #[test]
    fn hopes_that_never_come_true_are_worth_less_in_their_country_only() {
        let mut record = TrackRecord::default();
        let hopeful = |country| Group {
            hope: 0.02,
            country,
            ..group(0.001)
        };
        for id in 0..50 {
            record.bet(ServerId(id), &hopeful(3), 0.0);
            record.settle(ServerId(id), Some((5.0, 0.0)));
        }
        let hope = |country| record.hope(&hopeful(country), &Model::DEFAULT);
        assert!((hope(3) - 0.02 * 0.2 / 1.2).abs() < 1e-5, "{}", hope(3));
        assert_eq!(hope(4), 0.02);
        let promising = Group {
            hope: 0.01,
            ..hopeful(4)
        };
        let promising = Group {
            chances: Chances {
                playable: 0.5,
                best: 0.0,
            },
            ..promising
        };
        record.bet(ServerId(90), &promising, 0.0);
        record.settle(ServerId(90), Some((5.0, 0.0)));
        let hope = record.hope(&hopeful(4), &Model::DEFAULT);
        assert_eq!(hope, 0.02, "that was no mere hope");
    }

    #[test]
    fn spot_checks_that_hit_raise_all_that_was_given_up_and_no_other_book() {
        let mut record = TrackRecord::default();
        let before = record.playable_chance(&group(0.005), &Model::DEFAULT);
        for id in 0..20 {
            record.spot_check(ServerId(id), &group(0.005), 0.0, &Model::DEFAULT);
            record.settle(ServerId(id), Some((5.0, f32::from(u8::from(id < 2)))));
        }
        let after = record.playable_chance(&group(0.005), &Model::DEFAULT);
        assert!(after > 1.8 * before, "{before} became {after}");
        assert_eq!(record.playable.hits, 0.0);
        assert_eq!(record.kept(7, &Model::DEFAULT), 1.0);
        assert_eq!(record.spot_checks(), 20);
    }
}
