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
    unsaid: Unsaid,
}

/// What a join left out that A2S_INFO tells: servers of GoldSource name neither their app id nor
/// themselves.
#[derive(Debug, Clone, Copy, Default)]
struct Unsaid {
    app_id: bool,
    kind: bool,
    secure: bool,
    system: bool,
    texts: [bool; 6],
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
        let game = match game {
            [] => game_of_protocol(number(protocol)),
            named => named,
        };
        Self {
            challenge: text(challenge),
            numbers: quake3_numbers(
                [protocol, clients, places].map(number),
                [bots, players.or(humans), needs.or(password)].map(number),
            ),
            texts: [game, name, map, mode, version, b""],
            unsaid: Unsaid::default(),
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
        let unsaid = Unsaid {
            app_id: app_id.is_none(),
            kind: kind.is_none(),
            secure: secure.is_none(),
            system: system.is_none(),
            texts: texts.map(|text| text.is_none()),
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
            unsaid,
        }
    }

    /// Whether A2S_INFO would tell more.
    pub(crate) const fn leaves_questions(&self) -> bool {
        let Unsaid { app_id, kind, .. } = self.unsaid;
        app_id || kind || self.unsaid.texts[Text::Name as usize]
    }

    /// Whether it is the game that is known of this server.
    pub(crate) fn is_of_game(&self, facts: &Facts) -> bool {
        let game = self.texts[Text::Game as usize];
        facts.text(Text::Game).eq_ignore_ascii_case(game)
    }

    /// What it left out as it was known before, if it still is the same game.
    pub(crate) fn completed<'b>(&self, before: &'b Facts) -> Said<'b>
    where
        'a: 'b,
    {
        if !self.is_of_game(before) {
            return *self;
        }
        let Unsaid {
            app_id,
            kind,
            secure,
            system,
            texts,
        } = self.unsaid;
        let (known, mut said) = (before.flags, *self);
        if let Ok(numbers) = &mut said.numbers {
            let flags = &mut numbers.flags;
            let keep = |said: &mut bool, unsaid: bool, known: bool| *said |= unsaid && known;
            keep(&mut flags.dedicated, kind, known.dedicated);
            keep(&mut flags.proxy, kind, known.proxy);
            keep(&mut flags.secure, secure, known.secure);
            keep(&mut flags.linux, system, known.linux);
            if app_id {
                numbers.app_id = before.app_id;
            }
        }
        for (at, text) in Text::ALL
            .into_iter()
            .enumerate()
            .filter(|(at, _)| texts[*at])
        {
            said.texts[at] = before.text(text);
        }
        said
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

/// The game of servers that say none: those of the family that are older than `gamename`, under the
/// names that `getserversExt` calls them by.
fn game_of_protocol(protocol: Option<u32>) -> &'static [u8] {
    match protocol {
        Some(66..=68 | 71) => b"Quake3Arena",
        Some(50 | 59 | 60) => b"wolfmp",
        Some(72 | 80 | 83 | 84) => b"et",
        _ => b"",
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
    fn what_a_join_leaves_out_stays_as_it_is_known_of_the_same_game() {
        let said = |line: &'static [u8]| Said::of_steam(InfoView::of_join(line).unwrap());
        let join = said(b"0\n\\protocol\\48\\players\\3\\max\\8\\gamedir\\cstrike\\map\\de_nuke");
        let mut known = Facts::of_texts(&[
            (Text::Game, b"CStrike"),
            (Text::Name, b"Keep"),
            (Text::Map, b"de_dust2"),
        ]);
        (known.app_id, known.flags.dedicated) = (10, true);
        assert!(join.leaves_questions());
        let facts = join.completed(&known).facts().unwrap();
        assert_eq!((facts.app_id, facts.flags.dedicated), (10, true));
        assert_eq!(facts.text(Text::Name), b"Keep");
        assert_eq!(facts.text(Text::Map), b"de_nuke");
        assert!(join.completed(&facts).is_known(&facts), "and is no news");
        let other = said(b"0\n\\protocol\\48\\players\\3\\max\\8\\gamedir\\valve");
        assert_eq!(other.completed(&known).facts().unwrap().app_id, 0);
        let whole =
            b"0\n\\protocol\\48\\players\\3\\max\\8\\gamedir\\cstrike\\appid\\10\\type\\l\\name\\x";
        let whole = said(whole);
        assert!(!whole.leaves_questions());
        assert!(!whole.completed(&known).facts().unwrap().flags.dedicated);
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
