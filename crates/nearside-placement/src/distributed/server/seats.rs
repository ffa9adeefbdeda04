use std::collections::BTreeSet;

use crate::Delay;
use crate::distributed::message::{InUse, Members, Seats};

/// The leader's virtual state: who would sit where, at which version.
#[derive(Debug)]
pub(super) struct VirtualSeats {
    version: u32,
    contacts: Vec<Option<u16>>,
    guests: Vec<BTreeSet<(Delay, u16)>>,
}

impl VirtualSeats {
    pub(super) fn new(clients: usize, servers: usize) -> Self {
        Self {
            version: 0,
            contacts: vec![None; clients],
            guests: vec![BTreeSet::new(); servers],
        }
    }

    pub(super) const fn version(&self) -> u32 {
        self.version
    }

    pub(super) fn contact(&self, client: u16) -> Option<u16> {
        self.contacts[usize::from(client)]
    }

    pub(super) fn contacts(&self) -> &[Option<u16>] {
        &self.contacts
    }

    /// Seats a client, who leaves the seat it had. The state is another one then.
    pub(super) fn seat(&mut self, client: u16, server: u16, distance: Delay) {
        if let Some(left) = self.contacts[usize::from(client)].replace(server) {
            self.guests[usize::from(left)].retain(|&(_, guest)| guest != client);
        }
        self.guests[usize::from(server)].insert((distance, client));
        self.version += 1;
    }

    pub(super) fn in_use(&self) -> Members {
        self.guests
            .iter()
            .map(|guests| !guests.is_empty())
            .collect()
    }

    pub(super) fn load(&self, server: usize) -> usize {
        self.guests[server].len()
    }

    /// What servers need to judge a move.
    pub(super) fn snapshot(&self) -> Seats {
        let in_use = (0u16..).zip(&self.guests).filter_map(|(server, guests)| {
            let mut from_far = guests.iter().rev();
            let &(radius, farthest) = from_far.next()?;
            Some(InUse {
                server,
                load: u16::try_from(guests.len()).unwrap_or(u16::MAX),
                farthest,
                radius,
                second: from_far.next().map(|&(distance, _)| distance),
            })
        });
        Seats {
            version: self.version,
            in_use: in_use.collect(),
        }
    }
}
