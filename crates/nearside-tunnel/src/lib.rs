//! Sealed paths between players, directly or through relays: the body of the detour.
//!
//! Opens no socket and reads no clock: datagrams, time and randomness come in as arguments, so that a
//! test can run five hundred players for an hour in one process.
//!
//! - [`crypto`]: identities, handshakes, seals, tags of hops and tickets.
//! - [`link`]: a sealed link between two players over several paths, with failover.
//! - [`messages`]: what players and the directory say inside the seals.
//! - [`node`]: one player with all of it, over one socket.
//! - [`relay`]: forwards what it has a ticket for, and understands none of it.
//! - [`service`]: the directory over UDP.
//! - [`vouched`]: the directory's word for relays that one player names to another.

pub mod crypto;
#[doc(hidden)]
pub mod fuzzing;
pub mod link;
pub mod messages;
pub mod node;
pub mod relay;
pub mod service;
pub mod vouched;
