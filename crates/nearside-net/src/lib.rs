//! Moves bytes and reads the clock for the engines: UDP ports with kernel receive timestamps,
//! waiting for several of them at once, and the lab that answers from loopback after a delay.
//!
//! Decides nothing: what to send, and what a reply means, is the engines' business. Everything here
//! runs on plain threads, and a loop ends when its [`Stop`] is told so.
//!
//! A loop over ports looks like this:
//!
//! ```no_run
//! # use nearside_net::{wait, MonotonicClock, NetError, PortConfig, RecvBuffers, Stop, UdpPort};
//! # fn main() -> Result<(), NetError> {
//! let clock = MonotonicClock::start();
//! let stop = Stop::new()?;
//! let mut buffers = RecvBuffers::new();
//! let mut ports = [UdpPort::bind(PortConfig::ephemeral_v4(), &clock)?];
//! loop {
//!     let ready = wait(&ports, &stop, None, &clock)?;
//!     if ready.stopped {
//!         break;
//!     }
//!     for index in ready.ports {
//!         let port = &mut ports[index];
//!         port.drain_errors(|unreachable| drop(unreachable.to))?;
//!         while port.recv_batch(&mut buffers, &clock, |datagram| drop(datagram.from))? > 0 {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod bgp;
mod browse;
mod buffers;
mod clock;
mod error;
mod icmp;
mod inspect;
pub mod lab;
mod outbox;
mod place;
mod poll;
mod stamp;
mod udp;
mod watch;

pub use bgp::{
    BgpConfig, BgpListenError, BgpListener, BgpObserver, Md5Key, Md5KeyError, Protection,
};
pub use browse::{BrowseObserver, BrowseOutcome, BrowseSetup, MasterSource, browse};
pub use buffers::RecvBuffers;
pub use clock::MonotonicClock;
pub use error::NetError;
pub use inspect::inspect;
pub use outbox::Outbox;
pub use place::{LoopbackPorts, run_node};
pub use poll::{Ready, Stop, raise_file_limit, sharpen_timers, wait};
pub use stamp::{ClockReading, ReadSpan, ReceivedAt, StampConverter};
pub use udp::{Datagram, IcmpErrors, PortConfig, SendOutcome, SocketBuffers, UdpPort, Unreachable};
pub use watch::Watch;
