//! When no allocation is within the bound: who makes it impossible, and the fewest players to move to
//! another session so that the rest can play. The paper calls for such a "high level session
//! regrouping" in its step 1 and leaves it open.
//!
//! A conflict is a group that cannot be together although each part of it could. Whoever moves must
//! hit every conflict; the fewest that hit all conflicts known so far either do, or leave another
//! conflict to be found. The first that leave none are the answer.

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
/// blame. `None` when the bound can be kept, or the budget ended before that was decided.
pub fn explain(task: Task<'_>, budget: &Budget<'_>) -> Option<Conflict> {
    let mut judge = Judge::new(task, *budget);
    let everybody: Vec<ClientId> = task.instance.client_ids().collect();
    conflict::find(&mut judge, &everybody)
}

/// The fewest players to move so that the bound holds for the others.
pub fn regroup(task: Task<'_>, budget: &Budget<'_>) -> Regrouping {
    let mut judge = Judge::new(task, *budget);
    let mut conflicts: Vec<Conflict> = Vec::new();
    let mut at_least = 0;
    let moved = loop {
        let Some(moved) = hitting::fewest(&groups(&conflicts)) else {
            break None;
        };
        at_least = moved.len();
        let stay = without(task, &moved);
        match judge.can_be_together(&stay) {
            Answer::Yes => break Some(moved),
            Answer::Unknown => break None,
            Answer::No => {}
        }
        let found = conflict::find_several(&mut judge, stay);
        if found.is_empty() {
            break None;
        }
        conflicts.extend(found);
    };
    Regrouping {
        moved: moved.unwrap_or_else(|| partial::leave_out(task)),
        at_least,
        conflicts,
        counts: judge.counts,
    }
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
}

impl<'i, 'b> Judge<'i, 'b> {
    fn new(task: Task<'i>, budget: Budget<'b>) -> Self {
        Self {
            task,
            budget,
            counts: Counts::default(),
        }
    }

    fn can_be_together(&mut self, group: &[ClientId]) -> Answer {
        if group.is_empty() {
            return Answer::Yes;
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
            None => Answer::Unknown,
        }
    }

    /// The smallest delay at which a group can be together; `None` when at none, or when that takes
    /// too long to find out.
    fn delay_together(&mut self, group: &[ClientId]) -> Option<Delay> {
        let part = self.task.instance.restricted_to(group);
        let fastest = crate::min_delay(&part, part.servers().len(), &self.budget)?;
        fastest.is_proven().then_some(fastest.delay)
    }
}
