use super::GreedyMove;
use crate::solver::Seating;
use crate::{ClientId, Delay, ServerId};

/// How things are before a server is added.
pub(super) struct Now {
    delay: Delay,
    /// Each client's distance to its present server.
    distances: Vec<Delay>,
}

impl Now {
    pub(super) fn of(seating: &Seating<'_>) -> Self {
        let instance = seating.instance();
        let distance = |client| {
            let server = seating.contact(client).expect("everybody was seated");
            instance.access(client, server)
        };
        Self {
            delay: seating.network_delay(),
            distances: instance.client_ids().map(distance).collect(),
        }
    }
}

/// One server added on trial: who would connect to it, and the session delay that results. All
/// clients decide at once, on the present allocation.
pub(super) struct Trial {
    pub(super) movers: Vec<ClientId>,
    pub(super) delay: Delay,
}

impl Trial {
    /// `column` has the distances of all clients to the added server.
    pub(super) fn new(
        seating: &Seating<'_>,
        added: ServerId,
        column: &[Delay],
        now: &Now,
        moves: GreedyMove,
    ) -> Self {
        let reach = match moves {
            GreedyMove::DelayDoesNotRise => harmless_radius(seating, added, now.delay),
            GreedyMove::Closer => Delay::LONGEST,
        };
        let places = seating.instance().servers()[added.index()].places(usize::MAX);
        let movers: Vec<ClientId> = column
            .iter()
            .zip(&now.distances)
            .enumerate()
            .filter(|&(_, (&there, &here))| there < here && there <= reach)
            .map(|(client, _)| ClientId::new(client))
            .take(places)
            .collect();
        let delay = delay_after(seating, added, column, &movers);
        Self { movers, delay }
    }
}

/// The largest radius of the added server that does not raise the session delay.
fn harmless_radius(seating: &Seating<'_>, added: ServerId, delay: Delay) -> Delay {
    let instance = seating.instance();
    let caps = seating.in_use().iter().filter_map(|&other| {
        let radius = seating.radius(other)?;
        Some(delay - instance.separation(added, other) - radius)
    });
    caps.fold(delay.half(), Delay::min)
}

/// The session delay once the movers sit at the added server.
fn delay_after(
    seating: &Seating<'_>,
    added: ServerId,
    column: &[Delay],
    movers: &[ClientId],
) -> Delay {
    let instance = seating.instance();
    let mut moved = vec![false; column.len()];
    for mover in movers {
        moved[mover.index()] = true;
    }
    let remaining = seating.in_use().iter().filter_map(|&server| {
        let mut from_far = seating.guests(server).rev();
        let farthest = from_far.find(|guest| !moved[guest.index()])?;
        Some((server, instance.access(farthest, server)))
    });
    let farthest_mover = movers.iter().map(|mover| column[mover.index()]).max();
    let newcomer = farthest_mover.map(|radius| (added, radius));
    let radii: Vec<(ServerId, Delay)> = remaining.chain(newcomer).collect();
    slowest_pair(seating, &radii)
}

fn slowest_pair(seating: &Seating<'_>, radii: &[(ServerId, Delay)]) -> Delay {
    let instance = seating.instance();
    let mut slowest = Delay::ZERO;
    for (place, &(one, near)) in radii.iter().enumerate() {
        for &(other, far) in &radii[place..] {
            slowest = slowest.max(near + instance.separation(one, other) + far);
        }
    }
    slowest
}
