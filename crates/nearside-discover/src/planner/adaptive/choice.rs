//! Which servers are asked next.

use std::cmp::Ordering;

use rand::RngExt;

use super::belief::Group;
use super::outlook::Question;
use super::tree::{NodeId, Part, ROOT};
use super::{AdaptivePlanner, Objective, ServerId, State};

/// A group that may be asked, by its place among the groups.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    worth: f32,
    /// The chance to be among the best, which decides between two that are worth the same.
    best: f32,
    left: u32,
    index: usize,
}

impl Ranked {
    /// The more promising first, then the nearer, then the larger, then the earlier in the tree.
    fn before(&self, other: &Self) -> Ordering {
        let promising = other.worth.total_cmp(&self.worth);
        let nearer = other.best.total_cmp(&self.best);
        let larger = other.left.cmp(&self.left);
        let earlier = self.index.cmp(&other.index);
        promising.then(nearer).then(larger).then(earlier)
    }
}

impl AdaptivePlanner {
    /// Queues up to a batch of probes: most for the best servers while better ones are likely, the
    /// rest for playable ones.
    pub(super) fn choose(&mut self) {
        let mut groups = std::mem::take(&mut self.groups);
        self.choose_from(&mut groups);
        self.groups = groups;
    }

    fn choose_from(&mut self, groups: &mut [Group]) {
        let batch = self.batch();
        if !self.has_looked() {
            return self.pick(groups, Question::Best, batch, 0.0);
        }
        let few_better = self.outlook.better < f64::from(self.config.enough.better);
        if !few_better {
            let most = (3 * batch).div_ceil(4);
            let floor = self.config.enough.chance;
            self.pick(groups, Question::Best, most, floor);
        }
        let rest = batch - self.queue.len();
        if rest > 0 && self.config.objective != Objective::Best {
            let patience = PATIENCE * self.outlook.worth;
            let floor = patience.max(self.least_worth());
            self.pick(groups, Question::Playable, rest, floor);
        }
    }

    /// Queues spot checks, if some are due: random servers of those that were given up, the likelier
    /// ones sooner. Who only ever looks where much is promised never learns that little was promised
    /// wrongly.
    pub(super) fn spot_check(&mut self) {
        let due = self.spot_checks_due();
        if due == 0 {
            return;
        }
        let groups = std::mem::take(&mut self.groups);
        let hopes = self.running_hopes(&groups);
        let all = hopes.last().copied().unwrap_or(0.0);
        for _ in 0..due {
            let at = self.rng.random::<f64>() * all;
            let group = hopes.partition_point(|&hope| hope <= at);
            if let Some(group) = groups.get(group) {
                self.spot_check_in(group);
            }
        }
        self.groups = groups;
    }

    fn spot_checks_due(&self) -> usize {
        let share = self.config.enough.spot_checks;
        if self.config.objective == Objective::Best || share <= 0.0 {
            return 0;
        }
        let tried = self.tally.answered + self.tally.silent;
        let wanted = (share * tried as f32) as usize;
        wanted
            .clamp(FEWEST_SPOT_CHECKS, MOST_SPOT_CHECKS)
            .saturating_sub(self.record.spot_checks())
    }

    /// The playable servers expected in each group and all before it.
    fn running_hopes(&self, groups: &[Group]) -> Vec<f64> {
        let mut sum = 0.0;
        let expected = groups.iter().map(|group| {
            let chance = self.record.playable_chance(group, &self.config.model);
            sum += f64::from(group.left) * f64::from(group.alive * chance);
            sum
        });
        expected.collect()
    }

    fn spot_check_in(&mut self, group: &Group) {
        if let Some(server) = self.unprobed(group.node, group.part) {
            let z_best = self.beliefs.z_best();
            let model = &self.config.model;
            self.record.spot_check(server, group, z_best, model);
            self.ask(server);
        }
    }

    /// How many probes to decide on. A decision is worth most while little is known, and costs most
    /// when much is: so one more at once for every hundred servers that were tried.
    fn batch(&self) -> usize {
        let tried = self.tally.answered + self.tally.silent;
        (tried / 100)
            .min(LARGEST_BATCH)
            .max(self.config.batch.max(1))
    }

    /// Queues the `most` servers that promise most, if it is at least `floor`.
    fn pick(&mut self, groups: &mut [Group], question: Question, most: usize, floor: f32) {
        let mut ranked = self.rank(groups, question, floor);
        let mut taken = 0;
        // A few groups nearly always suffice; only when slow start holds them back, all are sorted.
        let front = ranked.len().min(4 * most);
        if front < ranked.len() {
            ranked.select_nth_unstable_by(front, Ranked::before);
        }
        let (first, second) = ranked.split_at_mut(front);
        for part in [first, second] {
            part.sort_unstable_by(Ranked::before);
            for ranked in part {
                taken += self.ask_group(&mut groups[ranked.index], most - taken);
                if taken == most {
                    return;
                }
            }
        }
    }

    fn rank(&self, groups: &[Group], question: Question, floor: f32) -> Vec<Ranked> {
        let (model, record) = (&self.config.model, &self.record);
        let possible = groups.iter().enumerate();
        let possible = possible.filter(|(_, group)| !group.busy && group.left > 0);
        possible
            .map(|(index, group)| (question.worth(group, model, record), group, index))
            .filter(|&(worth, ..)| worth >= floor)
            .map(|(worth, group, index)| Ranked {
                worth: worth.min(CERTAIN),
                best: group.chances.best,
                left: group.left,
                index,
            })
            .collect()
    }

    /// Asks up to `most` servers of a group, as far as slow start lets it.
    fn ask_group(&mut self, group: &mut Group, most: usize) -> usize {
        let mut asked = 0;
        while asked < most && group.left > 0 && self.may_ask(group.node) {
            let Some(server) = self.unprobed(group.node, group.part) else {
                debug_assert!(false, "{group:?} has servers left");
                break;
            };
            self.record.bet(server, group, self.beliefs.z_best());
            self.ask(server);
            group.left -= 1;
            asked += 1;
        }
        asked
    }

    /// Whether slow start allows another probe into a node and all above it.
    fn may_ask(&self, mut node: NodeId) -> bool {
        while node != ROOT {
            let entry = self.tree.node(node);
            if entry.is_busy() {
                return false;
            }
            node = entry.parent;
        }
        true
    }

    /// A random unprobed server of a node.
    fn unprobed(&mut self, node: NodeId, part: Part) -> Option<ServerId> {
        let size = self.tree.size(node, part);
        let start = self.rng.random_range(0..size.max(1));
        let states = &self.states;
        self.tree
            .servers_from(node, part, start)
            .find(|server| states[server.index()] == State::Unprobed)
    }
}

/// A tenth of a second at 140 probes a second.
const LARGEST_BATCH: usize = 14;

/// Promises from here on are as good as kept: of those the nearest are asked first, since the best are
/// among them.
const CERTAIN: f32 = 0.9;

/// Fewer say nothing …
const FEWEST_SPOT_CHECKS: usize = 5;
/// … and more say little that is new.
const MOST_SPOT_CHECKS: usize = 100;

/// A probe that promises less than this share of the most promising one, which may be waiting for an
/// answer, waits too. Without it a full scan fills the time with far servers while slow start holds
/// the near ones back.
const PATIENCE: f32 = 0.2;

#[cfg(test)]
mod tests {
    use super::super::AdaptiveConfig;
    use super::super::belief::Chances;
    use super::*;

    fn group(playable: f32, best: f32, left: u32) -> Group {
        Group {
            node: 1,
            part: Part::Loose,
            left,
            chances: Chances { playable, best },
            hope: 0.0,
            alive: 1.0,
            at_stake: 1,
            strength: 1.0,
            book: 1,
            country: 1,
            kept: 1.0,
            busy: false,
        }
    }

    #[test]
    fn of_those_that_are_as_good_as_certain_the_nearest_come_first() {
        let planner = AdaptivePlanner::new(AdaptiveConfig::new(), 1);
        let [likely, sure_and_far, near, nearest] = [
            group(0.8, 0.5, 90),
            group(0.99, 0.0, 90),
            group(0.93, 0.01, 5),
            group(0.91, 0.02, 3),
        ];
        let groups = [likely, sure_and_far, near, nearest];
        let mut ranked = planner.rank(&groups, Question::Playable, 0.0);
        ranked.sort_by(Ranked::before);
        let order: Vec<usize> = ranked.iter().map(|ranked| ranked.index).collect();
        assert_eq!(order, [3, 2, 1, 0]);
    }
}
