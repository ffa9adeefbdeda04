//! Servers in numbered slots, found by address. A slot's number takes four bytes where an address
//! takes twenty, so everything else in the registry speaks of numbers.

use std::hash::Hasher;
use std::net::IpAddr;

use hashbrown::HashTable;
use nearside_types::ServerAddr;
use siphasher::sip::SipHasher13;

use crate::cookie::Secret;
use crate::server::Server;
use crate::told::SocketId;

/// The number of a slot.
pub(crate) type SlotId = u32;

/// A server, and what the registry plans for it.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) server: Server,
    /// The expiry that was last told to the store, in seconds.
    pub(crate) told: u32,
    /// When to look at it again, in seconds; entries of the wheel for other seconds are stale.
    pub(crate) planned: u32,
    /// Which socket it was last heard on.
    pub(crate) via: Option<SocketId>,
}

/// The slots. They lie in chunks, so that growing never copies servers or doubles the memory.
#[derive(Debug)]
pub(crate) struct Slots {
    chunks: Vec<Vec<Option<Slot>>>,
    free: Vec<SlotId>,
    numbers: HashTable<SlotId>,
    /// Registered addresses are proven but freely chosen within a network: without a key, somebody
    /// could choose those that collide.
    key: Secret,
}

const CHUNK: usize = 1024;

impl Slots {
    pub(crate) fn new(key: Secret) -> Self {
        Self {
            chunks: Vec::new(),
            free: Vec::new(),
            numbers: HashTable::new(),
            key,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The slot of an address.
    pub(crate) fn find(&self, addr: ServerAddr) -> Option<SlotId> {
        let is_it = |id: &SlotId| self.get(*id).is_some_and(|slot| slot.server.addr == addr);
        self.numbers.find(hash(self.key, addr), is_it).copied()
    }

    pub(crate) fn get(&self, id: SlotId) -> Option<&Slot> {
        let (chunk, place) = split(id);
        self.chunks.get(chunk)?.get(place)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: SlotId) -> Option<&mut Slot> {
        let (chunk, place) = split(id);
        self.chunks.get_mut(chunk)?.get_mut(place)?.as_mut()
    }

    /// Puts a server that has no slot yet into one.
    pub(crate) fn insert(&mut self, server: Server) -> SlotId {
        let addr = server.addr;
        let slot = Some(Slot {
            server,
            told: 0,
            planned: 0,
            via: None,
        });
        let id = match self.free.pop() {
            Some(id) => {
                let (chunk, place) = split(id);
                self.chunks[chunk][place] = slot;
                id
            }
            None => self.append(slot),
        };
        let (key, chunks) = (self.key, &self.chunks);
        let hash_of = |id: &SlotId| {
            let (chunk, place) = split(*id);
            let slot = chunks[chunk][place].as_ref();
            hash(
                key,
                slot.expect("only taken slots are numbered").server.addr,
            )
        };
        self.numbers.insert_unique(hash(key, addr), id, hash_of);
        id
    }

    fn append(&mut self, slot: Option<Slot>) -> SlotId {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.len() - 1;
        let place = self.chunks[chunk].len();
        self.chunks[chunk].push(slot);
        SlotId::try_from(chunk * CHUNK + place).expect("fewer than four billion servers")
    }

    /// Empties a slot.
    pub(crate) fn remove(&mut self, id: SlotId) -> Option<Server> {
        let addr = self.get(id)?.server.addr;
        let found = self
            .numbers
            .find_entry(hash(self.key, addr), |known| *known == id);
        if let Ok(entry) = found {
            entry.remove();
        }
        let (chunk, place) = split(id);
        self.free.push(id);
        self.chunks[chunk][place].take().map(|slot| slot.server)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Server> {
        let slots = self.chunks.iter().flatten().flatten();
        slots.map(|slot| &slot.server)
    }
}

const fn split(id: SlotId) -> (usize, usize) {
    (id as usize / CHUNK, id as usize % CHUNK)
}

fn hash(key: Secret, addr: ServerAddr) -> u64 {
    let mut hasher = SipHasher13::new_with_key(&key.0);
    match addr.ip() {
        IpAddr::V4(ip) => hasher.write_u64(u64::from(ip.to_bits()) << 16 | u64::from(addr.port())),
        IpAddr::V6(ip) => {
            hasher.write(&ip.octets());
            hasher.write_u16(addr.port());
        }
    }
    hasher.finish()
}
