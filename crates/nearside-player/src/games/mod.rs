//! The sockets towards games on this machine.

mod beside;
mod proxy;

use nearside_types::Moment;

pub(crate) use beside::Beside;
pub(crate) use proxy::{Proxy, Take};

/// What the thread does with packets of games.
#[derive(Debug)]
pub(crate) enum Games {
    /// Nothing.
    None,
    /// They go to the caller.
    Library,
    /// For games on this machine.
    Proxy(Proxy),
    /// For players elsewhere.
    Beside(Beside),
}

/// A player elsewhere, whatever link it comes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Guest(pub(crate) u64);

/// One stream of packets: a local address of a game, of one player.
pub(crate) type Stream = (Guest, u16);

/// How long a stream may be idle before its socket is closed. Games time players out sooner.
pub(crate) const IDLE: std::time::Duration = std::time::Duration::from_secs(300);

/// Whether a stream has been idle for too long.
pub(crate) fn is_idle(now: Moment, used: Moment) -> bool {
    now.since(used) >= IDLE
}
