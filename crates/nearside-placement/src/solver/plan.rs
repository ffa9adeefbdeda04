use super::Seating;
use super::exact::State;
use super::matching::Matching;
use super::model::{Model, Near};
use crate::{Cost, Delay, ServerId};

/// Radii for some servers that respect each other and serve everybody: a solution before anybody has
/// a seat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    radii: Vec<Option<Delay>>,
}

impl Plan {
    pub(crate) fn new(radii: Vec<Option<Delay>>) -> Self {
        Self { radii }
    }

    pub(crate) fn of(state: &State) -> Self {
        Self::new(state.floors().to_vec())
    }

    /// The radii that seats have.
    pub(crate) fn of_seating(seating: &Seating<'_>) -> Self {
        let ids = seating.instance().server_ids();
        Self::new(ids.map(|server| seating.radius(server)).collect())
    }

    pub(crate) fn radius(&self, server: usize) -> Option<Delay> {
        self.radii[server]
    }

    /// Servers that are open, ascending.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        let radii = self.radii.iter().enumerate();
        radii.filter_map(|(server, radius)| radius.map(|_| server))
    }

    pub(crate) fn cost(&self, model: &Model<'_>) -> Cost {
        self.open().map(|server| model.cost(server)).sum()
    }

    /// The network's part of the session delay, as far as the radii say.
    pub(crate) fn delay(&self, model: &Model<'_>) -> Delay {
        let open: Vec<(usize, Delay)> = self
            .open()
            .filter_map(|server| Some((server, self.radii[server]?)))
            .collect();
        let mut delay = Delay::ZERO;
        for (place, &(one, near)) in open.iter().enumerate() {
            for &(other, far) in &open[place..] {
                delay = delay.max(near + model.separations(one)[other] + far);
            }
        }
        delay
    }

    /// The same servers with radii no larger than they have to be; those that nobody needs, closed.
    pub(crate) fn shrunk(&self, model: &Model<'_>) -> Self {
        let mut radii = vec![None; self.radii.len()];
        for (client, server) in self.seats(model).into_iter().enumerate() {
            let distance = model.distance(client, server);
            radii[server] = radii[server].max(Some(distance));
        }
        Self { radii }
    }

    /// Gives every client of the instance a seat.
    pub(crate) fn seat<'i>(&self, model: &Model<'i>) -> Seating<'i> {
        if model.is_capacitated() {
            let mut seating = model.seating();
            for (client, server) in self.seats(model).into_iter().enumerate() {
                seating.seat(model.client(client), ServerId::new(server));
            }
            return seating;
        }
        self.seat_everybody(model)
    }

    /// A server for each client of the model: the nearest whose radius includes it, or with
    /// capacities a place by matching.
    ///
    /// # Panics
    /// When the radii do not serve everybody.
    fn seats(&self, model: &Model<'_>) -> Vec<usize> {
        if !model.is_capacitated() {
            let nearest = |client| {
                let mut near = model.servers_near(client).iter();
                let seat = near.find(|near| self.includes(**near));
                seat.expect("the radii serve everybody").index()
            };
            return (0..model.clients()).map(nearest).collect();
        }
        let mut matching = Matching::new(model);
        for client in 0..model.clients() {
            let seated = matching.seat(model, client, |near| self.includes(near));
            seated.expect("the radii serve everybody");
        }
        let seat = |client| matching.server_of(client).expect("everybody was seated");
        (0..model.clients()).map(seat).collect()
    }

    fn includes(&self, near: Near) -> bool {
        self.radii[near.index()].is_some_and(|radius| near.distance <= radius)
    }

    /// Dominated clients are within the radii too, wherever those who dominate them are.
    fn seat_everybody<'i>(&self, model: &Model<'i>) -> Seating<'i> {
        let open: Vec<usize> = self.open().collect();
        let mut seating = model.seating();
        let instance = seating.instance();
        for &client in model.everybody() {
            let row = instance.access_row(client);
            let within = open
                .iter()
                .filter(|&&server| Some(row[server]) <= self.radii[server]);
            let nearest = within.min_by_key(|&&server| (row[server], server));
            let &server = nearest.expect("the radii serve everybody");
            seating.seat(client, ServerId::new(server));
        }
        seating
    }
}
