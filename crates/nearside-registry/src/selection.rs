//! Which servers a query asks for: Quake 3 words and Steam's filter language, judged on what is
//! known of a server.

use nearside_wire::steam::{Filter, Region};
use nearside_wire::{GameText, quake3, steam};

use crate::conditions::{Test, all_hold, number};
use crate::scans;
use crate::server::{Family, Server, Text};
use crate::traits::{Trait, Traits};

/// What a query selects; equal selections share one view.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selection {
    /// The words of a `getservers`.
    Quake3 {
        /// The game; any of this protocol if missing, as old games ask.
        game: Option<String>,
        /// The protocol.
        protocol: u32,
        /// Also empty servers.
        empty: bool,
        /// Also full servers.
        full: bool,
        /// A game mode.
        mode: Option<String>,
        /// IPv4 servers.
        ipv4: bool,
        /// IPv6 servers.
        ipv6: bool,
        /// None that are only followed.
        own: bool,
    },
    /// A `0x31` filter.
    Steam {
        /// The region's byte.
        region: u8,
        /// The filter without what only concerns the form of the answer.
        filter: Vec<u8>,
    },
}

impl Selection {
    /// What a Quake 3 list request asks for. The plain form cannot carry IPv6.
    pub fn of_quake3(request: &quake3::master::ListRequest) -> Self {
        let both = request.ipv4 == request.ipv6;
        let mode = request.other.iter().find_map(|word| {
            let named = word.strip_prefix("gametype=").map(str::to_owned);
            named.or_else(|| mode_number(word).map(str::to_owned))
        });
        Self::Quake3 {
            game: request.game.as_ref().map(|game| game.to_ascii_lowercase()),
            protocol: request.protocol,
            empty: request.empty,
            full: request.full,
            mode,
            ipv4: !request.extended || both || request.ipv4,
            ipv6: request.extended && (both || request.ipv6),
            own: request.other.iter().any(|word| word == "own"),
        }
    }

    /// What a Steam list request asks for.
    pub fn of_steam(request: &steam::ListRequest) -> Self {
        let filter = request.filter.clone();
        let filter = filter.without("challenge").without("origin").emit();
        Self::Steam {
            region: request.region.byte(),
            // Nothing depends on the case, so all ways to write it are one question.
            filter: filter.as_bytes().to_ascii_lowercase(),
        }
    }

    /// The question, ready to be answered.
    pub(crate) fn question(&self) -> Question {
        match self {
            Self::Quake3 {
                game,
                protocol,
                mode,
                ..
            } => Question {
                number: Some(*protocol),
                game: game.as_ref().map(|game| Text::Game.kept(game.as_bytes())),
                is_whole_game: mode.is_none(),
                ..Question::of(Family::Quake3, self.words())
            },
            Self::Steam { region, filter } => {
                let filter = Filter::parse(filter).unwrap_or_default();
                let value = |key| filter.get(key).map(GameText::as_bytes);
                let mut tests: Vec<Test> = filter.conditions().iter().map(Test::of).collect();
                tests.push(Test::Region(Region::from_byte(*region)));
                // These lists have no room for IPv6.
                tests.push(Test::Trait(Trait::Ipv6, false));
                Question {
                    number: value(APP).and_then(number),
                    game: value(GAME).map(|game| Text::Game.kept(game)),
                    is_whole_game: is_whole_game(*region, &filter),
                    collapse: value(COLLAPSE) == Some(b"1"),
                    ..Question::of(Family::Steam, tests)
                }
            }
        }
    }

    /// What the words of a `getservers` ask of a server, its protocol aside.
    fn words(&self) -> Vec<Test> {
        let Self::Quake3 {
            game,
            empty,
            full,
            mode,
            ipv4,
            ipv6,
            own,
            ..
        } = self
        else {
            return Vec::new();
        };
        let text = |which, wanted: &Option<String>| {
            let wanted = wanted.as_ref()?;
            Some(Test::text(which, wanted.as_bytes()))
        };
        let none = |one, unwanted: bool| unwanted.then_some(Test::Trait(one, false));
        let tests = [
            text(Text::Game, game),
            text(Text::Mode, mode),
            none(Trait::Empty, !empty),
            none(Trait::Full, !full),
            none(Trait::Followed, *own),
            none(Trait::Ipv6, !ipv6),
            (!ipv4).then_some(Test::Trait(Trait::Ipv6, true)),
        ];
        tests.into_iter().flatten().collect()
    }
}

/// What a selection asks of the shelf.
#[derive(Debug)]
pub(crate) struct Question {
    /// Which lists it is about.
    pub(crate) family: Family,
    /// A protocol of the Quake 3 family, an app id of Steam.
    pub(crate) number: Option<u32>,
    pub(crate) game: Option<Vec<u8>>,
    /// What must hold for a server, its game too: the index may find another one.
    pub(crate) tests: Vec<Test>,
    /// What looking at one server takes, in the units of [`scans`].
    pub(crate) cost: usize,
    /// Whether it asks for a whole game in one of few ways to ask for it, so that nobody can ask many
    /// different ones of this kind.
    pub(crate) is_whole_game: bool,
    /// Whether one server of each address is enough.
    pub(crate) collapse: bool,
}

impl Question {
    fn of(family: Family, tests: Vec<Test>) -> Self {
        Self {
            family,
            number: None,
            game: None,
            cost: scans::SERVER + tests.iter().map(Test::cost).sum::<usize>(),
            tests,
            is_whole_game: false,
            collapse: false,
        }
    }

    /// Whether it asks for this server.
    pub(crate) fn selects(&self, server: &Server) -> bool {
        let number = match self.family {
            Family::Quake3 => server.facts.protocol,
            Family::Steam | Family::Other => server.facts.app_id,
        };
        server.family == self.family
            && self.number.is_none_or(|wanted| wanted == number)
            && self.tests.iter().all(|test| test.holds(server))
    }

    /// Whether a server with these traits may be what it asks for.
    pub(crate) fn could_select(&self, traits: Traits) -> bool {
        all_hold(&self.tests, traits) != Some(false)
    }
}

/// The conditions that have an index.
const GAME: &str = "gamedir";
const APP: &str = "appid";
/// "Return only one server for each unique IP address matched": a word about the list, which no single
/// server can be asked.
const COLLAPSE: &str = "collapse_addr_hash";

/// Whether a filter names a game, by name or by number as it is usually written, and nothing else.
fn is_whole_game(region: u8, filter: &Filter) -> bool {
    let has_usual_number = |id: &GameText| {
        number(id.as_bytes()).is_some_and(|number| *id == number.to_string().into())
    };
    let named = [
        filter.get(GAME).map(|_| true),
        filter.get(APP).map(has_usual_number),
    ];
    let names: Vec<bool> = named.into_iter().flatten().collect();
    (region < 8 || region == 0xFF)
        && !names.contains(&false)
        && !names.is_empty()
        && names.len() == filter.conditions().len()
}

/// The short words of old clients.
fn mode_number(word: &str) -> Option<&'static str> {
    let modes = [("ffa", "0"), ("tourney", "1"), ("team", "3"), ("ctf", "4")];
    let found = modes.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::{Facts, Flags, Standing};
    use nearside_types::{Moment, Origin, ServerAddr};

    fn server() -> Server {
        Server {
            addr: ServerAddr::new([192, 0, 2, 7].into(), 27015).unwrap(),
            family: Family::Steam,
            standing: Standing::Verified,
            origin: Origin {
                asn: None,
                country: Some("DE".parse().unwrap()),
            },
            expires: Moment::EPOCH,
            facts: Facts {
                app_id: 240,
                players: 5,
                bots: 2,
                places: 16,
                flags: Flags {
                    dedicated: true,
                    linux: true,
                    ..Flags::default()
                },
                ..Facts::of_texts(&[
                    (Text::Game, b"cstrike"),
                    (Text::Name, b"Dust all day #1"),
                    (Text::Map, b"de_dust2"),
                    (Text::Mode, b"alltalk,nocrits"),
                    (Text::Version, b"1.0.0.71"),
                ])
            },
        }
    }

    fn selects(region: u8, filter: &str) -> bool {
        let filter = filter.as_bytes().to_vec();
        Selection::Steam { region, filter }
            .question()
            .selects(&server())
    }

    #[test]
    fn every_key_of_the_filter_language_says_yes_and_no() {
        for (yes, no) in [
            (r"\gamedir\CSTRIKE", r"\gamedir\tf"),
            (r"\map\de_dust2", r"\map\de_nuke"),
            (r"\appid\240", r"\appid\10"),
            (r"\napp\10", r"\napp\240"),
            (r"\dedicated\1\linux\1", r"\secure\1"),
            (r"\password\0", r"\password\1"),
            (r"\empty\1\full\1", r"\noplayers\1"),
            (r"\gametype\nocrits,alltalk", r"\gametype\alltalk,prophunt"),
            (r"\name_match\*ALL DAY*", r"\name_match\all*"),
            (r"\version_match\1.0.0.7*", r"\version_match\1.0"),
            (r"\gameaddr\192.0.2.7", r"\gameaddr\192.0.2.8"),
            (r"\gameaddr\192.0.2.7:27015", r"\gameaddr\192.0.2.7:27016"),
            (r"\nor\2\map\a\map\b", r"\nor\2\map\a\map\de_dust2"),
            (r"\nand\2\map\a\map\de_dust2", r"\nand\1\map\de_dust2"),
            (r"\or\2\map\a\map\de_dust2", r"\or\2\map\a\map\b"),
            (r"\nobody\knows", r"\proxy\1"),
        ] {
            assert!(selects(0xFF, yes), "{yes}");
            assert!(!selects(0xFF, no), "{no}");
        }
    }

    #[test]
    fn whole_games_are_told_from_questions_that_can_be_varied_without_end() {
        let is_whole = |filter: &str| {
            let request = steam::ListRequest::new(filter.parse().unwrap());
            Selection::of_steam(&request).question().is_whole_game
        };
        for whole in [
            r"\gamedir\cstrike",
            r"\appid\10",
            r"\gamedir\cstrike\appid\10",
        ] {
            assert!(is_whole(whole), "{whole}");
        }
        for other in [
            "",
            r"\gamedir\cstrike\map\x",
            r"\gamedir\cstrike\nobody\knows",
            r"\gamedir\cstrike\gamedir\cstrike",
            r"\appid\010",
            r"\appid\+10",
            r"\nor\1\gamedir\cstrike",
        ] {
            assert!(!is_whole(other), "{other}");
        }
        let request = |game: &str| {
            let filter = format!(r"\gamedir\{game}").parse().unwrap();
            Selection::of_steam(&steam::ListRequest::new(filter))
        };
        assert_eq!(request("CSTRIKE"), request("cstrike"));
    }

    #[test]
    fn regions_come_from_the_country() {
        assert!(selects(3, ""));
        assert!(!selects(4, ""));
    }

    #[test]
    fn quake3_words_choose_game_crowd_mode_and_family() {
        let mut server = server();
        server.family = Family::Quake3;
        server.facts.protocol = 71;
        let mut request = quake3::master::ListRequest::new(Some("CSTRIKE"), 71);
        let selects = |request: &quake3::master::ListRequest, server: &Server| {
            Selection::of_quake3(request).question().selects(server)
        };
        assert!(selects(&request, &server));
        request.other = vec!["gametype=4".to_owned()];
        assert!(!selects(&request, &server));
        request.other.clear();
        server.facts.players = 2;
        request.empty = false;
        assert!(!selects(&request, &server), "bots alone are nobody");
        request.empty = true;
        server.addr = "[2001:db8::1]:27960".parse().unwrap();
        assert!(!selects(&request, &server), "plain lists have no IPv6");
        request.extended = true;
        assert!(selects(&request, &server));
        request.ipv4 = true;
        assert!(!selects(&request, &server));
    }
}
