//! Saving servers by moving a few players.

use serde::Serialize;

use super::seats::Contacts;
use super::{Move, Session};
use crate::solver::{Counts, Goal, Model, Plan, Seating, neighbourhood, pursue};
use crate::{Cost, ServerId};

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

/// A way to sit, what it costs and how many players it moves.
struct Proposal {
    contacts: Contacts,
    cost: Cost,
    moves: usize,
}

impl Session {
    /// The cheapest seats that move at most `max_moves` players, as far as they are found; moves
    /// nobody. Call [`super::Event::Consolidate`] to do it.
    pub fn plan_consolidation(&self, max_moves: usize) -> MigrationPlan {
        let best = self.best_seats(max_moves);
        let mut after = self.clone();
        after.take_seats(best);
        let before = self.seating();
        MigrationPlan {
            moves: after.moves_since(&self.seats_by_name()),
            servers_before: before.in_use().len(),
            servers_after: after.seating().in_use().len(),
            saved: before.cost() - after.seating().cost(),
        }
    }

    pub(super) fn consolidate(&mut self, max_moves: usize) {
        let best = self.best_seats(max_moves);
        self.take_seats(best);
    }

    /// The present seats, if nothing better is found. A session that does not hold its bound is left
    /// to `settle`.
    fn best_seats(&self, max_moves: usize) -> Contacts {
        if self.clients() == 0 || !self.is_kept(&self.seating()) {
            return self.contacts.clone();
        }
        let model = Model::new(self.task());
        let mut proposals = vec![self.proposal(self.contacts.clone())];
        proposals.push(self.optimal(&model));
        proposals.push(self.closing_one_by_one(&model, max_moves));
        let affordable = proposals
            .into_iter()
            .filter(|proposal| proposal.moves <= max_moves);
        let best = affordable.min_by_key(|proposal| (proposal.cost, proposal.moves));
        best.map_or_else(|| self.contacts.clone(), |best| best.contacts)
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

    /// The best there is, however many have to move.
    fn optimal(&self, model: &Model<'_>) -> Proposal {
        let mut counts = Counts::default();
        let proof = pursue(model, &self.budget(), Goal::Optimum, &mut counts);
        let contacts = match proof.best() {
            Some(plan) => self.stay_where_possible(model, plan),
            None => self.contacts.clone(),
        };
        self.proposal(contacts)
    }

    /// Closes servers, those with few players first, as long as their players find other seats and
    /// the moves suffice.
    fn closing_one_by_one(&self, model: &Model<'_>, max_moves: usize) -> Proposal {
        let seating = self.seating();
        let mut by_load: Vec<ServerId> = seating.in_use().to_vec();
        by_load.sort_by_key(|&server| (seating.load(server), server));
        let mut plan = Plan::of_seating(&seating);
        let mut best = self.proposal(self.contacts.clone());
        for server in by_load {
            let torn = [server.index()];
            let (smaller, _) = neighbourhood::rebuild(model, &self.budget(), &plan, &torn);
            let Some(smaller) = smaller else { continue };
            let proposal = self.proposal(self.stay_where_possible(model, &smaller));
            if proposal.moves <= max_moves && proposal.cost < best.cost {
                best = proposal;
                plan = smaller;
            }
        }
        best
    }
}
