//! How clients come and go, and where they are.

use std::net::SocketAddr;

use nearside_detour::ClientId;
use nearside_detour::directory::{self, Newcomer, Peer, Relaying};
use nearside_types::{AddrClass, ServerAddr};

use super::client::Joined;
use super::whereabouts::Nat;
use super::{Event, Service, notice};
use crate::crypto::{PingKey, TicketKey};
use crate::messages::{Join, Neighbour, Refusal, Tell, Welcome};

impl Service {
    pub(super) fn join(&mut self, id: ClientId, join: Join) -> Result<Tell, Refusal> {
        let address = self.address(id).ok_or(Refusal::NotJoined)?;
        if let Err(refusal) = self.admit(id, &join) {
            self.event(Event::Refused {
                id,
                address,
                refusal,
            });
            return Err(refusal);
        }
        let client = self.clients.get_mut(&id).ok_or(Refusal::NotJoined)?;
        client.joined = Some(Joined::new(join));
        self.cards.remove(&id);
        client.named.clear();
        self.links.set_joined(client.link);
        self.stand_beside(id);
        let newcomer = self.newcomer(id).ok_or(Refusal::NotJoined)?;
        let relays = newcomer.relaying != Relaying::No;
        let welcome = self.directory.join_again(self.clock.now, newcomer);
        self.directory.set_paused(id, self.is_paused(id));
        self.show(id);
        self.counts.joined += 1;
        self.event(Event::Joined {
            id,
            address,
            relays,
        });
        Ok(self.welcome(id, address, welcome))
    }

    /// Whether a client may join as what it wants to be.
    fn admit(&self, id: ClientId, join: &Join) -> Result<(), Refusal> {
        let rights = self.config.admission.rights(join.token.as_deref());
        let rights = rights.ok_or(Refusal::Token)?;
        if join.relaying.is_some() && !rights.relay {
            return Err(Refusal::RelayToken);
        }
        if !join.exits.is_empty() && !rights.exit {
            return Err(Refusal::ExitToken);
        }
        let state = self.directory.state();
        if state.node(id).is_some() {
            return Ok(());
        }
        let prefix = self
            .clients
            .get(&id)
            .map(|c| self.prefix(c.whereabouts.main()));
        let near = prefix.map_or(0, |prefix| self.crowd.of(prefix));
        match state.len() < self.config.most_clients && near < self.config.most_per_prefix {
            true => Ok(()),
            false => Err(Refusal::Full),
        }
    }

    /// As many neighbours as fit into one datagram; the NATs of those are opened.
    fn welcome(
        &mut self,
        id: ClientId,
        observed: SocketAddr,
        welcome: nearside_detour::directory::Welcome,
    ) -> Tell {
        let relays = self.clients.get(&id).and_then(|c| c.joined.as_ref());
        let relays = relays.is_some_and(|joined| joined.capacity.is_some());
        let neighbours = welcome.neighbours.iter();
        let mut answer = Welcome {
            observed,
            second_port: self.config.second_port,
            neighbours: neighbours.map(|peer| self.neighbour(id, peer)).collect(),
            start: welcome.start,
            ping_key: self.ping_key(id),
            ticket_key: relays.then(|| self.ticket_secret(id)),
            wall_ms: u64::try_from(self.clock.wall.as_millis()).unwrap_or(u64::MAX),
        };
        while !notice::fits(&Tell::Welcome(answer.clone())) && answer.neighbours.pop().is_some() {}
        for neighbour in &answer.neighbours {
            self.let_in(neighbour.id, &[id]);
        }
        Tell::Welcome(answer)
    }

    /// A neighbour as told to one who is to measure it.
    pub(super) fn neighbour(&mut self, asker: ClientId, peer: &Peer) -> Neighbour {
        if let Some(client) = self.clients.get_mut(&asker) {
            client.name(peer.id);
        }
        Neighbour {
            id: peer.id,
            address: peer.address.socket(),
            key: self.ping_key(peer.id).of(asker),
        }
    }

    /// Has a client open its NAT for others, or the firewall that it has without one.
    pub(super) fn let_in(&mut self, id: ClientId, others: &[ClientId]) {
        let Some(card) = self.card(id) else {
            return;
        };
        let others = others.iter().filter_map(|other| self.card(*other));
        let players: Vec<SocketAddr> = others
            .filter_map(|other| other.towards(card.main))
            .collect();
        let pass = self.chance.bytes();
        if !players.is_empty() {
            self.tell(id, Tell::Expect { players, pass });
        }
    }

    /// A client says goodbye.
    pub(super) fn goodbye(&mut self, id: ClientId) {
        let joined = self.directory.state().node(id).is_some();
        self.directory.leave(id);
        if joined {
            self.depart(id, true);
        } else if let Some(client) = self.clients.remove(&id) {
            self.links.remove(client.link);
        }
    }

    /// Forgets one who has left the directory.
    pub(super) fn depart(&mut self, id: ClientId, goodbye: bool) {
        self.end_sessions_of(id);
        self.crowd.remove(id);
        self.beside.remove(id);
        self.cards.remove(&id);
        if let Some(client) = self.clients.remove(&id) {
            self.links.remove(client.link);
        }
        self.counts.left += 1;
        self.event(Event::Left { id, goodbye });
    }

    /// Another directory speaks of a client.
    pub(super) fn hear_of_client(&mut self, change: &directory::Change) {
        // What is ours comes first: it is not to be taken for the other's.
        self.collect_changes();
        match change {
            directory::Change::Joined { client, .. }
            | directory::Change::Altered { client, .. } => {
                let prefix = client.address.prefix(self.config.prefixes);
                self.let_go(client.id);
                self.crowd.add(client.id, prefix);
            }
            directory::Change::Left { id } if self.clients.contains_key(id) => {
                // It is here, and silent only there: the store shall know.
                return self.alter(*id);
            }
            directory::Change::Left { id } => {
                self.crowd.remove(*id);
                self.beside.remove(*id);
                self.cards.remove(id);
            }
            _ => {}
        }
        self.directory.hear(change);
    }

    /// A client is connected elsewhere.
    pub(super) fn let_go(&mut self, id: ClientId) {
        self.beside.remove(id);
        if let Some(client) = self.clients.remove(&id) {
            self.links.remove(client.link);
        }
    }

    /// A client is seen at another address.
    pub(super) fn moved(&mut self, id: ClientId, from: SocketAddr) {
        let Some(to) = self.address(id).filter(|to| *to != from) else {
            return;
        };
        self.stand_beside(id);
        self.alter(id);
        self.counts.moved += 1;
        self.event(Event::Moved { id, from, to });
        self.tell(id, Tell::Observed(to));
    }

    /// What a client's NAT does is news: behind a symmetric one it cannot relay.
    pub(super) fn nat_is_known(&mut self, id: ClientId) {
        let nat = self.clients.get(&id).map(|c| c.whereabouts.nat());
        let nat = nat.unwrap_or_default();
        self.alter(id);
        self.event(Event::Nat { id, nat });
    }

    pub(super) fn alter(&mut self, id: ClientId) {
        if let Some(newcomer) = self.newcomer(id) {
            self.directory.alter(self.clock.now, newcomer);
            self.show(id);
        }
    }

    /// A client as the directory is to know it; `None` before it joins.
    fn newcomer(&self, id: ClientId) -> Option<Newcomer> {
        let client = self.clients.get(&id)?;
        let joined = client.joined.as_ref()?;
        let address = client.whereabouts.main().address;
        let relaying = match joined.capacity {
            Some(capacity) if client.whereabouts.nat() != Nat::Symmetric => {
                Relaying::AtMost(capacity.sessions)
            }
            _ => Relaying::No,
        };
        Some(Newcomer {
            id,
            address: ServerAddr::from_socket(address)?,
            origin: (self.origin_of)(address.ip()),
            relaying,
        })
    }

    /// Where a client is seen.
    pub(super) fn address(&self, id: ClientId) -> Option<SocketAddr> {
        let client = self.clients.get(&id)?;
        Some(client.whereabouts.main().address)
    }

    /// Keys hang on the directory's identity and the client's number alone, so that pings and tickets
    /// outlive a restart.
    pub(super) fn ping_key(&self, id: ClientId) -> PingKey {
        let secret = self.identity.derive(&label(b"ping", id));
        PingKey(*secret.first_chunk().expect("32 bytes have 16"))
    }

    fn ticket_secret(&self, id: ClientId) -> [u8; 32] {
        self.identity.derive(&label(b"tick", id))
    }

    pub(super) fn ticket_key(&self, relay: ClientId) -> TicketKey {
        TicketKey::new(&self.ticket_secret(relay))
    }
}

fn label(what: &[u8; 4], id: ClientId) -> Vec<u8> {
    [what.as_slice(), &id.0.to_be_bytes()].concat()
}

/// Whether an address that a client says it has in its own network may be told to others there. One of
/// the open Internet could be anybody's, and hellos would be sent to it.
pub(super) fn is_local(address: &SocketAddr) -> bool {
    let class = AddrClass::of(address.ip());
    address.port() != 0 && matches!(class, AddrClass::Local | AddrClass::Loopback)
}
