//! Lists of other masters: what can be followed, how it is asked, and threads that ask again and
//! again.

mod document;
mod follower;
mod place;
mod udp;
mod web;

use nearside_registry::{Followed, Wholeness};
use thiserror::Error;

pub use follower::{Followers, Say, Upstream};
pub use place::{ParsePlaceError, Place};
pub use web::SteamKey;

/// A list as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The servers.
    pub servers: Vec<Followed>,
    /// Whether that is all of them.
    pub wholeness: Wholeness,
}

/// Why there is no list.
#[derive(Debug, Error)]
pub enum FetchError {
    /// A name has no address.
    #[error("cannot look up {0}")]
    Lookup(String),
    /// The master never answered.
    #[error("{0} does not answer")]
    Silent(String),
    /// A socket or a file failed.
    #[error("{place}: {source}")]
    Io {
        /// Where.
        place: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// HTTP failed.
    #[error("{place}: {reason}")]
    Http {
        /// Where, without any key.
        place: String,
        /// What happened, without any key.
        reason: String,
    },
    /// A document is not a list.
    #[error("{place}: {reason}")]
    Document {
        /// Where.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// Steam's Web API wants a key.
    #[error(
        "Steam's Web API needs a key of your own (steamcommunity.com/dev/apikey): put it into a file or into NEARSIDE_STEAM_KEY"
    )]
    NoKey,
}

/// A list that came with a tag, by which its master recognises it.
#[derive(Debug)]
pub(crate) struct Known {
    etag: String,
    list: Fetched,
}

/// Asks a master for its list, and waits for it: up to half a minute.
pub fn fetch(place: &Place, key: Option<&SteamKey>) -> Result<Fetched, FetchError> {
    fetch_again(place, key, &mut None)
}

/// The same for who asks again and again: `known` is the list of before, which need not be sent again
/// if it has not changed, and becomes the list of now.
pub(crate) fn fetch_again(
    place: &Place,
    key: Option<&SteamKey>,
    known: &mut Option<Known>,
) -> Result<Fetched, FetchError> {
    match place {
        Place::Steam { master, filter } => udp::steam(master, filter),
        Place::Quake3 {
            master,
            game,
            protocol,
        } => udp::quake3(master, game.as_deref(), *protocol),
        Place::SteamWeb { base, filter } => web::steam(base, filter, key),
        Place::Nearside { url } => web::document(&format!("{url}/servers?own=1"), known),
        Place::Document { url } => web::document(url, known),
        Place::File { path } => document::file(path),
    }
}
