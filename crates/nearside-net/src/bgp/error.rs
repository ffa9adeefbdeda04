use std::io;
use std::net::{IpAddr, SocketAddr};

use nearside_origin::bgp::CollectorError;
use thiserror::Error;

/// Why the BGP listener cannot start or go on. What neighbours do is never an error here.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BgpListenError {
    /// The settings cannot work.
    #[error(transparent)]
    Config(#[from] CollectorError),
    /// The address or port cannot be had.
    #[error(
        "cannot listen for BGP on {addr}: {source} (ports below 1024 need rights; is a BGP daemon using it?)"
    )]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The listening socket failed.
    #[error("cannot wait for BGP neighbours: {source}")]
    Socket {
        /// What the system said.
        source: io::Error,
    },
    /// What was asked of a neighbour cannot be set up.
    #[error(
        "cannot protect the connection of {neighbour}: {source} (TCP-MD5 and TTL security need Linux; or run the session over loopback or a tunnel)"
    )]
    Protection {
        /// Of whom it was asked.
        neighbour: IpAddr,
        /// What the system said.
        source: io::Error,
    },
}
