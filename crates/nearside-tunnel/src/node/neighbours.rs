//! Measures neighbours by pings that only those answer whom the directory named, and answers theirs.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nearside_coords::Coordinate;
use nearside_detour::ClientId;
use nearside_detour::client::Client;
use nearside_types::{Moment, Rtt};
use nearside_wire::detour::{Frame, PING_BYTES};

use crate::crypto::PingKey;
use crate::link::Outgoing;
use crate::messages::{Neighbour, decode, encode};

#[derive(Debug, Default)]
pub(super) struct Neighbours {
    known: BTreeMap<ClientId, Known>,
    asked: BTreeMap<u64, Asked>,
}

#[derive(Debug)]
struct Known {
    address: SocketAddr,
    key: PingKey,
    nudged: Option<Moment>,
}

#[derive(Debug)]
struct Asked {
    id: ClientId,
    sent: Moment,
}

const PATIENCE: Duration = Duration::from_secs(2);
/// The directory is asked to open a neighbour's NAT at most this often.
const NUDGE_INTERVAL: Duration = Duration::from_secs(60);

/// What to do about a ping that was not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Its NAT may have forgotten us: ask for a nudge, and ping again.
    Nudge(ClientId),
    /// It is silent.
    Silent(ClientId),
}

impl Neighbours {
    pub(super) fn learn(&mut self, neighbour: &Neighbour) {
        let known = Known {
            address: neighbour.address,
            key: neighbour.key,
            nudged: None,
        };
        self.known.insert(neighbour.id, known);
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.asked.clear();
    }

    /// The ping to a neighbour.
    pub(super) fn ping(
        &mut self,
        now: Moment,
        own: ClientId,
        id: ClientId,
        nonce: u64,
    ) -> Option<Outgoing> {
        let known = self.known.get(&id)?;
        self.asked.insert(nonce, Asked { id, sent: now });
        let ping = Frame::Ping {
            from: own.0,
            nonce,
            tag: known.key.tag_ping(nonce),
        };
        Some(Outgoing {
            port: 0,
            to: known.address,
            bytes: ping.emit(),
        })
    }

    /// A neighbour answered: who, where it is, and how far.
    pub(super) fn handle_pong(
        &mut self,
        received: Moment,
        nonce: u64,
        tag: u64,
        place: &[u8],
    ) -> Option<(ClientId, Coordinate, Rtt)> {
        let asked = self.asked.get(&nonce)?;
        let known = self.known.get(&asked.id)?;
        if known.key.tag_pong(nonce, place) != tag {
            return None;
        }
        let place = decode(place).ok()?;
        let asked = self.asked.remove(&nonce)?;
        Some((
            asked.id,
            place,
            Rtt::from_duration(received.since(asked.sent)),
        ))
    }

    /// Those that did not answer in time.
    pub(super) fn silent(&mut self, now: Moment) -> Vec<Silence> {
        let late = |asked: &Asked| now.since(asked.sent) >= PATIENCE;
        let mut silent = Vec::new();
        for asked in self.asked.values().filter(|asked| late(asked)) {
            let Some(known) = self.known.get_mut(&asked.id) else {
                continue;
            };
            let nudge = known
                .nudged
                .is_none_or(|last| now.since(last) >= NUDGE_INTERVAL);
            silent.push(match nudge {
                true => {
                    known.nudged = Some(now);
                    Silence::Nudge(asked.id)
                }
                false => Silence::Silent(asked.id),
            });
        }
        self.asked.retain(|_, asked| !late(asked));
        silent
    }

    pub(super) fn next_time(&self) -> Option<Moment> {
        self.asked.values().map(|asked| asked.sent + PATIENCE).min()
    }
}

/// The answer to a ping, if the directory sent who asks: no longer than the question.
pub(super) fn pong(
    key: PingKey,
    client: &Client,
    (from, nonce, tag): (u64, u64, u64),
) -> Option<Vec<u8>> {
    let key = key.of(ClientId(from));
    if key.tag_ping(nonce) != tag {
        return None;
    }
    let place = encode(client.coordinate());
    let tag = key.tag_pong(nonce, &place);
    let place = &place;
    let pong = Frame::Pong { nonce, tag, place }.emit();
    (pong.len() <= PING_BYTES).then_some(pong)
}
