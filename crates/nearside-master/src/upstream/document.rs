//! JSON documents with servers: a nearside master's list, Steam's `GetServerList`, or an array of
//! addresses.

use std::net::IpAddr;
use std::path::Path;

use nearside_registry::{Facts, Family, Flags, Followed, Text, Wholeness};
use nearside_types::ServerAddr;
use serde::Deserialize;
use serde_json::Value;

use super::{FetchError, Fetched};
use crate::http::ServerRow;

pub(super) fn file(path: &Path) -> Result<Fetched, FetchError> {
    let name = path.display().to_string();
    let failed = |source| FetchError::Io {
        place: name.clone(),
        source,
    };
    let body = std::fs::read(path).map_err(failed)?;
    parse(&name, &body)
}

/// Reads a document. Entries that name no server are passed over, but a document without any list is
/// refused: an error page must not empty a list.
pub(super) fn parse(place: &str, body: &[u8]) -> Result<Fetched, FetchError> {
    let wrong = |reason: String| FetchError::Document {
        place: place.to_owned(),
        reason,
    };
    let document: Value =
        serde_json::from_slice(body).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let is_steam = document.get("response").is_some();
    let list = document
        .get("servers")
        .or_else(|| document.pointer("/response/servers"))
        .unwrap_or(&document);
    let servers = match list {
        Value::Array(entries) => entries.iter().filter_map(entry).collect(),
        // Steam leaves the list out where it is empty.
        _ if is_steam => Vec::new(),
        _ => return Err(wrong("there is no array `servers` in it".to_owned())),
    };
    Ok(Fetched {
        servers,
        wholeness: Wholeness::Whole,
    })
}

fn entry(entry: &Value) -> Option<Followed> {
    if let Value::String(addr) = entry {
        return Some(Followed {
            addr: addr.parse().ok()?,
            family: Family::default(),
            facts: Facts::default(),
        });
    }
    if entry.get("gamedir").is_some() || entry.get("appid").is_some() {
        let row = SteamRow::deserialize(entry).ok()?;
        return (!is_relayed(row.addr)).then(|| row.followed());
    }
    let row = ServerRow::deserialize(entry).ok()?;
    Some(Followed {
        addr: row.addr,
        family: row.family,
        facts: row.facts(),
    })
}

/// Link-local addresses stand for servers behind Steam's relays, which nobody can ask.
fn is_relayed(addr: ServerAddr) -> bool {
    matches!(addr.ip(), IpAddr::V4(ip) if ip.is_link_local())
}

/// A server in Steam's words; `addr` has the port for queries.
#[derive(Debug, Deserialize)]
struct SteamRow {
    addr: ServerAddr,
    #[serde(default)]
    name: String,
    #[serde(default)]
    appid: u32,
    #[serde(default)]
    gamedir: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    players: u32,
    #[serde(default)]
    max_players: u32,
    #[serde(default)]
    bots: u32,
    #[serde(default)]
    map: String,
    #[serde(default)]
    secure: bool,
    #[serde(default)]
    dedicated: bool,
    #[serde(default)]
    os: String,
    #[serde(default)]
    gametype: String,
}

impl SteamRow {
    fn followed(self) -> Followed {
        let mut facts = Facts::of_texts(&[
            (Text::Game, self.gamedir.as_bytes()),
            (Text::Name, self.name.as_bytes()),
            (Text::Map, self.map.as_bytes()),
            (Text::Mode, self.gametype.as_bytes()),
            (Text::Version, self.version.as_bytes()),
        ]);
        let small = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
        facts.app_id = self.appid;
        facts.players = small(self.players);
        facts.bots = small(self.bots);
        facts.places = small(self.max_players);
        facts.flags = Flags {
            secure: self.secure,
            dedicated: self.dedicated,
            linux: self.os == "l",
            ..Flags::default()
        };
        Followed {
            addr: self.addr,
            family: Family::Steam,
            facts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Followed> {
        parse("test", text.as_bytes()).unwrap().servers
    }

    #[test]
    fn the_three_forms_are_read_and_entries_without_sense_passed_over() {
        let ours = read(
            r#"{"at":1,"servers":[{"addr":"192.0.2.1:5","family":"quake3","protocol":71,"map":"m"},{"addr":"x"}]}"#,
        );
        assert_eq!((ours.len(), ours[0].family), (1, Family::Quake3));
        assert_eq!(ours[0].facts.text(Text::Map), b"m");
        let steam = read(
            r#"{"response":{"servers":[{"addr":"192.0.2.1:27015","gameport":27015,"steamid":"9","name":"n","appid":440,"gamedir":"tf","version":"8","product":"tf","region":3,"players":5,"max_players":24,"bots":0,"map":"cp_x","secure":true,"dedicated":true,"os":"l","gametype":"a,b"}]}}"#,
        );
        assert_eq!(
            (steam[0].family, steam[0].facts.app_id),
            (Family::Steam, 440)
        );
        assert!(steam[0].facts.flags.linux && steam[0].facts.places == 24);
        let plain = read(r#"["192.0.2.1:1","[2001:db8::1]:2",7]"#);
        assert_eq!(plain.len(), 2);
        assert!(read(r#"{"response":{}}"#).is_empty(), "Steam's empty list");
    }

    #[test]
    fn a_document_without_a_list_is_refused() {
        for bad in ["", "<html>", "{}", r#"{"error":"down"}"#, "3"] {
            assert!(parse("test", bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
