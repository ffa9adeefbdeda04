use thiserror::Error;

use super::Zizo;
use crate::solver::least::least_cost;
use crate::solver::{Budget, Counts, Outcome, Seating};
use crate::{Allocation, ClientId, Delay, Instance, ServerId};

/// Clients that come and go one by one under the paper's algorithm (section 4, Figure 5): each change
/// re-runs steps 2 to 4 on the present allocation. An operator would rather keep a session that moves as few as possible.
#[derive(Debug, Clone)]
pub struct Gathering<'i> {
    zizo: Zizo,
    seating: Seating<'i>,
    counts: Counts,
}

/// Why a client could not join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum JoinError {
    /// It is here already.
    #[error("client {0} is in the session already")]
    Present(ClientId),
    /// Neither the present allocation nor a new one from step 1 holds the bound with it.
    #[error("client {0} cannot join within the bound")]
    BoundUnmet(ClientId),
}

impl<'i> Gathering<'i> {
    /// Nobody is here yet.
    pub fn new(zizo: Zizo, instance: &'i Instance, bound: Delay) -> Self {
        Self {
            zizo,
            seating: Seating::empty(instance, bound),
            counts: Counts::default(),
        }
    }

    /// Seats a client at the first server by distance that keeps the bound, else restarts everybody
    /// from step 1; then steps 2 to 4.
    ///
    /// # Errors
    /// When the client is here already or the bound cannot be kept; nobody moves then.
    pub fn join(&mut self, client: ClientId) -> Result<(), JoinError> {
        if self.seating.contact(client).is_some() {
            return Err(JoinError::Present(client));
        }
        match self.first_that_holds(client) {
            Some(server) => self.seating.seat(client, server),
            None => self.restart_with(client)?,
        }
        self.refine();
        Ok(())
    }

    fn first_that_holds(&mut self, client: ClientId) -> Option<ServerId> {
        let by_distance = by_distance(&self.seating, client);
        by_distance.into_iter().find(|&server| {
            self.counts.probes += 1;
            self.seating.has_place(server) && self.seating.keeps_bound(client, server)
        })
    }

    /// Step 1 for everybody who is here and the newcomer.
    fn restart_with(&mut self, newcomer: ClientId) -> Result<(), JoinError> {
        let mut fresh = self.seating.clone();
        let ids = fresh.instance().client_ids();
        let present: Vec<ClientId> = ids
            .filter(|&client| client == newcomer || fresh.contact(client).is_some())
            .collect();
        present.iter().for_each(|&client| fresh.unseat(client));
        for client in present {
            let mut places = by_distance(&fresh, client).into_iter();
            let nearest = places.find(|&server| fresh.has_place(server));
            fresh.seat(client, nearest.ok_or(JoinError::BoundUnmet(newcomer))?);
        }
        if !fresh.holds() {
            return Err(JoinError::BoundUnmet(newcomer));
        }
        self.seating = fresh;
        Ok(())
    }

    /// Removes a client, which may close its server; then steps 2 to 4.
    pub fn leave(&mut self, client: ClientId) {
        self.seating.unseat(client);
        self.refine();
    }

    fn refine(&mut self) {
        let order: Vec<ClientId> = self.seating.instance().client_ids().collect();
        let budget = Budget::unlimited(0);
        self.zizo
            .refine(&mut self.seating, &order, &mut self.counts, &budget);
    }

    /// Where a client is, if it is here.
    pub fn contact(&self, client: ClientId) -> Option<ServerId> {
        self.seating.contact(client)
    }

    /// Servers with clients.
    pub fn servers_used(&self) -> usize {
        self.seating.in_use().len()
    }

    /// The session delay of those who are here.
    pub fn delay(&self) -> Delay {
        self.seating.delay()
    }

    /// What all changes together took.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The outcome once everybody of the instance has joined.
    pub fn outcome(&self) -> Option<Outcome> {
        let everybody = self.seating.instance().client_ids();
        let mut contacts = everybody.map(|client| self.seating.contact(client));
        let least = || least_cost(self.seating.instance());
        contacts
            .all(|contact| contact.is_some())
            .then(|| Outcome::seated(&self.seating, least(), self.counts))
    }

    /// The allocation once everybody of the instance has joined.
    pub fn allocation(&self) -> Option<Allocation> {
        self.outcome().and_then(|outcome| outcome.allocation)
    }
}

fn by_distance(seating: &Seating<'_>, client: ClientId) -> Vec<ServerId> {
    let instance = seating.instance();
    let reachable = |server: &ServerId| instance.access(client, *server).is_usable();
    let mut servers: Vec<ServerId> = instance.server_ids().filter(reachable).collect();
    servers.sort_by_key(|&server| (instance.access(client, server), server));
    servers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn figure_1_one_by_one_ends_at_the_core() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(6.0).unwrap();
        let mut gathering = Gathering::new(Zizo::default(), &instance, bound);
        for client in instance.client_ids() {
            gathering.join(client).unwrap();
        }
        assert_eq!(gathering.servers_used(), 1);
        assert_eq!(gathering.delay(), bound);
        let twice = gathering.join(ClientId::new(0));
        assert_eq!(twice, Err(JoinError::Present(ClientId::new(0))));
    }

    #[test]
    fn leaving_closes_what_is_empty() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(4.0).unwrap();
        let mut gathering = Gathering::new(Zizo::default(), &instance, bound);
        for client in instance.client_ids() {
            gathering.join(client).unwrap();
        }
        assert_eq!(gathering.servers_used(), 2);
        gathering.leave(ClientId::new(0));
        assert_eq!(gathering.servers_used(), 1);
        assert_eq!(gathering.outcome(), None);
    }

    #[test]
    fn who_cannot_join_disturbs_nobody() {
        let instance = samples::figure1();
        let bound = Delay::from_millis(3.0).unwrap();
        let mut gathering = Gathering::new(Zizo::default(), &instance, bound);
        gathering.join(ClientId::new(0)).unwrap();
        let seat = gathering.contact(ClientId::new(0));
        let refused = gathering.join(ClientId::new(1));
        assert_eq!(refused, Err(JoinError::BoundUnmet(ClientId::new(1))));
        assert_eq!(gathering.contact(ClientId::new(0)), seat);
    }
}
