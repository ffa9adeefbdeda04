use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use nearside_net::NetError;
use nearside_tunnel::crypto::{Chance, Identity};
use nearside_tunnel::node::NodeConfig;
use thiserror::Error;

/// What a player's thread is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How its node behaves.
    pub node: NodeConfig,
    /// Who it is.
    pub identity: Identity,
    /// Where its keys come from: 32 bytes of the operating system's randomness.
    pub seed: [u8; 32],
    /// Where its socket is; port 0 takes a free one.
    pub listen: SocketAddr,
    /// A socket for IPv6 beside it, where the system has it.
    pub listen_v6: Option<SocketAddr>,
    /// What it does with packets of games.
    pub role: Role,
}

impl Settings {
    /// A new player on a free port in both address families, under a key of its own that ends with it:
    /// set [`identity`](Self::identity) for one that outlives the process. Identity and seed come from
    /// the system.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(node: NodeConfig, role: Role) -> Result<Self, StartError> {
        let identity = Identity::generate(&mut Chance::from_seed(random()?));
        Ok(Self {
            node,
            identity,
            seed: random()?,
            listen: (Ipv4Addr::UNSPECIFIED, 0).into(),
            listen_v6: Some((Ipv6Addr::UNSPECIFIED, 0).into()),
            role,
        })
    }
}

/// Bytes that nobody can guess.
fn random() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| StartError::Chance(error.to_string()))?;
    Ok(bytes)
}

/// What becomes of packets of games.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// There are none: it measures, reports and relays.
    Join,
    /// They are the caller's, by [`crate::Player::send`] and [`crate::Happening::Delivered`].
    Library,
    /// A game on this machine connects to a local port, and reaches this game server.
    Proxy {
        /// The local port.
        listen: SocketAddr,
        /// The game server, as the game would name it.
        game: SocketAddr,
    },
    /// Beside a game server, and a way out to others that are listed.
    Expose {
        /// The game server as it is reached from here.
        game: Option<SocketAddr>,
        /// Other game servers that packets may go to.
        exits: Vec<SocketAddr>,
    },
}

/// Why a player's thread cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A socket cannot be had.
    #[error(transparent)]
    Net(#[from] NetError),
    /// Random numbers cannot be had.
    #[error("the system gives no random numbers: {0}")]
    Chance(String),
    /// A thread cannot be had.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_players_are_alike() {
        let new = || Settings::new(NodeConfig::default(), Role::Library).unwrap();
        let (one, other) = (new(), new());
        assert_ne!(one.seed, other.seed);
        assert_ne!(one.identity.public(), other.identity.public());
    }
}
