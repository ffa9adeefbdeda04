//! What can go wrong between us and the operating system, with the operation and the address.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// An operation on a socket, a wait or the lab's log that the operating system refused.
///
/// What the network itself does (loss, unreachable hosts, full queues) is never an error here; it is
/// an outcome of the call.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The address or port cannot be had.
    #[error("cannot open UDP port {addr}: {source} ({})", next_step(source))]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The socket exists but refuses an option we cannot do without.
    #[error("cannot set up UDP port {addr}: {source}")]
    Configure {
        /// The address the port is bound to.
        addr: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The caller asked for something the socket cannot send, such as a datagram that is too long.
    #[error("cannot send {length} bytes from {local} to {to}: {source}")]
    Send {
        /// The port sent from.
        local: SocketAddr,
        /// Where it should have gone.
        to: SocketAddr,
        /// Bytes of payload.
        length: usize,
        /// What the system said.
        source: io::Error,
    },
    /// Reading datagrams or queued ICMP errors failed for good.
    #[error("cannot receive on {local}: {source}")]
    Receive {
        /// The port read from.
        local: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Waiting for sockets failed.
    #[error("cannot wait for {ports} UDP ports: {source}")]
    Wait {
        /// How many ports were waited for.
        ports: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel cannot be told which sockets to watch.
    #[error("cannot watch UDP ports: {source} (may it open more files? `ulimit -n` tells)")]
    Watch {
        /// What the system said.
        source: io::Error,
    },
    /// The lab was asked to serve an address outside 127.0.0.0/8.
    #[error("the lab only serves 127.0.0.0/8, not {addr} (choose an address such as 127.0.0.1)")]
    NotLoopback {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The lab's truth log cannot be written.
    #[error("cannot write the lab's truth log: {source} (is the disk full?)")]
    TruthLog {
        /// What the writer said.
        source: io::Error,
    },
    /// No thread could be started for the lab.
    #[error("cannot start the lab's thread: {source}")]
    Spawn {
        /// What the system said.
        source: io::Error,
    },
}

/// What whoever could not have a port should try.
fn next_step(refusal: &io::Error) -> &'static str {
    match refusal.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; choose one of its own, or 0.0.0.0"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need privilege; choose another port",
        _ if refusal.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "it may not open more files; `ulimit -n` tells how many"
        }
        _ => "is another program using it? choose another port",
    }
}
