//! A directory in a thread of the bench: it introduces, and is idle while packets flow.

use std::net::Ipv4Addr;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use nearside_detour::DirectoryConfig;
use nearside_detour::directory::Trust;
use nearside_directory::store::Memory;
use nearside_directory::{Server, ServerConfig, ServerError};
use nearside_net::Stop;
use nearside_tunnel::crypto::{Chance, Identity};
use nearside_tunnel::node::DirectoryAddress;
use nearside_tunnel::service::{Counts, ServiceConfig};

/// A directory; ends when dropped.
pub(super) struct Directory {
    pub(super) at: DirectoryAddress,
    stop: Stop,
    thread: Option<JoinHandle<Result<Counts, ServerError>>>,
}

impl Directory {
    pub(super) fn start(chance: &mut Chance) -> Result<Self> {
        let identity = Identity::generate(chance);
        let key = identity.public();
        let config = ServerConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            second: Vec::new(),
            service: ServiceConfig {
                // As much as a ticket can say: the relay is measured, not its patience.
                ticket_packets: u16::MAX,
                ticket_kilobits: u16::MAX,
                ..ServiceConfig::default()
            },
            // There is no crowd that could bear witness to the only relay.
            directory: DirectoryConfig {
                trust: Trust::Everybody,
                ..DirectoryConfig::default()
            },
        };
        let stop = Stop::new()?;
        let (server, _) = Server::start(config, identity, chance.bytes(), Memory, stop.clone())?;
        let addresses = server.handle().addresses().to_vec();
        let address = *addresses
            .first()
            .context("a directory without an address")?;
        let thread = server.spawn()?;
        Ok(Self {
            at: DirectoryAddress {
                address,
                other: None,
                key,
            },
            stop,
            thread: Some(thread),
        })
    }

    /// As command lines name it.
    pub(super) fn word(&self) -> String {
        format!("{}@{}", self.at.key, self.at.address)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed already.
            let _ = thread.join();
        }
    }
}
