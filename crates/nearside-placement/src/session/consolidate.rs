//! Saving servers by moving a few players.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::bell::{Bell, OutOfTime};
use super::seats::Contacts;
use super::{Move, Session};
use crate::Cost;
use crate::solver::neighbourhood::{complete, torn_down, what_stands};
use crate::solver::{Budget, Counts, Goal, Model, Plan, Seating, pursue};

/// Who would move where, and what it saves. All moves belong together: half of them may break the
/// bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MigrationPlan {
    /// The moves.
    pub moves: Vec<Move>,
    /// Servers in use before.
    pub servers_before: usize,
    /// Servers in use after.
    pub servers_after: usize,
    /// What is saved; the number of servers unless they have prices.
    pub saved: Cost,
}

/// A way to sit, what it costs and how many players it moves from where they are now.
#[derive(Clone)]
struct Proposal {
    contacts: Contacts,
    cost: Cost,
    moves: usize,
}

/// Groups torn down in vain before the search for a cheaper way ends.
const PATIENCE: usize = 400;
/// Share of groups for which another way at the same cost is good enough, as long as it moves no more.
const SIDEWAYS: f64 = 0.3;

impl Session {
    /// The cheapest seats that move at most `max_moves` players, as far as they are found; moves
    /// nobody. Call [`super::Event::Consolidate`] to do it.
    pub fn plan_consolidation(&self, max_moves: usize) -> MigrationPlan {
        let plan = self.plan_consolidation_within(max_moves, &|| false);
        plan.expect("there is all the time in the world")
    }

    /// The same, given up when `time_is_up` says so.
    ///
    /// # Errors
    /// When time was up before the plan was made.
    pub fn plan_consolidation_within(
        &self,
        max_moves: usize,
        time_is_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<MigrationPlan, OutOfTime> {
        let bell = Bell::new(time_is_up);
        let ask = || bell.ask();
        let mut after = self.clone();
        after.consolidate(max_moves, &self.budget().with_deadline(&ask));
        if bell.has_rung() {
            return Err(OutOfTime);
        }
        let before = self.seating();
        Ok(MigrationPlan {
            moves: after.moves_since(&self.seats_by_name()),
            servers_before: before.in_use().len(),
            servers_after: after.seating().in_use().len(),
            saved: before.cost() - after.seating().cost(),
        })
    }

    /// A session that does not hold its bound is left to `settle`.
    pub(super) fn consolidate(&mut self, max_moves: usize, budget: &Budget<'_>) {
        if self.clients() > 0 && self.is_kept(&self.seating()) {
            let best = Consolidation::new(self, max_moves, budget).best();
            self.take_seats(best.contacts);
        }
    }

    fn proposal(&self, contacts: Contacts) -> Proposal {
        let changed = contacts.iter().zip(&self.contacts);
        let moves = changed.filter(|(new, old)| new != old).count();
        let seating = Seating::partial(&self.roster, self.bound, &contacts);
        Proposal {
            cost: seating.cost(),
            contacts,
            moves,
        }
    }
}

/// The search for cheaper seats.
struct Consolidation<'s> {
    session: &'s Session,
    model: Model<'s>,
    budget: &'s Budget<'s>,
    max_moves: usize,
    rng: ChaCha8Rng,
    nodes: u64,
}

impl<'s> Consolidation<'s> {
    fn new(session: &'s Session, max_moves: usize, budget: &'s Budget<'s>) -> Self {
        Self {
            session,
            model: Model::new(session.task()),
            budget,
            max_moves,
            rng: ChaCha8Rng::seed_from_u64(budget.seed()),
            nodes: 0,
        }
    }

    /// The present seats, if nothing better is found.
    fn best(mut self) -> Proposal {
        let present = self.session.proposal(self.session.contacts.clone());
        let mut counts = Counts::default();
        let proof = pursue(&self.model, self.budget, Goal::Optimum, &mut counts);
        let optimal = proof.best().map(|plan| self.seated(plan));
        let affordable =
            |optimal: &Proposal| optimal.moves <= self.max_moves && optimal.cost < present.cost;
        let start = optimal.filter(affordable).unwrap_or(present);
        self.improve(start, proof.lower())
    }

    /// Tears down groups of servers and serves their players anew, as long as that finds cheaper seats
    /// or as cheap ones that move no more players.
    fn improve(&mut self, start: Proposal, least: Cost) -> Proposal {
        let mut best = start;
        let mut idle = 0;
        while idle < PATIENCE && best.cost > least && !self.is_over() {
            idle += 1;
            let Some(found) = self.vary(&best) else {
                continue;
            };
            if found.moves > self.max_moves || (found.cost, found.moves) > (best.cost, best.moves) {
                continue;
            }
            if found.cost < best.cost {
                idle = 0;
            }
            best = found;
        }
        best
    }

    fn vary(&mut self, from: &Proposal) -> Option<Proposal> {
        let session = self.session;
        let seating = Seating::partial(&session.roster, session.bound, &from.contacts);
        let plan = Plan::of_seating(&seating);
        let torn = torn_down(&self.model, &plan, &mut self.rng);
        let start = what_stands(&self.model, &plan, &torn)?;
        let most = match self.rng.random_bool(SIDEWAYS) {
            true => from.cost,
            false => from.cost - self.model.cost_step(),
        };
        let (found, nodes) = complete(&self.model, self.budget, start, most);
        self.nodes += nodes;
        Some(self.seated(&found?))
    }

    fn seated(&self, plan: &Plan) -> Proposal {
        let contacts = self.session.stay_where_possible(&self.model, plan);
        self.session.proposal(contacts)
    }

    fn is_over(&self) -> bool {
        self.budget.time_is_up() || self.nodes >= self.budget.steps()
    }
}
