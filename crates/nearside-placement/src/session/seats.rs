//! Finding seats: with as few moves as possible for one, with a new solution for all.

use super::{Reason, Session};
use crate::solver::{Budget, Counts, Goal, Model, Plan, Seating, pursue};
use crate::{ClientId, Delay, ServerId, Task, explain};

/// A server for each player, or none.
pub(super) type Contacts = Vec<Option<ServerId>>;

impl Session {
    /// A seat that disturbs nobody: the nearest server in use that keeps the bound, else the nearest
    /// other one.
    pub(super) fn quiet_seat(&self, seating: &Seating<'_>, client: ClientId) -> Option<ServerId> {
        let distance = |server: ServerId| self.roster.access(client, server);
        let fits = |&server: &ServerId| {
            distance(server).is_usable()
                && seating.has_place(server)
                && seating.keeps_bound(client, server)
        };
        let candidates = self.roster.server_ids().filter(fits);
        candidates.min_by_key(|&server| (seating.load(server) == 0, distance(server), server))
    }

    /// Seats for those who have none, as far as that disturbs nobody.
    pub(super) fn seat_quietly(&self, contacts: &Contacts) -> Contacts {
        let mut seating = Seating::partial(&self.roster, self.bound, contacts);
        if !self.is_sound(&seating) {
            return contacts.clone();
        }
        for client in self.roster.client_ids() {
            if seating.contact(client).is_none()
                && let Some(server) = self.quiet_seat(&seating, client)
            {
                seating.seat(client, server);
            }
        }
        seating.contacts().to_vec()
    }

    /// New seats for everybody, who stay where they are as far as the solution lets them.
    pub(super) fn seat_anew(&self, budget: &Budget<'_>) -> Result<Contacts, Reason> {
        if self.clients() == 0 {
            return Ok(Contacts::new());
        }
        let model = Model::new(self.task());
        let mut counts = Counts::default();
        let proof = pursue(&model, budget, Goal::Optimum, &mut counts);
        match proof.best() {
            Some(plan) => Ok(self.stay_where_possible(&model, plan)),
            None => Err(self.why_impossible(budget)),
        }
    }

    /// Seats under a plan: one's own, if the plan has the server open and the bound allows it, else what
    /// the plan gives. Those whom the plan's radii include come first, then those for whom a radius
    /// has to grow least.
    pub(super) fn stay_where_possible(&self, model: &Model<'_>, plan: &Plan) -> Contacts {
        let mut seating = plan.seat(model);
        let mut homesick: Vec<(Delay, ClientId, ServerId)> = Vec::new();
        for client in self.roster.client_ids() {
            if let Some(home) = self.contacts[client.index()]
                && let Some(radius) = plan.radius(home.index())
                && seating.contact(client) != Some(home)
            {
                let growth = self.roster.access(client, home) - radius;
                homesick.push((growth.max(Delay::ZERO), client, home));
            }
        }
        homesick.sort_unstable();
        for (_, client, home) in homesick {
            if seating.has_place(home) && seating.keeps_bound(client, home) {
                seating.seat(client, home);
            }
        }
        seating.contacts().to_vec()
    }

    pub(super) fn task(&self) -> Task<'_> {
        Task {
            instance: &self.roster,
            bound: self.bound,
        }
    }

    /// That places are missing, or who cannot be together, by name.
    fn why_impossible(&self, budget: &Budget<'_>) -> Reason {
        if let Some(places) = self.roster.too_few_places() {
            let clients = self.clients();
            return Reason::Full { clients, places };
        }
        let Some(conflict) = explain(self.task(), budget) else {
            return Reason::GaveUp;
        };
        let name = |&client: &ClientId| self.roster.client_name(client).to_owned();
        Reason::Impossible {
            clients: conflict.clients.iter().map(name).collect(),
            delay: conflict.delay,
        }
    }
}
