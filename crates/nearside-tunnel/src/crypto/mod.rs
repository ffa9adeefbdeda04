//! What keeps strangers out: identities, handshakes, seals, tags and tickets.

mod chance;
mod handshake;
mod hop;
mod identity;
mod pass;
mod seal;
mod ticket;
mod window;

pub use chance::Chance;
pub use handshake::{Accepted, Dialling, Keys, NotUnderstood, accept};
pub use hop::HopKey;
pub use identity::{BadKey, Identity, PublicKey};
pub use pass::{Cookies, PingKey};
pub(crate) use seal::SEAL_BYTES;
pub use seal::{Broken, Opener, Sealer, UsedUp};
pub use ticket::{BadTicket, Ticket, TicketKey};
pub use window::Window;
