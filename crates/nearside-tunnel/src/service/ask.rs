//! What clients ask, one by one.

use nearside_detour::ClientId;
use nearside_detour::directory::Report;

use super::Service;
use super::whereabouts::Place;
use crate::messages::{Ask, Measured, Refusal, Request, Tell};

impl Service {
    pub(super) fn request(&mut self, index: u32, place: Place, request: Request) {
        let Some(link) = self.links.get_mut(index) else {
            return;
        };
        let (id, number, now) = (link.id, request.number, self.clock.now);
        self.counts.requests += 1;
        if let Ask::Heard(number) = request.ask {
            return self.heard(id, place, number);
        }
        let per_second = self.config.requests;
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        if !client.budget.take(now, per_second) {
            self.counts.too_many += 1;
            return self.answer(id, place, number, Tell::Refused(Refusal::TooMany));
        }
        // What is seen may be another address by now, and nothing else comes of looking again.
        if request.ask == Ask::Observe {
            return self.answer(id, place, number, Tell::Observed(place.address));
        }
        if let Some(tell) = client.answer_to(now, number) {
            self.counts.repeated += 1;
            return self.answer(id, place, number, tell);
        }
        let leaves = request.ask == Ask::Leave;
        let tell = self
            .fulfil(id, place, request.ask)
            .unwrap_or_else(|refusal| {
                self.counts.refused += 1;
                Tell::Refused(refusal)
            });
        if let Some(client) = self.clients.get_mut(&id) {
            client.remember(now, number, tell.clone());
        }
        self.answer(id, place, number, tell);
        if leaves {
            self.goodbye(id);
        }
    }

    fn fulfil(&mut self, id: ClientId, place: Place, ask: Ask) -> Result<Tell, Refusal> {
        if let Ask::Join(join) = ask {
            return self.join(id, join);
        }
        let client = self.clients.get(&id);
        if client.is_none_or(|client| client.joined.is_none()) {
            return Err(Refusal::NotJoined);
        }
        match ask {
            Ask::Report(measured) => self.report(id, measured),
            Ask::Find(server) => self.find(id, server),
            Ask::Connect(peer) => self.connect(id, peer),
            Ask::Through(session) => self.again(id, session, true),
            Ask::Again(session) => self.again(id, session, false),
            Ask::Relays {
                session,
                most,
                known,
            } => self.relays(id, session, most, &known),
            Ask::Uses {
                session,
                relay,
                complaint,
            } => self.uses(id, session, relay, complaint),
            Ask::Part(session) => Ok(self.part(id, session)),
            Ask::Nudge(neighbour) => self.nudge(id, neighbour),
            Ask::Observe => Ok(Tell::Observed(place.address)),
            Ask::Join(_) | Ask::Leave | Ask::Heard(_) => Ok(Tell::Done),
        }
    }

    fn report(&mut self, id: ClientId, measured: Measured) -> Result<Tell, Refusal> {
        let report = Report {
            coordinate: measured.coordinate,
            legs: measured.legs,
        };
        let doubts = self.directory.report(self.clock.now, id, report);
        let doubts = doubts.map_err(|_| Refusal::NotJoined)?;
        self.counts.reports += 1;
        self.counts.doubts += doubts.len() as u64;
        self.set_overloaded(id, measured.overloaded);
        if let Some(peer) = self.directory.whom_to_witness(id) {
            let neighbour = self.neighbour(id, &peer);
            self.let_in(peer.id, &[id]);
            self.tell(id, Tell::Witness(neighbour));
        }
        Ok(Tell::Done)
    }

    /// A neighbour shall open its NAT once more.
    fn nudge(&mut self, id: ClientId, neighbour: ClientId) -> Result<Tell, Refusal> {
        let client = self.clients.get(&id).ok_or(Refusal::NotJoined)?;
        if !client.named.contains(&neighbour) {
            return Err(Refusal::Unknown);
        }
        self.let_in(neighbour, &[id]);
        Ok(Tell::Done)
    }
}
