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
    parse_up_to(usize::MAX, place, body)
}

/// The same where at most so many entries are sent: a document with as many may lack others.
pub(super) fn parse_up_to(most: usize, place: &str, body: &[u8]) -> Result<Fetched, FetchError> {
    let wrong = |reason: String| FetchError::Document {
        place: place.to_owned(),
        reason,
    };
    let document: Value =
        serde_json::from_slice(body).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let list = document
        .get("servers")
        .or_else(|| document.pointer("/response/servers"))
        .unwrap_or(&document);
    let entries = match list {
        Value::Array(entries) => entries.as_slice(),
        _ if is_empty_of_steam(&document) => &[],
        _ => return Err(wrong("there is no array `servers` in it".to_owned())),
    };
    Ok(Fetched {
        servers: entries.iter().filter_map(entry).collect(),
        wholeness: match entries.len() < most {
            true => Wholeness::Whole,
            false => Wholeness::Partial,
        },
    })
}

/// Steam leaves the list out where it is empty; something else in its place is no list.
fn is_empty_of_steam(document: &Value) -> bool {
    let response = document.get("response").and_then(Value::as_object);
    response.is_some_and(|response| !response.contains_key("servers"))
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
        facts: row.facts.facts(),
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
    fn a_list_as_long_as_a_list_may_be_does_not_count_as_whole() {
        let text = br#"{"response":{"servers":[{"addr":"192.0.2.1:1","appid":1},{"addr":"?"}]}}"#;
        let wholeness = |most| parse_up_to(most, "test", text).unwrap().wholeness;
        assert_eq!(wholeness(3), Wholeness::Whole);
        assert_eq!(wholeness(2), Wholeness::Partial, "whatever its entries say");
    }

    #[test]
    fn a_document_without_a_list_is_refused() {
        let no_lists = [
            r#"{"response":{"servers":"x"}}"#,
            r#"{"response":{"servers":null}}"#,
            r#"{"response":"x"}"#,
            r#"{"error":"down"}"#,
        ];
        for bad in ["", "<html>", "{}", "3"].into_iter().chain(no_lists) {
            assert!(parse("test", bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
