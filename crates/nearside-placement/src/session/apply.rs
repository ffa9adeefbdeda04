//! One event at a time: check it, change the roster, find seats, report.

use std::collections::BTreeMap;

use super::bell::{Bell, OutOfTime};
use super::seats::Contacts;
use super::{Event, Move, Reason, Report, Session, Settlement};
use crate::instance::is_printable;
use crate::solver::Budget;
use crate::{ClientId, Delay, Latency, ServerId};

impl Session {
    /// Takes an event, or refuses it and changes nothing.
    pub fn handle(&mut self, event: &Event) -> Report {
        let report = self.handle_within(event, &|| false);
        report.expect("there is all the time in the world")
    }

    /// Takes an event once more that was taken before. One that would be refused today, as earlier
    /// versions were less strict, changes nothing and still counts: what came after it has its number.
    pub fn replay(&mut self, event: &Event) -> Report {
        let mut report = self.handle(event);
        if report.is_refused() {
            self.events += 1;
            report.number = self.events;
        }
        report
    }

    /// [`Session::handle`], given up when `time_is_up` says so.
    ///
    /// # Errors
    /// When time was up before the event was decided; nothing has changed then.
    pub fn handle_within(
        &mut self,
        event: &Event,
        time_is_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<Report, OutOfTime> {
        let (after, report) = self.after(event, time_is_up)?;
        *self = after;
        Ok(report)
    }

    /// What would become of the session, for who must store an event before it is taken.
    ///
    /// # Errors
    /// When time was up before the event was decided.
    pub fn after(
        &self,
        event: &Event,
        time_is_up: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Self, Report), OutOfTime> {
        let bell = Bell::new(time_is_up);
        let ask = || bell.ask();
        let mut after = self.clone();
        let settlement = after.attempt(event, &self.budget().with_deadline(&ask));
        if bell.has_rung() {
            return Err(OutOfTime);
        }
        let settlement = match settlement {
            Ok(settlement) => {
                after.events += 1;
                settlement
            }
            Err(reason) => {
                after = self.clone();
                Settlement::Refused { reason }
            }
        };
        let report = after.report(settlement, &self.seats_by_name());
        Ok((after, report))
    }

    fn attempt(&mut self, event: &Event, budget: &Budget<'_>) -> Result<Settlement, Reason> {
        self.apply(event, budget)?;
        Ok(self.settle(budget))
    }

    fn apply(&mut self, event: &Event, budget: &Budget<'_>) -> Result<(), Reason> {
        match event {
            Event::Join {
                client,
                latencies_ms,
            } => self.join(client, latencies_ms, budget),
            Event::Leave { client } => self.leave(client),
            Event::Latency { client, server, ms } => self.change_access(client, [(server, ms)]),
            Event::Latencies {
                client,
                latencies_ms,
            } => self.change_access(client, latencies_ms),
            Event::ServerLatency { one, other, ms } => self.change_between(one, other, *ms),
            Event::ServerDown { server } => self.take_down(server),
            Event::ServerUp { server } => self.bring_up(server),
            Event::Bound { ms } => self.change_bound(*ms),
            Event::Consolidate { max_moves } => {
                self.consolidate(*max_moves, budget);
                Ok(())
            }
        }
    }

    /// A newcomer is refused, and nobody else disturbed, when the bound cannot be kept with them.
    fn join(
        &mut self,
        name: &str,
        latencies: &BTreeMap<String, Option<f64>>,
        budget: &Budget<'_>,
    ) -> Result<(), Reason> {
        if name.is_empty() || !is_printable(name) {
            return Err(Reason::Nameless);
        }
        if self.find_client(name).is_ok() {
            let client = name.to_owned();
            return Err(Reason::Present { client });
        }
        let row = self.row(name, latencies)?;
        let newcomer = self.roster.add_client(name.to_owned(), &row);
        self.contacts.push(None);
        let quiet = self.seat_quietly(&self.contacts);
        self.contacts = match quiet[newcomer.index()] {
            Some(_) => quiet,
            None => self.seat_anew(budget)?,
        };
        Ok(())
    }

    fn row(
        &self,
        name: &str,
        latencies: &BTreeMap<String, Option<f64>>,
    ) -> Result<Vec<Delay>, Reason> {
        let mut row = vec![Delay::UNREACHABLE; self.roster.servers().len()];
        for (server, ms) in latencies {
            let delay = self.delay_of(*ms, || format!("{name} to {server}"))?;
            row[self.find_server(server)?.index()] = delay;
        }
        Ok(row)
    }

    fn leave(&mut self, name: &str) -> Result<(), Reason> {
        let client = self.find_client(name)?;
        self.roster.remove_client(client);
        self.contacts.remove(client.index());
        Ok(())
    }

    /// All of them or, when one makes no sense, none.
    fn change_access<'e>(
        &mut self,
        client: &str,
        latencies: impl IntoIterator<Item = (&'e String, &'e Option<f64>)>,
    ) -> Result<(), Reason> {
        let name = client;
        let client = self.find_client(name)?;
        let known = |(server, ms): (&String, &Option<f64>)| {
            let delay = self.delay_of(*ms, || format!("{name} to {server}"))?;
            Ok((self.find_server(server)?, delay))
        };
        let changes: Vec<(ServerId, Delay)> =
            latencies.into_iter().map(known).collect::<Result<_, _>>()?;
        for (server, delay) in changes {
            self.roster.set_access(client, server, delay);
            if self.contacts[client.index()] == Some(server) && !delay.is_usable() {
                self.contacts[client.index()] = None;
            }
        }
        Ok(())
    }

    /// Both directions, also where the set-up has different ones: an event has one number.
    fn change_between(&mut self, one: &str, other: &str, ms: Option<f64>) -> Result<(), Reason> {
        let delay = self.delay_of(ms, || format!("{one} to {other}"))?;
        let ends = (self.find_server(one)?, self.find_server(other)?);
        if ends.0 == ends.1 {
            let server = one.to_owned();
            return Err(Reason::OneServer { server });
        }
        self.roster.set_between(ends.0, ends.1, delay);
        self.roster.set_between(ends.1, ends.0, delay);
        Ok(())
    }

    fn take_down(&mut self, name: &str) -> Result<(), Reason> {
        let server = self.find_server(name)?;
        if self.down[server.index()].is_some() {
            return Err(Reason::Already {
                server: name.to_owned(),
                state: "down",
            });
        }
        let places = &mut self.roster.server_mut(server).capacity;
        self.down[server.index()] = Some(places.replace(0));
        for contact in &mut self.contacts {
            *contact = contact.filter(|&contact| contact != server);
        }
        Ok(())
    }

    fn bring_up(&mut self, name: &str) -> Result<(), Reason> {
        let server = self.find_server(name)?;
        let Some(places) = self.down[server.index()].take() else {
            return Err(Reason::Already {
                server: name.to_owned(),
                state: "up",
            });
        };
        self.roster.server_mut(server).capacity = places;
        Ok(())
    }

    /// A bound is a bound: it is not halved, whatever latencies are.
    fn change_bound(&mut self, ms: f64) -> Result<(), Reason> {
        self.bound = Delay::from_millis(ms).ok_or_else(|| Reason::BadDelay {
            of: "the bound".to_owned(),
            ms,
        })?;
        Ok(())
    }

    /// Makes the best of what an event has left: nothing if all is well, quiet seats, or new ones for
    /// everybody.
    fn settle(&mut self, budget: &Budget<'_>) -> Settlement {
        if self.is_kept(&self.seating()) {
            return Settlement::Kept;
        }
        let quiet = self.seat_quietly(&self.contacts);
        let sound = self.is_sound(&self.seating());
        if sound && quiet.iter().all(Option::is_some) {
            self.contacts = quiet;
            return Settlement::Kept;
        }
        match self.seat_anew(budget) {
            Ok(contacts) => {
                self.contacts = contacts;
                Settlement::Kept
            }
            Err(reason) => {
                self.contacts = quiet;
                Settlement::Unmet { reason }
            }
        }
    }

    fn report(
        &self,
        settlement: Settlement,
        before: &BTreeMap<String, Option<ServerId>>,
    ) -> Report {
        let seating = self.seating();
        Report {
            number: self.events,
            settlement,
            moves: self.moves_since(before),
            clients: self.clients(),
            servers_used: seating.in_use().len(),
            delay_ms: self.delay(),
            bound_ms: self.bound,
            waiting: self.waiting(),
        }
    }

    pub(super) fn seats_by_name(&self) -> BTreeMap<String, Option<ServerId>> {
        let names = self.roster.clients().iter().cloned();
        names.zip(self.contacts.iter().copied()).collect()
    }

    /// Who is elsewhere than before; those who have left are not among them.
    pub(super) fn moves_since(&self, before: &BTreeMap<String, Option<ServerId>>) -> Vec<Move> {
        let moved = |client: &ClientId| {
            let name = self.roster.client_name(*client);
            before.get(name) != Some(&self.contacts[client.index()])
        };
        let server_name = |server: ServerId| self.roster.server_name(server).to_owned();
        let describe = |client: ClientId| {
            let name = self.roster.client_name(client);
            Move {
                client: name.to_owned(),
                from: before.get(name).copied().flatten().map(server_name),
                to: self.contacts[client.index()].map(server_name),
            }
        };
        self.roster
            .client_ids()
            .filter(moved)
            .map(describe)
            .collect()
    }

    fn waiting(&self) -> Vec<String> {
        let seats = self.roster.clients().iter().zip(&self.contacts);
        let waiting = seats.filter(|(_, contact)| contact.is_none());
        waiting.map(|(name, _)| name.clone()).collect()
    }

    fn find_client(&self, name: &str) -> Result<ClientId, Reason> {
        let place = self
            .roster
            .clients()
            .iter()
            .position(|client| client == name);
        place.map(ClientId::new).ok_or_else(|| Reason::Absent {
            client: name.to_owned(),
        })
    }

    fn find_server(&self, name: &str) -> Result<ServerId, Reason> {
        let mut servers = self.roster.servers().iter();
        let place = servers.position(|server| server.name == name);
        place.map(ServerId::new).ok_or_else(|| Reason::NoServer {
            server: name.to_owned(),
        })
    }

    /// A latency of an event as a one-way delay; `of` names the way it is of.
    fn delay_of(&self, ms: Option<f64>, of: impl FnOnce() -> String) -> Result<Delay, Reason> {
        let Some(ms) = ms else {
            return Ok(Delay::UNREACHABLE);
        };
        let delay = Delay::from_millis(ms).ok_or_else(|| Reason::BadDelay { of: of(), ms })?;
        Ok(match self.setup.latency {
            Latency::OneWay => delay,
            Latency::RoundTrip => delay.scaled(0.5),
        })
    }

    /// Takes over seats that keep everything.
    pub(super) fn take_seats(&mut self, contacts: Contacts) {
        self.contacts = contacts;
    }
}
