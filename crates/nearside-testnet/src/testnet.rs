//! The network as a test holds it: hosts by name, and the paths between them.

use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::hub::Hub;
use crate::path::{Lateness, Passage, Path, Traffic};
use crate::{Builder, Host};

/// A running network. Dropping it ends every program on it and removes every trace.
///
/// Hosts go by the names the builder was given; all methods panic on a name it was not.
#[derive(Debug)]
pub struct Testnet {
    // Before the hosts: the hub holds their devices.
    pub(crate) hub: Hub,
    pub(crate) hosts: Vec<Host>,
}

impl Testnet {
    /// Begins a plan.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> &Host {
        &self.hosts[self.index(name)]
    }

    /// All hosts, in the order of the plan.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// How packets fare from one host to another.
    pub fn path(&self, from: &str, to: &str) -> Path {
        *self.hub.shared().path(self.index(from), self.index(to))
    }

    /// Changes the path in one direction, for packets sent from now on.
    pub fn change(&self, from: &str, to: &str, change: impl FnOnce(&mut Path)) {
        change(self.hub.shared().path(self.index(from), self.index(to)));
    }

    /// Changes the paths in both directions.
    pub fn change_both(&self, one: &str, other: &str, mut change: impl FnMut(&mut Path)) {
        self.change(one, other, &mut change);
        self.change(other, one, &mut change);
    }

    /// Changes all paths to and from a host: its line to the rest of the world.
    pub fn change_line(&self, name: &str, mut change: impl FnMut(&mut Path)) {
        for other in self.hosts.iter().filter(|host| host.name != name) {
            self.change_both(name, &other.name, &mut change);
        }
    }

    /// Sets the one-way delay in both directions.
    pub fn set_delay(&self, one: &str, other: &str, delay: Duration) {
        self.change_both(one, other, |path| path.delay = delay);
    }

    /// Cuts the path in both directions.
    pub fn cut(&self, one: &str, other: &str) {
        self.change_both(one, other, |path| path.passage = Passage::Cut);
    }

    /// Opens it again.
    pub fn heal(&self, one: &str, other: &str) {
        self.change_both(one, other, |path| path.passage = Passage::Open);
    }

    /// What went from one host to another since the beginning.
    pub fn traffic(&self, from: &str, to: &str) -> Traffic {
        *self.hub.shared().traffic(self.index(from), self.index(to))
    }

    /// Copies of all IP packets that enter a path from now on, those that are lost included: what
    /// somebody on the way would see.
    pub fn tap(&self, from: &str, to: &str) -> Receiver<Vec<u8>> {
        let (from, to) = (self.index(from), self.index(to));
        self.hub.shared().tap(from, to)
    }

    /// How punctual the hub was: on a loaded machine a test may want to look before it judges.
    pub fn lateness(&self) -> Lateness {
        self.hub.shared().lateness()
    }

    fn index(&self, name: &str) -> usize {
        let found = self.hosts.iter().position(|host| host.name == name);
        found.unwrap_or_else(|| {
            let known: Vec<&str> = self.hosts.iter().map(Host::name).collect();
            panic!("no host {name:?}; there are {known:?}")
        })
    }
}
