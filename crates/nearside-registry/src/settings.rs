//! What an operator decides.

use std::net::IpAddr;
use std::time::Duration;

use nearside_types::{Asn, Moment};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bans::BanTarget;
use crate::server::{Family, Server, Standing};

/// How a master behaves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Seconds after which a server that is not heard of is taken off the lists. Games of the Quake
    /// 3 family send a heartbeat every 5 to 10 minutes.
    pub timeout_s: u32,
    /// Servers in all; further ones are refused, and no registered one makes way.
    pub servers: usize,
    /// Servers on one address; as many again that other masters list.
    pub servers_per_address: u32,
    /// Servers in one IPv4 /24 or IPv6 /48.
    pub servers_per_network: u32,
    /// Servers in one AS; no cap if missing.
    pub servers_per_as: Option<u32>,
    /// Addresses, networks and ASes without caps: large hosters, shared addresses.
    pub uncapped: Vec<BanTarget>,
    /// Bytes a second that clients which cannot repeat a cookie may get, for each /24 or /48. Zero
    /// turns them away: right on the open Internet, where anybody can ask in a victim's name. Ten
    /// seconds' worth can be saved up, and a list that is longer than that is never sent.
    pub legacy_bytes_per_second: u32,
    /// Bytes a second of lists to clients that repeat their cookie, for each /24 or /48 that is not
    /// `uncapped`. Ten seconds' worth can be saved up: a hundred lists of 30,000 servers. It keeps one
    /// client from taking all the master can send, and who has seen somebody's cookie from flooding
    /// that network. When neighbours have spent it, each address (or IPv6 /56) has a tenth of it for
    /// itself, and one list may be longer than what is left.
    pub list_bytes_per_second: u32,
    /// Bytes a second of challenges to GoldSource servers, whose one-byte `q` is shorter than any
    /// answer, for each /24 or /48.
    pub join_challenge_bytes_per_second: u32,
    /// Bytes a second of challenges to addresses that HTTP requests name, for each /24 or /48 that
    /// asks.
    pub claim_challenge_bytes_per_second: u32,
    /// Servers of other masters in all; further ones are left out.
    pub followed_servers: usize,
    /// Whether servers on loopback and in private networks are listed.
    pub lan: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout_s: 900,
            servers: 2_000_000,
            servers_per_address: 64,
            servers_per_network: 512,
            servers_per_as: None,
            uncapped: Vec::new(),
            legacy_bytes_per_second: 0,
            list_bytes_per_second: 2_000_000,
            join_challenge_bytes_per_second: 50,
            claim_challenge_bytes_per_second: 200,
            followed_servers: 200_000,
            lan: false,
        }
    }
}

/// Why settings cannot work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A server could not stay on the list between two heartbeats.
    #[error(
        "timeout_s is {0}: servers send a heartbeat every 5 minutes, so write 330 or more, or 10 or more for tests"
    )]
    ShortTimeout(u32),
    /// Nobody could register.
    #[error("`{0}` is 0, so no server could register; write at least 1")]
    NoRoom(&'static str),
    /// Nobody could get a list.
    #[error("`list_bytes_per_second` is 0, so nobody would get a list; write at least 1000")]
    NoLists,
}

impl Settings {
    /// Refuses what cannot work.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.timeout_s < 10 {
            return Err(SettingsError::ShortTimeout(self.timeout_s));
        }
        let rooms = [
            ("servers", self.servers == 0),
            ("servers_per_address", self.servers_per_address == 0),
            ("servers_per_network", self.servers_per_network == 0),
            ("servers_per_as", self.servers_per_as == Some(0)),
        ];
        if self.list_bytes_per_second == 0 {
            return Err(SettingsError::NoLists);
        }
        match rooms.into_iter().find(|(_, none)| *none) {
            Some((name, _)) => Err(SettingsError::NoRoom(name)),
            None => Ok(()),
        }
    }

    pub(crate) const fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_s as u64)
    }

    /// From when on a silent server is asked whether it is still there. Whoever verified it asks
    /// first; other front ends only if that one seems to have gone.
    pub(crate) fn ask_from(&self, server: &Server) -> Moment {
        let before_expiry = |part| server.expires.saturating_sub(self.timeout() / part);
        match (server.family, server.standing) {
            // They have a protocol of their own, and prove themselves each time.
            (Family::Other, _) => server.expires,
            (_, Standing::Verified) => before_expiry(2),
            (_, Standing::Vouched) => before_expiry(4),
            (_, Standing::Remembered | Standing::Followed) => Moment::EPOCH,
        }
    }

    pub(crate) fn is_uncapped(&self, ip: IpAddr, asn: Option<Asn>) -> bool {
        self.uncapped.iter().any(|target| match target {
            BanTarget::Network(prefix) => prefix.contains(ip),
            BanTarget::As(allowed) => asn == Some(*allowed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_work_and_senseless_settings_are_named() {
        assert_eq!(Settings::default().check(), Ok(()));
        let none = Settings {
            servers_per_network: 0,
            ..Settings::default()
        };
        let message = none.check().unwrap_err().to_string();
        assert!(message.contains("servers_per_network"), "{message}");
    }
}
