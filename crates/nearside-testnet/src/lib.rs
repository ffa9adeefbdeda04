//! An Internet for tests: every host is a network namespace, and this process is all that lies
//! between them. It carries IP packets from host to host after a delay from a matrix, loses or cuts
//! them on demand, and puts hosts behind NATs made by the kernel. For tests only; needs Linux and
//! root, and says by [`can_run`] whether it has both.
//!
//! ```text
//!  namespace "alice"      this process: the hub thread       namespace      namespace "bob"
//! ┌──────────────────┐   ┌─────────────────────────────┐   ┌───────────┐   ┌──────────────┐
//! │ program   wan ───┼───┤ TUN ─▶ path alice→bob ─▶ TUN├───┼─ wan  lan ┼───┼─ wan  program│
//! │ 198.18.0.1       │   │       delay, loss, cut      │   │ 198.18.1.1│   │ 192.168.1.2  │
//! └──────────────────┘   └─────────────────────────────┘   └─nftables──┘   └──────────────┘
//! ```
//!
//! ```no_run
//! use std::time::Duration;
//! use nearside_testnet::{HostSpec, Nat, Testnet};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let net = Testnet::builder()
//!     .host("alice")
//!     .host(HostSpec::new("bob").behind(Nat::PortRestricted))
//!     .delay(Duration::from_millis(20))
//!     .build()?;
//! let (alice, bob) = (net.host("alice").udp(4000)?, net.host("bob").udp(4000)?);
//! bob.send_to(b"hello", (net.host("alice").address(), 4000))?;
//! let (_length, outside) = alice.recv_from(&mut [0; 64])?;
//! assert_eq!(outside.ip(), net.host("bob").address());
//! net.cut("alice", "bob");
//! # Ok(())
//! # }
//! ```

#![cfg(target_os = "linux")]

mod builder;
mod conntrack;
mod error;
mod host;
mod hub;
mod namespace;
mod nat;
mod packet;
mod path;
mod places;
mod punctual;
mod ready;
mod running;
mod shared;
mod site;
mod testnet;
mod tools;
mod tun;

pub use builder::{Builder, HostSpec};
pub use error::TestnetError;
pub use host::Host;
pub use nat::Nat;
pub use path::{Lateness, Passage, Path, Share, Traffic};
pub use punctual::be_punctual;
pub use ready::{can_run, ready};
pub use running::Running;
pub use testnet::Testnet;
