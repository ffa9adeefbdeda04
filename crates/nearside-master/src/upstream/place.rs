//! Where a list is, as one word: for configurations and command lines.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use nearside_wire::steam::Filter;
use serde::Deserialize;
use thiserror::Error;

/// A list somewhere else.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Place {
    /// `steam://HOST:PORT/FILTER`: a master that speaks `0x31`.
    Steam {
        /// Its name and port.
        master: String,
        /// Which servers, as `\gamedir\cstrike`.
        filter: String,
    },
    /// `quake3://HOST:PORT/GAME/PROTOCOL` or `quake3://HOST:PORT/PROTOCOL`: dpmaster and the like.
    Quake3 {
        /// Its name and port.
        master: String,
        /// The game.
        game: Option<String>,
        /// The protocol number.
        protocol: u32,
    },
    /// `steam-web:FILTER` or `steam-web:FILTER@URL`: Steam's Web API, which wants a key.
    SteamWeb {
        /// Where the API is.
        base: String,
        /// Which servers.
        filter: String,
    },
    /// `http://HOST:PORT`, with TLS or without: another nearside master.
    Nearside {
        /// Without a slash at the end.
        url: String,
    },
    /// `https://HOST/list.json`: any JSON document with servers.
    Document {
        /// Where.
        url: String,
    },
    /// Anything else: a file with such a document.
    File {
        /// Its path.
        path: PathBuf,
    },
}

/// Why a text names no list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    r"`{0}` names no list (write steam://HOST:PORT/\gamedir\cstrike, quake3://HOST:PORT/GAME/PROTOCOL, steam-web:\appid\440, http://HOST:PORT for a nearside master, the URL of a JSON document, or a file)"
)]
pub struct ParsePlaceError(String);

/// Where Steam's Web API is.
const STEAM_API: &str = "https://api.steampowered.com";

impl FromStr for Place {
    type Err = ParsePlaceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || ParsePlaceError(text.to_owned());
        if let Some(rest) = text.strip_prefix("steam://") {
            let (master, filter) = rest.split_once('/').unwrap_or((rest, ""));
            return steam(master, filter).ok_or_else(bad);
        }
        if let Some(rest) = text.strip_prefix("quake3://") {
            return quake3(rest).ok_or_else(bad);
        }
        if let Some(rest) = text.strip_prefix("steam-web:") {
            let (filter, base) = rest.rsplit_once('@').unwrap_or((rest, STEAM_API));
            let is_good = Filter::parse(filter.as_bytes()).is_ok() && base.starts_with("http");
            return is_good
                .then(|| Self::SteamWeb {
                    base: base.trim_end_matches('/').to_owned(),
                    filter: filter.to_owned(),
                })
                .ok_or_else(bad);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return web(text).ok_or_else(bad);
        }
        if text.is_empty() || text.contains("://") {
            return Err(bad());
        }
        Ok(Self::File { path: text.into() })
    }
}

fn steam(master: &str, filter: &str) -> Option<Place> {
    has_port(master)?;
    Filter::parse(filter.as_bytes()).ok()?;
    Some(Place::Steam {
        master: master.to_owned(),
        filter: filter.to_owned(),
    })
}

fn quake3(rest: &str) -> Option<Place> {
    let mut parts = rest.split('/');
    let master = parts.next()?;
    has_port(master)?;
    let words: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let (game, protocol) = match words[..] {
        [protocol] => (None, protocol),
        [game, protocol] => (Some(game.to_owned()), protocol),
        _ => return None,
    };
    Some(Place::Quake3 {
        master: master.to_owned(),
        game,
        protocol: protocol.parse().ok()?,
    })
}

/// A master has no path; a document has one.
fn web(text: &str) -> Option<Place> {
    let (_, rest) = text.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return None;
    }
    Some(match path.is_empty() {
        true => Place::Nearside {
            url: text.trim_end_matches('/').to_owned(),
        },
        false => Place::Document {
            url: text.to_owned(),
        },
    })
}

fn has_port(master: &str) -> Option<u16> {
    let (host, port) = master.rsplit_once(':')?;
    (!host.is_empty()).then(|| port.parse().ok())?
}

impl TryFrom<String> for Place {
    type Error = ParsePlaceError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl Place {
    /// The kind, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Steam { .. } => "steam",
            Self::Quake3 { .. } => "quake3",
            Self::SteamWeb { .. } => "steam_web",
            Self::Nearside { .. } => "nearside",
            Self::Document { .. } | Self::File { .. } => "json",
        }
    }

    /// What it is called where others can read it: without passwords, queries and folders.
    pub fn public_name(&self) -> String {
        match self {
            Self::SteamWeb { base, filter } if base != STEAM_API => {
                format!("steam-web:{filter}@{}", without_secrets(base))
            }
            Self::Nearside { url } | Self::Document { url } => without_secrets(url),
            Self::File { path } => match path.file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => self.to_string(),
            },
            Self::Steam { .. } | Self::Quake3 { .. } | Self::SteamWeb { .. } => self.to_string(),
        }
    }
}

/// A URL without user, password and query, which may be tokens.
pub(super) fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steam { master, filter } => write!(f, "steam://{master}/{filter}"),
            Self::Quake3 {
                master,
                game: Some(game),
                protocol,
            } => write!(f, "quake3://{master}/{game}/{protocol}"),
            Self::Quake3 {
                master, protocol, ..
            } => write!(f, "quake3://{master}/{protocol}"),
            Self::SteamWeb { base, filter } if base == STEAM_API => write!(f, "steam-web:{filter}"),
            Self::SteamWeb { base, filter } => write!(f, "steam-web:{filter}@{base}"),
            Self::Nearside { url } | Self::Document { url } => f.write_str(url),
            Self::File { path } => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_back_as_it_is_written() {
        for (text, kind) in [
            (r"steam://master.example:27011/\gamedir\cstrike", "steam"),
            ("quake3://[2001:db8::1]:27950/Quake3Arena/71", "quake3"),
            ("quake3://127.0.0.1:27950/84", "quake3"),
            (r"steam-web:\appid\440", "steam_web"),
            (r"steam-web:\appid\440@http://127.0.0.1:9", "steam_web"),
            ("https://master.example", "nearside"),
            ("http://127.0.0.1:8080/list.json", "json"),
            ("lists/mine.json", "json"),
        ] {
            let place: Place = text.parse().unwrap();
            assert_eq!((place.to_string().as_str(), place.kind()), (text, kind));
        }
        let slash: Place = "http://127.0.0.1:8080/".parse().unwrap();
        assert_eq!(slash.kind(), "nearside");
    }

    #[test]
    fn public_names_tell_no_secrets() {
        for (text, name) in [
            (
                "http://user:pa55@127.0.0.1:1/x.json?token=T",
                "http://127.0.0.1:1/x.json",
            ),
            ("https://u@host.example", "https://host.example"),
            ("http://u:p@ss@[::1]:8080/a@b#T", "http://[::1]:8080/a@b"),
            (
                r"steam-web:\appid\440@http://127.0.0.1:9/x?key=T",
                r"steam-web:\appid\440@http://127.0.0.1:9/x",
            ),
            (r"steam-web:\appid\440", r"steam-web:\appid\440"),
            ("/srv/lists/mine.json", "mine.json"),
            ("quake3://127.0.0.1:27950/84", "quake3://127.0.0.1:27950/84"),
        ] {
            let place: Place = text.parse().unwrap();
            assert_eq!(place.public_name(), name);
        }
    }

    #[test]
    fn what_names_no_list_is_refused() {
        for bad in [
            "",
            "steam://host",
            r"steam://host:1/\gamedir",
            "quake3://host:1",
            "quake3://host:1/a/b/c",
            "quake3://host:1/x",
            "steam-web:gamedir",
            "http://",
            "ftp://host/list",
        ] {
            assert!(bad.parse::<Place>().is_err(), "{bad}");
        }
    }
}
