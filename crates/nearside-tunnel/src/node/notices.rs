//! What the directory tells a node, and what the node reports to it.

use std::net::SocketAddr;
use std::time::Duration;

use nearside_detour::client::{self, Client};
use nearside_detour::directory::{self, Peer, Report};
use nearside_types::{Moment, ServerAddr};
use nearside_wire::detour::Frame;

use crate::crypto::TicketKey;
use crate::link::Outgoing;
use crate::messages::{Ask, Join, Measured, Neighbour, Notice, Refusal, Tell, Welcome};
use crate::vouched::Authority;

use super::desk::{Door, Word};
use super::neighbours::Silence;
use super::{Event, FEW_NEIGHBOURS, Joined, MOST_PUNCHES, Node, Output, REJOIN_INTERVAL};

impl Node {
    pub(super) fn handle_word(&mut self, now: Moment, from: SocketAddr, word: Option<Word>) {
        match word {
            Some(Word::Connected) => self.join(now),
            Some(Word::Told(notice, asked)) => {
                self.lost = false;
                if notice.number != 0
                    && let Some(outgoing) = self.desk.confirm(notice.number, from)
                {
                    self.out.push_back(Output::Send(outgoing));
                }
                self.told(now, *notice, asked);
            }
            None => {}
        }
    }

    /// The directory says that it has begun anew. An old word of that kind is from before it took us in.
    pub(super) fn handle_anew(&mut self, now: Moment, from: SocketAddr, wall_ms: u64, tag: u64) {
        let is_new = |joined: &Joined| {
            let taken_in = joined.wall.0.as_millis();
            joined.ping_key.tag_anew(wall_ms) == tag && u128::from(wall_ms) > taken_in
        };
        let is_true = self.joined.as_ref().is_some_and(is_new);
        if is_true && self.desk.is_up() && self.desk.is_from_directory(from) {
            self.desk.call_back(now);
        }
    }

    pub(super) fn join(&mut self, now: Moment) {
        let join = Join {
            token: self.config.token.clone(),
            relaying: self.config.relaying,
            local: self.config.local.clone(),
            exposes: self.config.exposes,
            exits: self.config.exits.clone(),
        };
        self.desk.ask(now, Ask::Join(join));
    }

    pub(super) fn told(&mut self, now: Moment, notice: Notice, asked: Option<Ask>) {
        match notice.tell {
            Tell::Welcome(welcome) => self.welcomed(now, welcome),
            Tell::Observed(address) => self.observed(now, address, asked.is_some()),
            Tell::Done => {}
            Tell::Refused(refusal) => self.refused(now, refusal, asked),
            Tell::Found(found) => {
                if let Some(Ask::Find(game)) = asked {
                    let event = Event::Found(game, Some(found));
                    self.out.push_back(Output::Event(event));
                }
            }
            Tell::Introduce(intro) => self.peers.introduce(now, intro),
            Tell::Relays { session, relays } => self.peers.offer(now, session, relays),
            Tell::Expect { players, pass } => {
                let punch = Frame::Punch { pass }.emit();
                let punches = players.into_iter().take(MOST_PUNCHES).map(|to| Outgoing {
                    port: 0,
                    to,
                    bytes: punch.clone(),
                });
                self.out.extend(punches.map(Output::Send));
            }
            Tell::Witness(neighbour) => self.witness(now, &neighbour),
            // Whoever will answer does not have these keys: shake hands anew, elsewhere if possible.
            Tell::Rejoin => self.desk.call_again(now),
        }
    }

    pub(super) fn welcomed(&mut self, now: Moment, welcome: Welcome) {
        self.neighbours.clear();
        self.load.forget();
        let peer = |neighbour: &Neighbour| {
            let address = ServerAddr::from_socket(neighbour.address)?;
            Some(Peer {
                id: neighbour.id,
                address,
            })
        };
        let engine = directory::Welcome {
            neighbours: welcome.neighbours.iter().filter_map(peer).collect(),
            start: welcome
                .start
                .filter(|start| start.dimensions() == self.config.client.vivaldi.dimensions),
        };
        for neighbour in &welcome.neighbours {
            self.neighbours.learn(neighbour);
        }
        let wall = (Duration::from_millis(welcome.wall_ms), now);
        self.peers.set_authority(Authority {
            key: welcome.ping_key,
            clock: wall,
        });
        let client = match self.joined.take() {
            Some(before) => {
                let mut client = before.client;
                client.join_again(engine, now);
                client
            }
            None => {
                let seed = self.chance.number();
                Client::new(self.config.client.clone(), engine, seed, now)
            }
        };
        self.joined = Some(Joined {
            client,
            observed: welcome.observed,
            second_port: welcome.second_port,
            observed_second: None,
            observed_other: None,
            ping_key: welcome.ping_key,
            wall,
            at: now,
        });
        if let Some((relay, key)) = self.relay.as_mut().zip(welcome.ticket_key) {
            relay.set_ticket_key(TicketKey::new(&key));
        }
        if let Some(port) = welcome.second_port {
            self.desk.ask_at(now, Ask::Observe, Door::Second(port));
        }
        if self.desk.has_other_family() {
            self.desk.ask_at(now, Ask::Observe, Door::OtherFamily);
        }
        self.out
            .push_back(Output::Event(Event::Joined(welcome.observed)));
    }

    /// The directory saw us at an address; asked for, it was on its second port.
    pub(super) fn observed(&mut self, now: Moment, address: SocketAddr, on_second: bool) {
        let Some(joined) = &mut self.joined else {
            return;
        };
        if address.is_ipv4() != joined.observed.is_ipv4() {
            joined.observed_other = Some(address);
            return;
        }
        match on_second {
            true => joined.observed_second = Some(address),
            false if joined.observed == address => return,
            false => {
                // Another mapping: what the second port saw was of the one before.
                joined.observed = address;
                joined.observed_second = None;
                if let Some(port) = joined.second_port {
                    self.desk.ask_at(now, Ask::Observe, Door::Second(port));
                }
                return;
            }
        }
        if joined.is_symmetric() {
            self.out.push_back(Output::Event(Event::SymmetricNat));
        }
    }

    pub(super) fn refused(&mut self, now: Moment, refusal: Refusal, asked: Option<Ask>) {
        let event = match (refusal, asked) {
            (Refusal::NotJoined, asked) => {
                self.join(now);
                // What was asked meanwhile is asked again behind the new join.
                if let Some(ask) = asked.filter(Ask::outlives) {
                    self.desk.ask(now + Duration::from_secs(1), ask);
                }
                return;
            }
            (Refusal::TooMany, Some(ask)) => {
                self.desk.ask(now + Duration::from_secs(2), ask);
                return;
            }
            (_, Some(Ask::Find(game))) => Event::Found(game, None),
            (_, Some(Ask::Connect(peer))) => Event::Unreachable(peer),
            (refusal, Some(Ask::Join(_))) => Event::Refused(refusal),
            _ => return,
        };
        self.out.push_back(Output::Event(event));
    }

    pub(super) fn witness(&mut self, now: Moment, neighbour: &Neighbour) {
        let Some(joined) = &mut self.joined else {
            return;
        };
        if let Some(address) = ServerAddr::from_socket(neighbour.address) {
            self.neighbours.learn(neighbour);
            let id = neighbour.id;
            joined.client.handle_neighbour(now, Peer { id, address });
        }
    }

    pub(super) fn poll_client(&mut self, now: Moment) {
        for silence in self.neighbours.silent(now) {
            let Some(joined) = &mut self.joined else {
                return;
            };
            match silence {
                Silence::Nudge(id) => {
                    self.desk.ask(now, Ask::Nudge(id));
                    joined.client.handle_silence(now, id);
                }
                Silence::Silent(id) => joined.client.handle_silence(now, id),
            }
        }
        loop {
            let Some(joined) = &mut self.joined else {
                return;
            };
            match joined.client.poll_output(now) {
                client::Output::Probe(peer) => {
                    let nonce = self.chance.number();
                    let ping = self.neighbours.ping(now, self.own.id(), peer.id, nonce);
                    match ping {
                        Some(ping) => self.out.push_back(Output::Send(ping)),
                        None => joined.client.handle_silence(now, peer.id),
                    }
                }
                client::Output::Report(report) => {
                    let measured = self.measured(now, report);
                    self.desk.ask(now, Ask::Report(measured));
                }
                client::Output::Wait(_) => break,
            }
        }
        self.rejoin_for_neighbours(now);
    }

    pub(super) fn measured(&mut self, now: Moment, report: Report) -> Measured {
        Measured {
            coordinate: report.coordinate,
            legs: report.legs,
            overloaded: self.load_to_tell(now),
        }
    }

    pub(super) fn rejoin_for_neighbours(&mut self, now: Moment) {
        let Some(joined) = &mut self.joined else {
            return;
        };
        let lonely = joined.client.neighbours() < FEW_NEIGHBOURS;
        if lonely && now.since(joined.at) >= REJOIN_INTERVAL {
            joined.at = now;
            self.join(now);
        }
    }
}
