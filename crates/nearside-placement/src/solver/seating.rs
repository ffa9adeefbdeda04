use std::collections::BTreeSet;

use crate::{Allocation, ClientId, Cost, Delay, Instance, ServerId};

/// Clients at servers, with the radius of each server at hand. The short form of the session delay
/// makes a probe cheap: with r_j the distance of j's farthest client,
/// D_s = max over servers j, k in use (j = k included) of r_j + d_s(j,k) + r_k.
#[derive(Debug, Clone)]
pub(crate) struct Seating<'i> {
    instance: &'i Instance,
    limit: Delay,
    contact: Vec<Option<ServerId>>,
    guests: Vec<BTreeSet<(Delay, ClientId)>>,
    /// Servers with guests, ascending.
    in_use: Vec<ServerId>,
}

impl<'i> Seating<'i> {
    /// Nobody has a seat yet.
    pub(crate) fn empty(instance: &'i Instance, bound: Delay) -> Self {
        Self {
            instance,
            limit: instance.network_budget(bound),
            contact: vec![None; instance.clients().len()],
            guests: vec![BTreeSet::new(); instance.servers().len()],
            in_use: Vec::new(),
        }
    }

    /// Everybody where an allocation says.
    pub(crate) fn of(instance: &'i Instance, bound: Delay, allocation: &Allocation) -> Self {
        let mut seating = Self::empty(instance, bound);
        for client in instance.client_ids() {
            seating.seat(client, allocation.server_of(client));
        }
        seating
    }

    /// Some where they are, others nowhere.
    pub(crate) fn partial(
        instance: &'i Instance,
        bound: Delay,
        contacts: &[Option<ServerId>],
    ) -> Self {
        let mut seating = Self::empty(instance, bound);
        for (client, contact) in instance.client_ids().zip(contacts) {
            contact.inspect(|&server| seating.seat(client, server));
        }
        seating
    }

    pub(crate) const fn instance(&self) -> &'i Instance {
        self.instance
    }

    pub(crate) fn contact(&self, client: ClientId) -> Option<ServerId> {
        self.contact[client.index()]
    }

    pub(crate) fn contacts(&self) -> &[Option<ServerId>] {
        &self.contact
    }

    pub(crate) fn in_use(&self) -> &[ServerId] {
        &self.in_use
    }

    pub(crate) fn load(&self, server: ServerId) -> usize {
        self.guests[server.index()].len()
    }

    /// The clients of a server, near ones first.
    pub(crate) fn guests(&self, server: ServerId) -> impl DoubleEndedIterator<Item = ClientId> {
        self.guests[server.index()]
            .iter()
            .map(|&(_, client)| client)
    }

    /// The distance of a server's farthest client; `None` for a server that is not in use.
    pub(crate) fn radius(&self, server: ServerId) -> Option<Delay> {
        let guests = &self.guests[server.index()];
        guests.last().map(|&(distance, _)| distance)
    }

    pub(crate) fn has_place(&self, server: ServerId) -> bool {
        let places = self.instance.servers()[server.index()].places(usize::MAX);
        self.load(server) < places
    }

    /// Seats a client, who leaves the seat it may have had.
    pub(crate) fn seat(&mut self, client: ClientId, server: ServerId) {
        self.unseat(client);
        let guests = &mut self.guests[server.index()];
        guests.insert((self.instance.access(client, server), client));
        if guests.len() == 1 {
            let place = self.in_use.partition_point(|&other| other < server);
            self.in_use.insert(place, server);
        }
        self.contact[client.index()] = Some(server);
    }

    pub(crate) fn unseat(&mut self, client: ClientId) {
        let Some(server) = self.contact[client.index()].take() else {
            return;
        };
        let guests = &mut self.guests[server.index()];
        guests.remove(&(self.instance.access(client, server), client));
        if guests.is_empty() {
            self.in_use.retain(|&other| other != server);
        }
    }

    /// A probe: would the bound hold if the client sat there? Assumes that it holds now, so only
    /// pairs with the new server need a look.
    pub(crate) fn keeps_bound(&self, client: ClientId, server: ServerId) -> bool {
        let distance = self.instance.access(client, server);
        let radius = self.radius(server).map_or(distance, |r| r.max(distance));
        if radius + radius > self.limit {
            return false;
        }
        self.in_use.iter().all(|&other| {
            let fits = |r: Delay| radius + self.separation(server, other) + r <= self.limit;
            other == server || self.radius_without(other, client).is_none_or(fits)
        })
    }

    /// The radius of a server if `leaving` were not there.
    pub(crate) fn radius_without(&self, server: ServerId, leaving: ClientId) -> Option<Delay> {
        let mut farthest = self.guests[server.index()].iter().rev();
        farthest
            .find(|&&(_, client)| client != leaving)
            .map(|&(distance, _)| distance)
    }

    fn separation(&self, one: ServerId, other: ServerId) -> Delay {
        self.instance.separation(one, other)
    }

    /// The network's part of the session delay.
    pub(crate) fn network_delay(&self) -> Delay {
        let radii: Vec<(ServerId, Delay)> = self
            .in_use
            .iter()
            .filter_map(|&server| Some((server, self.radius(server)?)))
            .collect();
        let mut delay = Delay::ZERO;
        for (place, &(one, near)) in radii.iter().enumerate() {
            for &(other, far) in &radii[place..] {
                delay = delay.max(near + self.separation(one, other) + far);
            }
        }
        delay
    }

    /// The session delay, processing included.
    pub(crate) fn delay(&self) -> Delay {
        self.network_delay() + self.instance.processing()
    }

    pub(crate) fn holds(&self) -> bool {
        self.network_delay() <= self.limit
    }

    pub(crate) fn cost(&self) -> Cost {
        let price = |server: &ServerId| self.instance.servers()[server.index()].cost;
        self.in_use.iter().map(price).sum()
    }

    /// The seats as an allocation.
    ///
    /// # Panics
    /// While somebody has no seat.
    pub(crate) fn allocation(&self) -> Allocation {
        let seated = |contact: &Option<ServerId>| contact.expect("everybody has a seat");
        Allocation::new(self.contact.iter().map(seated).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn seating(instance: &Instance, contacts: [usize; 2]) -> Seating<'_> {
        let allocation = Allocation::new(contacts.map(ServerId::new).to_vec());
        Seating::of(instance, Delay::from_millis(6.0).unwrap(), &allocation)
    }

    #[test]
    fn the_short_form_gives_figure_1() {
        let instance = samples::figure1();
        for (contacts, delay) in [([0, 0], 10.0), ([1, 1], 6.0), ([0, 2], 4.0)] {
            assert_eq!(seating(&instance, contacts).delay().as_millis(), delay);
        }
    }

    #[test]
    fn a_probe_foresees_what_the_move_brings() {
        let instance = samples::figure1();
        for from in [[0, 2], [1, 1], [0, 1], [1, 2]] {
            let before = seating(&instance, from);
            assert!(before.holds(), "{from:?}");
            for client in instance.client_ids() {
                for server in instance.server_ids() {
                    let mut after = before.clone();
                    after.seat(client, server);
                    assert_eq!(before.keeps_bound(client, server), after.holds());
                }
            }
        }
    }

    #[test]
    fn a_server_without_guests_is_not_in_use() {
        let instance = samples::figure1();
        let mut seating = seating(&instance, [0, 2]);
        seating.seat(ClientId::new(1), ServerId::new(0));
        assert_eq!(seating.in_use(), [ServerId::new(0)]);
        seating.unseat(ClientId::new(0));
        seating.unseat(ClientId::new(1));
        assert!(seating.in_use().is_empty());
    }
}
