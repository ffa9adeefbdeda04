//! A directory that begins anew from its store has its clients' addresses and no keys. It calls them, so
//! that they shake hands at once and not only when a request of theirs has remained unanswered.

use std::collections::VecDeque;

use nearside_detour::ClientId;
use nearside_wire::detour::Frame;

use super::Service;
use super::whereabouts::Place;

/// Those that are still to be called.
#[derive(Debug, Default)]
pub(super) struct Calls {
    now: VecDeque<ClientId>,
    again: VecDeque<ClientId>,
    rounds: u8,
}

/// A call may get lost.
const ROUNDS: u8 = 3;
/// Calls each second: half of the handshakes that a directory answers by default.
const EACH_SECOND: usize = 500;

impl Calls {
    pub(super) fn to(clients: impl Iterator<Item = ClientId>) -> Self {
        Self {
            now: clients.collect(),
            again: VecDeque::new(),
            rounds: ROUNDS,
        }
    }

    /// Those to call within this second.
    fn due(&mut self) -> Vec<ClientId> {
        if self.now.is_empty() && self.rounds > 1 {
            self.rounds -= 1;
            self.now = std::mem::take(&mut self.again);
        }
        let due: Vec<ClientId> = self.now.drain(..EACH_SECOND.min(self.now.len())).collect();
        self.again.extend(&due);
        due
    }
}

impl Service {
    /// Calls clients of the life before that have not come back. Where several directories share a store
    /// nobody is called: most are connected to another one.
    pub(super) fn call_clients(&mut self) {
        for id in self.calls.due() {
            let state = self.directory.state();
            let member = state.node(id).and_then(|node| state.member(node));
            let address = member.map(|member| member.client.address.socket());
            if self.shared || self.clients.contains_key(&id) {
                continue;
            }
            if let Some(address) = address {
                let wall_ms = u64::try_from(self.clock.wall.as_millis()).unwrap_or(u64::MAX);
                let tag = self.ping_key(id).tag_anew(wall_ms);
                let place = Place { port: 0, address };
                self.send(place, Frame::Anew { wall_ms, tag }.emit());
            }
        }
    }
}
