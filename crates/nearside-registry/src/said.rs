//! What a server says of itself, read where it lies in the datagram. Most heartbeats bring no news,
//! and those are recognised without a copy.

use nearside_wire::quake3::InfoView;

use crate::refusals::Refusal;
use crate::server::{Facts, Flags, Text, small};

/// A server's answer: what it repeats and what it says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said<'a> {
    /// The challenge it repeats; empty if it repeats none.
    pub(crate) challenge: &'a [u8],
    /// Facts without texts, or what is missing.
    numbers: Result<Numbers, &'static str>,
    texts: [&'a [u8]; 6],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbers {
    protocol: u32,
    app_id: u32,
    players: u16,
    bots: u16,
    places: u16,
    flags: Flags,
}

impl<'a> Said<'a> {
    /// From an `infoResponse`.
    pub(crate) fn of_quake3(view: InfoView<'a>) -> Self {
        let found = first(
            view,
            [
                "challenge",
                "protocol",
                "clients",
                "sv_maxclients",
                "bots",
                "g_humanplayers",
                "humans",
                "g_needpass",
                "needpass",
                "gamename",
                "hostname",
                "mapname",
                "gametype",
                "version",
            ],
        );
        let [challenge, protocol, clients, places, rest @ ..] = found;
        let [bots, players, humans, needs, password, texts @ ..] = rest;
        let text = Option::unwrap_or_default;
        let [game, name, map, mode, version] = texts.map(text);
        Self {
            challenge: text(challenge),
            numbers: quake3_numbers(
                [protocol, clients, places].map(number),
                [bots, players.or(humans), needs.or(password)].map(number),
            ),
            texts: [game, name, map, mode, version, b""],
        }
    }

    /// From the join of a GoldSource server.
    pub(crate) fn of_steam(view: InfoView<'a>) -> Self {
        let found = first(
            view,
            [
                "challenge",
                "protocol",
                "players",
                "max",
                "bots",
                "appid",
                "password",
                "type",
                "secure",
                "os",
                "proxy",
                "gamedir",
                "name",
                "map",
                "gametype",
                "version",
                "gamedata",
            ],
        );
        let [
            challenge,
            protocol,
            players,
            places,
            bots,
            app_id,
            flags @ ..,
        ] = found;
        let [password, kind, secure, system, proxy, texts @ ..] = flags;
        let is = |value: Option<&[u8]>, wanted: &[u8]| {
            value.is_some_and(|value| value.eq_ignore_ascii_case(wanted))
        };
        let texts = texts.map(Option::unwrap_or_default);
        let flags = Flags {
            password: is(password, b"1"),
            dedicated: is(kind, b"d"),
            secure: is(secure, b"1"),
            linux: is(system, b"l"),
            proxy: is(kind, b"p") || is(proxy, b"1"),
        };
        let numbers = steam_numbers([protocol, players, places, bots, app_id].map(number), flags);
        Self {
            challenge: challenge.unwrap_or_default(),
            numbers: match texts[Text::Game as usize] {
                [] => Err("gamedir"),
                _ => numbers,
            },
            texts,
        }
    }

    /// What is to be kept of it, or what it lacks.
    pub(crate) fn facts(&self) -> Result<Facts, Refusal> {
        let numbers = self.numbers.map_err(Refusal::Incomplete)?;
        let texts: [_; 6] = std::array::from_fn(|at| (Text::ALL[at], self.texts[at]));
        Ok(Facts {
            protocol: numbers.protocol,
            app_id: numbers.app_id,
            players: numbers.players,
            bots: numbers.bots,
            places: numbers.places,
            flags: numbers.flags,
            ..Facts::of_texts(&texts)
        })
    }

    /// Whether this is known already.
    pub(crate) fn is_known(&self, facts: &Facts) -> bool {
        let known = Numbers {
            protocol: facts.protocol,
            app_id: facts.app_id,
            players: facts.players,
            bots: facts.bots,
            places: facts.places,
            flags: facts.flags,
        };
        self.numbers == Ok(known) && facts.has_texts(self.texts)
    }
}

/// dpmaster's rule of what must be there, since every game of the family was made to satisfy it.
fn quake3_numbers(
    [protocol, clients, places]: [Option<u32>; 3],
    [bots, humans, password]: [Option<u32>; 3],
) -> Result<Numbers, &'static str> {
    let clients_here = clients.ok_or("clients");
    let derived = || clients?.checked_sub(humans?);
    Ok(Numbers {
        protocol: protocol.ok_or("protocol")?,
        app_id: 0,
        players: small(clients_here?),
        bots: small(bots.or_else(derived).unwrap_or(0)),
        places: small(places.filter(|places| *places > 0).ok_or("sv_maxclients")?),
        flags: Flags {
            password: password.is_some_and(|flag| flag != 0),
            dedicated: true,
            ..Flags::default()
        },
    })
}

fn steam_numbers(
    [protocol, players, places, bots, app_id]: [Option<u32>; 5],
    flags: Flags,
) -> Result<Numbers, &'static str> {
    Ok(Numbers {
        protocol: protocol.ok_or("protocol")?,
        app_id: app_id.unwrap_or(0),
        players: small(players.ok_or("players")?),
        bots: small(bots.unwrap_or(0)),
        places: small(places.filter(|places| *places > 0).ok_or("max")?),
        flags,
    })
}

/// The first value of each key, whatever its case, in one pass over the datagram.
fn first<'a, const N: usize>(view: InfoView<'a>, keys: [&str; N]) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    for (name, value) in view.pairs() {
        let at = keys
            .iter()
            .position(|key| name.eq_ignore_ascii_case(key.as_bytes()));
        if let Some(at) = at {
            found[at] = found[at].or(Some(value));
        }
    }
    found
}

fn number(value: Option<&[u8]>) -> Option<u32> {
    std::str::from_utf8(value?).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENARENA: &str = "\\g_needpass\\0\\gametype\\0\\sv_maxclients\\8\\clients\\3\\mapname\\oa_dm1\\hostname\\^1noname\\protocol\\71\\gamename\\Quake3Arena\\challenge\\abc";

    fn facts(line: &str) -> Result<Facts, Refusal> {
        let datagram = [b"\xFF\xFF\xFF\xFFinfoResponse\n", line.as_bytes()].concat();
        let said = Said::of_quake3(InfoView::of_response(&datagram).unwrap());
        assert_eq!(said.challenge, b"abc");
        let facts = said.facts()?;
        assert!(said.is_known(&facts));
        let mut other = facts.clone();
        other.players += 1;
        assert!(!said.is_known(&other));
        Ok(facts)
    }

    #[test]
    fn what_openarena_says_is_kept() {
        let facts = facts(OPENARENA).unwrap();
        assert_eq!(facts.protocol, 71);
        assert_eq!((facts.players, facts.places), (3, 8));
        assert_eq!(facts.text(Text::Game), b"Quake3Arena");
        assert_eq!(facts.text(Text::Name), b"^1noname");
        assert_eq!(facts.text(Text::Map), b"oa_dm1");
        assert_eq!(facts.text(Text::Data), b"");
    }

    #[test]
    fn what_is_missing_is_named() {
        for key in ["protocol", "clients", "sv_maxclients"] {
            let without = OPENARENA.replace(&format!("\\{key}\\"), "\\other\\");
            assert_eq!(facts(&without), Err(Refusal::Incomplete(key)));
        }
        let twice = facts(&format!("{OPENARENA}\\sv_maxclients\\0"));
        assert!(twice.is_ok(), "the first value of a key counts");
    }

    #[test]
    fn bots_are_told_or_follow_from_the_humans() {
        let bots = |more: &str| facts(&format!("{OPENARENA}{more}")).unwrap().bots;
        assert_eq!(bots(""), 0);
        assert_eq!(bots("\\g_humanplayers\\1"), 2);
        assert_eq!(bots("\\humans\\9"), 0, "more humans than clients is a lie");
        assert_eq!(bots("\\humans\\1\\bots\\1"), 1);
    }
}
