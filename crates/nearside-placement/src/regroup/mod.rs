//! When no allocation is within the bound: who makes it impossible, and the fewest players to move to
//! another session so that the rest can play. The paper calls for such a "high level session
//! regrouping" in its step 1 and leaves it open.
//!
//! A conflict is a group that cannot be together although each part of it could. Whoever moves must
//! hit every conflict; the fewest that hit all conflicts known so far either do, or leave another
//! conflict to be found. The first that leave none are the answer.

mod alone;
mod conflict;
mod hitting;
mod partial;

pub use conflict::Conflict;

use crate::solver::{Counts, Goal, Model, pursue};
use crate::{Budget, ClientId, Cost, Delay, Task};

/// Who should move, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Regrouping {
    /// Players to move to another session, ascending. Empty when the bound holds for everybody.
    pub moved: Vec<ClientId>,
    /// No fewer will do. Equal to the number moved when that is proven to be the fewest.
    pub at_least: usize,
    /// Groups that cannot be together, one of whom has to go each.
    pub conflicts: Vec<Conflict>,
    /// What it took.
    pub counts: Counts,
}

impl Regrouping {
    /// Whether fewer moves are impossible.
    pub fn is_proven(&self) -> bool {
        self.at_least >= self.moved.len()
    }
}

/// A group of players that makes the bound impossible, with no one in it who could be left out of the
/// blame, as far as the budget allows. `None` when the bound can be kept, or the budget ended before that
/// was decided.
pub fn explain(task: Task<'_>, budget: &Budget<'_>) -> Option<Conflict> {
    alone::conflicts(task).into_iter().next().or_else(|| {
        let mut judge = Judge::new(task, *budget);
        let everybody: Vec<ClientId> = task.instance.client_ids().collect();
        conflict::find(&mut judge, &everybody)
    })
}

/// The fewest players to move so that the bound holds for the others.
pub fn regroup(task: Task<'_>, budget: &Budget<'_>) -> Regrouping {
    let crowded_out = without_place(task);
    if crowded_out > 0 {
        // Every group of one more than there are places is a conflict, and they are too many to list.
        let moved = partial::leave_out(task, budget);
        if moved.len() == crowded_out {
            return Regrouping {
                moved,
                at_least: crowded_out,
                conflicts: Vec::new(),
                counts: Counts::default(),
            };
        }
    }
    // The other half is for whom to leave out when the search does not end in this one.
    let mut search = Search::new(task, budget.part_of_time(2));
    let moved = search.run();
    Regrouping {
        moved: moved.unwrap_or_else(|| partial::leave_out(task, budget)),
        at_least: search.at_least.max(crowded_out),
        conflicts: search.conflicts,
        counts: search.judge.counts,
    }
}

/// The search for the fewest who hit every conflict.
struct Search<'i, 'b> {
    judge: Judge<'i, 'b>,
    /// Whoever has no server in reach goes in any case, and is in no other conflict.
    alone: Vec<ClientId>,
    conflicts: Vec<Conflict>,
    at_least: usize,
}

impl<'i, 'b> Search<'i, 'b> {
    fn new(task: Task<'i>, budget: Budget<'b>) -> Self {
        let conflicts = alone::conflicts(task);
        let alone: Vec<ClientId> = conflicts
            .iter()
            .flat_map(|conflict| &conflict.clients)
            .copied()
            .collect();
        Self {
            judge: Judge::new(task, budget),
            at_least: alone.len(),
            alone,
            conflicts,
        }
    }

    /// Who moves, ascending; `None` when the budget ends first.
    fn run(&mut self) -> Option<Vec<ClientId>> {
        loop {
            let moved = self.fewest()?;
            self.at_least = self.at_least.max(moved.len());
            let stay = without(self.judge.task, &moved);
            match self.judge.can_be_together(&stay) {
                Answer::Yes => return Some(moved),
                Answer::Unknown => return None,
                Answer::No => {}
            }
            let found = conflict::find_several(&mut self.judge, stay);
            if found.is_empty() {
                return None;
            }
            self.conflicts.extend(found);
        }
    }

    /// The fewest who hit every conflict found so far.
    fn fewest(&self) -> Option<Vec<ClientId>> {
        let groups = groups(&self.conflicts[self.alone.len()..]);
        let mut moved = hitting::fewest(&groups, &self.judge.budget)?;
        moved.extend(&self.alone);
        moved.sort_unstable();
        Some(moved)
    }
}

/// Players for whom there is no place, at whatever bound.
fn without_place(task: Task<'_>) -> usize {
    let places = task.instance.too_few_places();
    places.map_or(0, |places| task.instance.clients().len() - places)
}

fn groups(conflicts: &[Conflict]) -> Vec<&[ClientId]> {
    let groups = conflicts.iter().map(|conflict| &conflict.clients[..]);
    groups.collect()
}

fn without(task: Task<'_>, moved: &[ClientId]) -> Vec<ClientId> {
    let everybody = task.instance.client_ids();
    everybody
        .filter(|client| moved.binary_search(client).is_err())
        .collect()
}

/// Whether a group can play within the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    Unknown,
}

/// Answers about groups, within one budget.
struct Judge<'i, 'b> {
    task: Task<'i>,
    budget: Budget<'b>,
    counts: Counts,
    /// Questions that the budget left without an answer.
    undecided: u64,
}

impl<'i, 'b> Judge<'i, 'b> {
    fn new(task: Task<'i>, budget: Budget<'b>) -> Self {
        Self {
            task,
            budget,
            counts: Counts::default(),
            undecided: 0,
        }
    }

    /// Whether the time is over, which leaves the question at hand without an answer.
    fn is_late(&mut self) -> bool {
        let late = self.budget.time_is_up();
        self.undecided += u64::from(late);
        late
    }

    fn can_be_together(&mut self, group: &[ClientId]) -> Answer {
        if group.is_empty() {
            return Answer::Yes;
        }
        // To ask is to look at everybody's delays, which may take longer than what is left.
        if self.is_late() {
            return Answer::Unknown;
        }
        let model = Model::of_clients(self.task, group.to_vec());
        let used = self.counts.samples + self.counts.nodes;
        let left = self.budget.steps().saturating_sub(used);
        let budget = self.budget.with_steps(left);
        let mut counts = Counts::default();
        let proof = pursue(&model, &budget, Goal::AtMost(Cost::INFINITE), &mut counts);
        counts.nodes += proof.nodes();
        self.counts.add(counts);
        match proof.best() {
            Some(_) => Answer::Yes,
            None if proof.lower() == Cost::INFINITE => Answer::No,
            None => {
                self.undecided += 1;
                Answer::Unknown
            }
        }
    }

    /// The smallest delay at which a group can be together; `None` when at none, or when that takes
    /// too long to find out.
    fn delay_together(&mut self, group: &[ClientId]) -> Option<Delay> {
        if self.budget.time_is_up() {
            return None;
        }
        let part = self.task.instance.restricted_to(group);
        let fastest = crate::min_delay(&part, part.servers().len(), &self.budget).ok()?;
        fastest.is_proven().then_some(fastest.delay)
    }
}
