//! All sockets of a player's thread in one row, as waiting wants them.

use std::net::SocketAddr;

use nearside_net::{MonotonicClock, NetError, Stop, UdpPort, Watch};
use nearside_types::Moment;

use crate::games::Guest;

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Wakes the loop for orders.
    Bell,
    /// Speaks to the world; number 0 is the one everybody knows.
    World(u8),
    /// Games connect to it.
    Listen,
    /// Speaks plainly to the game server for a game on this machine.
    Plain(u16),
    /// Speaks to the game server for a player elsewhere.
    Beside(Guest, u16),
}

/// One socket.
#[derive(Debug)]
pub(crate) struct Slot {
    /// What its watch calls it; later ones have higher numbers.
    name: u64,
    pub(crate) usage: Use,
    pub(crate) port: UdpPort,
}

/// The row.
#[derive(Debug)]
pub(crate) struct Ports {
    slots: Vec<Slot>,
    watch: Watch,
    next_name: u64,
}

impl Ports {
    pub(crate) fn new(stop: &Stop) -> Result<Self, NetError> {
        Ok(Self {
            slots: Vec::new(),
            watch: Watch::new(stop)?,
            next_name: 0,
        })
    }

    pub(crate) fn add(&mut self, usage: Use, port: UdpPort) -> Result<(), NetError> {
        let name = self.next_name;
        self.watch.add(&port, name)?;
        self.next_name += 1;
        self.slots.push(Slot { name, usage, port });
        Ok(())
    }

    /// Sleeps until a socket has something, or the moment has come; `ready` are the names of those that
    /// have.
    pub(crate) fn wait(
        &self,
        stop: &Stop,
        until: Moment,
        clock: &MonotonicClock,
        ready: &mut Vec<u64>,
    ) -> Result<(), NetError> {
        let row = self.slots.iter().map(|slot| (slot.name, &slot.port));
        self.watch.wait(row, stop, Some(until), clock, ready)
    }

    /// Where in the row a name is.
    pub(crate) fn named(&self, name: u64) -> Option<usize> {
        let place = self.slots.binary_search_by_key(&name, |slot| slot.name);
        place.ok()
    }

    pub(crate) fn at(&mut self, index: usize) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    pub(crate) fn of(&self, usage: Use) -> Option<&UdpPort> {
        let slot = self.slots.get(self.place(usage)?)?;
        Some(&slot.port)
    }

    /// Where in the row the socket for something is.
    pub(crate) fn place(&self, usage: Use) -> Option<usize> {
        self.slots.iter().position(|slot| slot.usage == usage)
    }

    /// The socket to the world with this number, of the destination's family.
    pub(crate) fn world(&self, number: u8, to: SocketAddr) -> Option<&UdpPort> {
        let slot = self.slots.get(self.place_in_world(number, to)?)?;
        Some(&slot.port)
    }

    /// Where in the row that one is.
    pub(crate) fn place_in_world(&self, number: u8, to: SocketAddr) -> Option<usize> {
        let fits = |slot: &Slot| {
            let same_family = slot.port.local_addr().is_ipv4() == to.is_ipv4();
            slot.usage == Use::World(number) && same_family
        };
        self.slots.iter().position(fits)
    }

    /// Closes the sockets that are of no use any more.
    pub(crate) fn retain(&mut self, keep: impl Fn(Use) -> bool) {
        self.slots.retain(|slot| keep(slot.usage));
    }
}
