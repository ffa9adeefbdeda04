//! A session as it is, as text: what its events have made of it. Delays are whole grid steps, so that
//! what is restored decides exactly as the original would have.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Session;
use super::setup::{SessionSetup, SetupError};
use crate::{Delay, ServerId};

/// Why text is not a snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// Not JSON, or not of this form.
    #[error("not a snapshot: {0}")]
    Json(#[from] serde_json::Error),
    /// Its set-up is none.
    #[error("in a snapshot: {0}")]
    Setup(#[from] SetupError),
    /// A list has another length than there are servers.
    #[error("{what}: there are {expected} servers, but {actual} delays")]
    Length {
        /// Whose list.
        what: String,
        /// Delays in it.
        actual: usize,
        /// Servers of the set-up.
        expected: usize,
    },
    /// A number is no delay.
    #[error("{what}: {steps} is not a delay")]
    Delay {
        /// Where.
        what: String,
        /// The number.
        steps: i64,
    },
    /// A server's number is too large.
    #[error("{what}: there is no server {server}")]
    NoServer {
        /// Who names it.
        what: String,
        /// The number.
        server: usize,
    },
    /// Two players have one name, or one has none.
    #[error("the name `{0}` is empty or taken")]
    Name(String),
}

/// The text's form.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    setup: String,
    events: u64,
    bound: i64,
    between: Vec<Vec<i64>>,
    down: Vec<usize>,
    clients: Vec<Member>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    name: String,
    access: Vec<i64>,
    contact: Option<usize>,
}

impl Session {
    /// The session as text, on one line.
    pub fn to_snapshot(&self) -> String {
        let steps = |row: &[Delay]| row.iter().map(|delay| delay.steps()).collect();
        let roster = &self.roster;
        let between = |server: ServerId| {
            let others = roster.server_ids();
            others
                .map(|other| roster.between(server, other).steps())
                .collect()
        };
        let member = |(client, contact): (_, &Option<ServerId>)| Member {
            name: roster.client_name(client).to_owned(),
            access: steps(roster.access_row(client)),
            contact: contact.map(ServerId::index),
        };
        let is_down = |server: &usize| self.down[*server].is_some();
        let form = Form {
            setup: self.setup.to_json(),
            events: self.events,
            bound: self.bound.steps(),
            between: roster.server_ids().map(between).collect(),
            down: (0..self.down.len()).filter(is_down).collect(),
            clients: roster
                .client_ids()
                .zip(&self.contacts)
                .map(member)
                .collect(),
        };
        serde_json::to_string(&form).expect("a session is plain data")
    }

    /// The session that a snapshot was taken of.
    ///
    /// # Errors
    /// The first thing that makes no sense, with its place.
    pub fn from_snapshot(text: &str) -> Result<Self, SnapshotError> {
        let form: Form = serde_json::from_str(text)?;
        let mut session = Self::new(SessionSetup::from_json(form.setup.as_bytes())?);
        session.events = form.events;
        session.bound = delay("bound", form.bound)?;
        session.restore_servers(&form.between, &form.down)?;
        let mut names = BTreeSet::new();
        for member in form.clients {
            if member.name.is_empty() || !names.insert(member.name.clone()) {
                return Err(SnapshotError::Name(member.name));
            }
            session.restore_client(member)?;
        }
        Ok(session)
    }

    fn restore_servers(
        &mut self,
        between: &[Vec<i64>],
        down: &[usize],
    ) -> Result<(), SnapshotError> {
        self.check_length("between", between.len())?;
        for (from, row) in between.iter().enumerate() {
            let what = || format!("between, row {from}");
            self.check_length(what, row.len())?;
            for (to, &steps) in row.iter().enumerate() {
                let [from, to] = [from, to].map(ServerId::new);
                self.roster.set_between(from, to, delay(what, steps)?);
            }
        }
        for &server in down {
            let server = self.check_server("down", server)?;
            let places = &mut self.roster.server_mut(server).capacity;
            let places = places.replace(0);
            self.down[server.index()].get_or_insert(places);
        }
        Ok(())
    }

    fn restore_client(&mut self, member: Member) -> Result<(), SnapshotError> {
        let what = || format!("client `{}`", member.name);
        self.check_length(what, member.access.len())?;
        let access = member.access.iter().map(|&steps| delay(what, steps));
        let access: Vec<Delay> = access.collect::<Result<_, _>>()?;
        let contact = member.contact.map(|server| self.check_server(what, server));
        self.contacts.push(contact.transpose()?);
        self.roster.add_client(member.name, &access);
        Ok(())
    }

    fn check_length(&self, what: impl Place, actual: usize) -> Result<(), SnapshotError> {
        let expected = self.down.len();
        match actual == expected {
            true => Ok(()),
            false => Err(SnapshotError::Length {
                what: what.name(),
                actual,
                expected,
            }),
        }
    }

    fn check_server(&self, what: impl Place, server: usize) -> Result<ServerId, SnapshotError> {
        match server < self.down.len() {
            true => Ok(ServerId::new(server)),
            false => Err(SnapshotError::NoServer {
                what: what.name(),
                server,
            }),
        }
    }
}

fn delay(what: impl Place, steps: i64) -> Result<Delay, SnapshotError> {
    Delay::from_steps(steps).ok_or_else(|| SnapshotError::Delay {
        what: what.name(),
        steps,
    })
}

/// Where something stands; spelled out only if it is wrong.
trait Place {
    fn name(self) -> String;
}

impl Place for &str {
    fn name(self) -> String {
        self.to_owned()
    }
}

impl<F: Fn() -> String> Place for F {
    fn name(self) -> String {
        self()
    }
}
