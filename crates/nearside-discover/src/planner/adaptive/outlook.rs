//! What is still to be expected, and when that is too little to go on.

use super::belief::Group;
use super::config::{Enough, Model, Objective};
use super::record::TrackRecord;

/// A question one may ask of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Is it below the RTT to stop at?
    Playable,
    /// Is it better than the k-th best found so far?
    Best,
}

impl Question {
    /// The chance of a group in the light of experience.
    pub(super) fn corrected(self, group: &Group, model: &Model, record: &TrackRecord) -> f32 {
        match self {
            Self::Playable => record.playable_chance(group, model),
            Self::Best => record.best.correct(group.chances.best, model.best_doubt),
        }
    }

    /// The servers found per probe by who goes on after a hit and leaves after a miss. For a single
    /// server that is its chance; a large unknown group may be worth a look at a small chance,
    /// since what one probe finds out holds for many. (The index of a bandit whose arms die at the
    /// first miss.)
    pub(super) fn worth(self, group: &Group, model: &Model, record: &TrackRecord) -> f32 {
        let chance = self.corrected(group, model, record).max(match self {
            Self::Playable => record
                .playable
                .correct(record.hope(group, model), model.doubt),
            Self::Best => 0.0,
        });
        let follow = match self {
            Self::Playable => model.after_hit,
            Self::Best => model.after_best_hit,
        };
        let others = (group.at_stake - 1) as f32;
        let after = chance + (follow - chance).max(0.0) / (1.0 + group.strength);
        group.alive * chance * (1.0 + others * after) / (1.0 + others * chance)
    }
}

/// What is still to be expected of the servers nobody has probed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Outlook {
    /// Playable servers among them.
    pub(super) missed: f64,
    /// Servers among them that are better than the k-th best.
    pub(super) better: f64,
    /// The most playable servers per probe that any group promises.
    pub(super) worth: f32,
}

impl Outlook {
    /// Adds up groups. `matching` is the share of servers that pass the user's filters.
    pub(super) fn over(
        groups: &[Group],
        model: &Model,
        record: &TrackRecord,
        matching: f64,
    ) -> Self {
        let expected = |question: Question| -> f64 {
            let chance =
                |group: &Group| f64::from(group.alive * question.corrected(group, model, record));
            groups.iter().map(|g| f64::from(g.left) * chance(g)).sum()
        };
        let worths = groups
            .iter()
            .map(|g| Question::Playable.worth(g, model, record));
        Self {
            missed: expected(Question::Playable),
            better: matching * expected(Question::Best),
            worth: worths.fold(0.0, f32::max),
        }
    }

    /// Why it is enough by now, if it is.
    pub(super) fn verdict(
        &self,
        objective: Objective,
        enough: &Enough,
        playable: usize,
    ) -> Option<Verdict> {
        let few_better = self.better < f64::from(enough.better);
        if objective == Objective::Best {
            return few_better.then_some(Verdict::BestFound);
        }
        if self.worth < self.least_worth(enough, playable) {
            Some(Verdict::NotWorthIt)
        } else if few_better && self.worth < SURE && self.misses_at_most(enough.missing, playable) {
            Some(Verdict::FewMissing)
        } else {
            None
        }
    }

    /// The fewest playable servers for which a probe is sent.
    pub(super) fn least_worth(&self, enough: &Enough, playable: usize) -> f32 {
        match self.misses_at_most(enough.many, playable) {
            true => enough.worth,
            false => enough.worth_of_many,
        }
    }

    /// Whether no more than this share of the playable servers should be missing, beside those found.
    fn misses_at_most(&self, share: f32, playable: usize) -> bool {
        self.missed <= f64::from(share) * (playable as f64 + self.missed)
    }
}

/// While a probe promises this much it is sent, however few servers are missing.
const SURE: f32 = 0.1;

/// Why the planner stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// So few playable servers are missing that more probes make no difference.
    FewMissing,
    /// Some may be missing, but nowhere in particular: it would take too many probes to find one.
    NotWorthIt,
    /// No better server than the best found is to be expected.
    BestFound,
    /// A better one may be missing, but nowhere in particular.
    BetterNotWorthIt,
}

impl Verdict {
    /// The verdict where nothing promises enough for a probe.
    pub(super) const fn not_worth_it(objective: Objective) -> Self {
        match objective {
            Objective::Best => Self::BetterNotWorthIt,
            Objective::Thorough | Objective::Fast => Self::NotWorthIt,
        }
    }

    /// Whether only the best were looked for.
    pub const fn is_about_the_best(self) -> bool {
        matches!(self, Self::BestFound | Self::BetterNotWorthIt)
    }
}

#[cfg(test)]
mod tests {
    use super::super::belief::Chances;
    use super::super::tree::Part;
    use super::*;

    fn group(part: Part, left: u32, chance: f32) -> Group {
        let at_stake = match part {
            Part::Whole => left,
            Part::Loose => 1,
        };
        Group {
            node: 1,
            part,
            left,
            chances: Chances {
                playable: chance,
                best: chance / 10.0,
            },
            hope: 0.0,
            alive: 1.0,
            at_stake,
            strength: 1.0,
            book: 1,
            country: 1,
            kept: 1.0,
            busy: false,
        }
    }

    fn worth(part: Part, left: u32, chance: f32) -> f32 {
        let record = TrackRecord::default();
        Question::Playable.worth(&group(part, left, chance), &Model::DEFAULT, &record)
    }

    #[test]
    fn a_lone_server_is_worth_its_chance_and_a_large_unknown_group_much_more() {
        assert_eq!(worth(Part::Loose, 50, 0.02), 0.02);
        assert_eq!(worth(Part::Whole, 1, 0.02), 0.02);
        assert!(worth(Part::Whole, 50, 0.02) > 0.1);
        assert!(worth(Part::Whole, 5000, 0.0) == 0.0);
    }

    #[test]
    fn a_second_look_is_worth_more_where_one_answer_speaks_for_many() {
        let loose = |at_stake, strength| Group {
            at_stake,
            strength,
            ..group(Part::Loose, 40, 0.004)
        };
        let worth = |group: Group| {
            Question::Playable.worth(&group, &Model::DEFAULT, &TrackRecord::default())
        };
        let [one, few, many] = [6.0, 12.0, 300.0].map(|known| worth(loose(40, known)));
        assert!(
            one > few && few > many && many > 0.004,
            "{one} {few} {many}"
        );
        assert!(one > 2.0 * worth(loose(1, 6.0)));
        assert_eq!(worth(loose(40, f32::INFINITY)), 0.004, "it changes nothing");
    }

    /// A probe that is worth little is still sent while much is missing.
    #[test]
    fn who_knows_of_many_missing_ones_goes_on_for_less() {
        let outlook = |missed| Outlook {
            missed,
            better: 0.0,
            worth: 0.007,
        };
        let verdict =
            |missed| outlook(missed).verdict(Objective::Thorough, &Enough::THOROUGH, 1000);
        assert_eq!(verdict(7.0), Some(Verdict::NotWorthIt));
        assert_eq!(verdict(9.0), None);
        let fast = outlook(300.0).verdict(Objective::Fast, &Enough::FAST, 1000);
        assert_eq!(
            fast,
            Some(Verdict::NotWorthIt),
            "who is in a hurry does not"
        );
    }

    #[test]
    fn worth_grows_with_chance_and_size_and_never_exceeds_certainty() {
        for left in [1, 2, 10, 1000] {
            let worths: Vec<f32> = (0..=100u8)
                .map(|percent| worth(Part::Whole, left, f32::from(percent) / 100.0))
                .collect();
            assert!(worths.is_sorted(), "{worths:?}");
            assert!(worths[100] <= 1.0);
        }
        assert!(worth(Part::Whole, 10, 0.1) > worth(Part::Whole, 9, 0.1));
    }

    #[test]
    fn expectations_are_sums_over_all_servers_left() {
        let groups = [group(Part::Loose, 10, 0.5), group(Part::Whole, 4, 0.25)];
        let groups = groups.map(|group| Group {
            alive: 0.9,
            ..group
        });
        let outlook = Outlook::over(&groups, &Model::DEFAULT, &TrackRecord::default(), 0.5);
        assert!((outlook.missed - 0.9 * 6.0).abs() < 1e-5);
        assert!((outlook.better - 0.9 * 0.5 * 0.6).abs() < 1e-5);
    }

    #[test]
    fn each_objective_stops_for_its_own_reason() {
        let enough = Enough::THOROUGH;
        let verdict = |objective, missed, better, worth| {
            let outlook = Outlook {
                missed,
                better,
                worth,
            };
            outlook.verdict(objective, &enough, 1000)
        };
        assert_eq!(verdict(Objective::Thorough, 50.0, 0.0, 0.5), None);
        assert_eq!(
            verdict(Objective::Thorough, 2.0, 0.0, 0.05),
            Some(Verdict::FewMissing)
        );
        assert_eq!(
            verdict(Objective::Thorough, 2.0, 0.0, 0.5),
            None,
            "one is as good as found"
        );
        assert_eq!(
            verdict(Objective::Thorough, 2.0, 2.0, 0.5),
            None,
            "a better one is likely"
        );
        assert_eq!(
            verdict(Objective::Thorough, 50.0, 2.0, 0.001),
            Some(Verdict::NotWorthIt)
        );
        assert_eq!(
            verdict(Objective::Best, 50.0, 0.1, 0.5),
            Some(Verdict::BestFound)
        );
        assert_eq!(verdict(Objective::Best, 5.0, 2.0, 0.001), None);
    }
}
