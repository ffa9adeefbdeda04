use std::io;
use std::net::SocketAddr;

use nearside_net::NetError;
use nearside_tunnel::crypto::Identity;
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
    /// A thread cannot be had.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
