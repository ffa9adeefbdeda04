//! The plan of a network: who is in it, and how far apart they are.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::hub::Hub;
use crate::namespace::{self, Prefix};
use crate::places::{Network, Places};
use crate::site::Site;
use crate::{Nat, Path, Testnet, TestnetError};

/// More layers than these no address plan of ours has room for.
const MOST_LAYERS: usize = 2;
const USUAL_LIFETIME: Duration = Duration::from_secs(120);

/// One host of a plan.
#[derive(Debug, Clone)]
pub struct HostSpec {
    pub(crate) name: String,
    pub(crate) address: Option<Ipv4Addr>,
    pub(crate) network: Option<Network>,
    pub(crate) ipv6: bool,
    /// From the host outwards.
    pub(crate) layers: Vec<Nat>,
    pub(crate) lifetime: Duration,
}

impl HostSpec {
    /// An open host: no NAT, IPv4 only. Names are short words of letters, digits and hyphens.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            address: None,
            network: None,
            ipv6: false,
            layers: Vec::new(),
            lifetime: USUAL_LIFETIME,
        }
    }

    /// Puts a NAT in front of all that is there; the second call makes a second layer.
    #[must_use]
    pub fn behind(mut self, nat: Nat) -> Self {
        self.layers.push(nat);
        self
    }

    /// For how long NATs in front of it remember a flow that is silent, in whole seconds. Default:
    /// two minutes, the least that RFC 4787 (REQ-5) asks for; many home routers give less.
    #[must_use]
    pub fn mapping_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Gives it an IPv6 address, `2001:2:0:N::1`. NATs pass IPv6 through unchanged, and drop what
    /// was not asked for.
    #[must_use]
    pub fn ipv6(mut self) -> Self {
        self.ipv6 = true;
        self
    }

    /// The IPv4 address others see. Default: `198.18.N.1` for the N-th host from zero, so that
    /// every host has a prefix of its own (the range is RFC 2544's for tests of networks).
    #[must_use]
    pub fn address(mut self, address: Ipv4Addr) -> Self {
        self.address = Some(address);
        self
    }

    /// Gives it a whole network beside its own address: a socket at port N of all its addresses gets
    /// what is sent to port N of any of them. For those whose addresses somebody forges. Only for a host
    /// without NATs.
    #[must_use]
    pub fn network(mut self, first: Ipv4Addr, length: u8) -> Self {
        self.network = Some(Network { first, length });
        self
    }

    fn check(&self) -> Result<(), TestnetError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let fault = if self.name.is_empty() || !self.name.chars().all(plain) {
            "a name consists of letters, digits and hyphens"
        } else if self.layers.len() > MOST_LAYERS {
            "two layers of NAT are the most"
        } else if self.lifetime.as_secs() == 0 {
            "mappings live for a second at least"
        } else if self.network.is_some() && !self.layers.is_empty() {
            "a network does not fit behind a NAT"
        } else {
            return Ok(());
        };
        let host = self.name.clone();
        Err(TestnetError::Plan { host, fault })
    }
}

impl From<&str> for HostSpec {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A plan of a network; [`Testnet::builder`] begins one.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    hosts: Vec<HostSpec>,
    path: Path,
    delays: Vec<(String, String, Duration)>,
    seed: u64,
}

impl Builder {
    /// Adds a host: a name for an open one, or a [`HostSpec`].
    #[must_use]
    pub fn host(mut self, host: impl Into<HostSpec>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// The one-way delay between any two hosts. Default: none.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.path(Path::of_delay(delay))
    }

    /// What all paths are like in the beginning. Default: perfect and without delay.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.path = path;
        self
    }

    /// The one-way delay between two hosts, the same in both directions.
    #[must_use]
    pub fn delay_between(mut self, one: &str, other: &str, delay: Duration) -> Self {
        self.delays.push((one.to_owned(), other.to_owned(), delay));
        self
    }

    /// Where chance begins: jitter, loss and duplicates. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes it all. Also removes what tests left behind that were killed.
    pub fn build(self) -> Result<Testnet, TestnetError> {
        self.hosts.iter().try_for_each(HostSpec::check)?;
        namespace::remove_leftovers();
        let prefix = Prefix::unique();
        let (mut hosts, mut devices) = (Vec::new(), Vec::new());
        for (index, spec) in self.hosts.iter().enumerate() {
            let (host, device) = Site::new(spec, index, &prefix).build()?;
            hosts.push(host);
            devices.push(device);
        }
        let hub = Hub::start(devices, Places::of(&hosts)?, self.path, self.seed)?;
        let testnet = Testnet { hub, hosts };
        for (one, other, delay) in &self.delays {
            testnet.set_delay(one, other, *delay);
        }
        Ok(testnet)
    }
}
