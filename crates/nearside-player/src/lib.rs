//! A player's side of the detour, on real sockets: one plain thread with a [`Node`] that joins its
//! directory, relays for others if it may, and keeps links to peers on their quickest paths.
//!
//! For games that link it as a library:
//!
//! ```no_run
//! # use std::time::Duration;
//! # use nearside_player::{
//! #     DirectoryAddress, Happening, NodeConfig, Player, PublicKey, Role, Settings,
//! # };
//! # fn play(directory: DirectoryAddress, peer: PublicKey) -> Result<(), Box<dyn std::error::Error>> {
//! let node = NodeConfig { directories: vec![directory], ..NodeConfig::default() };
//! let player = Player::start(Settings::new(node, Role::Library)?)?;
//! player.connect(peer);
//! let link = loop {
//!     match player.wait(Duration::from_secs(10)) {
//!         Some(Happening::Connected { link, .. }) => break link,
//!         Some(_) => {}
//!         None => return Err("nobody answers".into()),
//!     }
//! };
//! player.send(link, b"a packet of the game");
//! player.send_direct(link, b"what no relay shall carry, even sealed");
//! player.report_lag(link);
//! for view in &player.view().ok_or("ended")?.links {
//!     println!("{} saves {:?} us", view.link, view.gain_us);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! For games that know nothing of it, [`Role::Proxy`] stands beside the player and [`Role::Expose`]
//! beside the game server.
//!
//! [`Node`]: nearside_tunnel::node::Node

mod driver;
mod games;
mod home;
mod order;
mod player;
mod ports;
mod settings;

pub use nearside_tunnel::crypto::{Identity, PublicKey};
pub use nearside_tunnel::link::Event as LinkEvent;
pub use nearside_tunnel::messages::{Capacity, Refusal};
pub use nearside_tunnel::node::{DirectoryAddress, LinkId, NodeConfig, NodeView};
pub use order::{Happening, WhyPlain};
pub use player::{Player, Remote};
pub use settings::{Role, Settings, StartError};
