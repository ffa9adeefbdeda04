//! Which servers a query asks for: Quake 3 words and Steam's filter language, judged on what is
//! known of a server.

use nearside_wire::steam::{Combine, Condition, Filter, Region};
use nearside_wire::{GameText, quake3, steam};

use crate::region::is_in;
use crate::server::{Facts, Family, Server, Standing, Text};
use crate::shelf::Groups;

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
            game: request.game.clone(),
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
            filter: filter.as_bytes().to_vec(),
        }
    }

    /// Where its servers stand.
    pub(crate) fn groups(&self) -> Groups {
        match self {
            Self::Quake3 { protocol, game, .. } => {
                let game = game.as_ref().map(String::as_bytes);
                Groups::of(Family::Quake3, Some(*protocol), game)
            }
            Self::Steam { filter, .. } => {
                let filter = Filter::parse(filter).unwrap_or_default();
                let game = filter
                    .conditions()
                    .iter()
                    .find_map(|condition| match condition {
                        Condition::Is { key, value } => is_game(key).then_some(value.as_bytes()),
                        Condition::Group { .. } => None,
                    });
                Groups::of(Family::Steam, None, game)
            }
        }
    }

    /// The test for single servers of the group.
    pub(crate) fn matcher(&self) -> Box<dyn Fn(&Server) -> bool + '_> {
        match self {
            Self::Quake3 {
                game,
                empty,
                full,
                mode,
                ipv4,
                ipv6,
                own,
                ..
            } => Box::new(move |server| {
                let facts = &server.facts;
                let is = |wanted: &Option<String>, text| match wanted {
                    Some(wanted) => facts.text(text).eq_ignore_ascii_case(wanted.as_bytes()),
                    None => true,
                };
                let family = if server.addr.ip().is_ipv4() {
                    *ipv4
                } else {
                    *ipv6
                };
                let crowd = (*empty || !facts.is_empty()) && (*full || !facts.is_full());
                let known = !*own || server.standing != Standing::Followed;
                known && family && crowd && is(game, Text::Game) && is(mode, Text::Mode)
            }),
            Self::Steam { region, filter } => {
                let region = Region::from_byte(*region);
                let filter = Filter::parse(filter).unwrap_or_default();
                Box::new(move |server| {
                    // These lists have no room for IPv6.
                    server.addr.ip().is_ipv4()
                        && is_in(region, server.origin.country)
                        && all(filter.conditions(), server)
                })
            }
        }
    }
}

/// The short words of old clients.
fn mode_number(word: &str) -> Option<&'static str> {
    let modes = [("ffa", "0"), ("tourney", "1"), ("team", "3"), ("ctf", "4")];
    let found = modes.into_iter().find(|(name, _)| *name == word);
    found.map(|(_, number)| number)
}

/// The one condition that has an index.
fn is_game(key: &GameText) -> bool {
    key.as_bytes().eq_ignore_ascii_case(b"gamedir")
}

fn all(conditions: &[Condition], server: &Server) -> bool {
    conditions.iter().all(|condition| holds(condition, server))
}

fn holds(condition: &Condition, server: &Server) -> bool {
    match condition {
        Condition::Is { key, value } => is(key.as_bytes(), value, server),
        Condition::Group { how, conditions } => {
            let any = || conditions.iter().any(|condition| holds(condition, server));
            match how {
                Combine::And => all(conditions, server),
                Combine::Or => any(),
                Combine::Nand => !all(conditions, server),
                Combine::Nor => !any(),
            }
        }
    }
}

/// One `\key\value`. A key that is not known selects nothing away, as Valve's master did.
fn is(key: &[u8], value: &GameText, server: &Server) -> bool {
    let facts = &server.facts;
    let value = value.as_bytes();
    let on = value != b"0";
    let text = |which| facts.text(which).eq_ignore_ascii_case(value);
    let wants = |flag: bool| !on || flag;
    match key.to_ascii_lowercase().as_slice() {
        b"gamedir" => text(Text::Game),
        b"map" => text(Text::Map),
        b"appid" => number(value) == Some(facts.app_id),
        b"napp" | b"nappid" => number(value) != Some(facts.app_id),
        b"dedicated" => wants(facts.flags.dedicated),
        b"type" => value != b"d" || facts.flags.dedicated,
        b"secure" => wants(facts.flags.secure),
        b"linux" => wants(facts.flags.linux),
        b"proxy" => wants(facts.flags.proxy),
        b"password" => facts.flags.password == on,
        // "Is not empty", "is not full", "is empty": the keys say less than they seem to.
        b"empty" => wants(!facts.is_empty()),
        b"full" => wants(!facts.is_full()),
        b"noplayers" => wants(facts.is_empty()),
        b"gametype" => tags(value).all(|tag| has_tag(facts, Text::Mode, tag)),
        b"gamedata" => tags(value).all(|tag| has_tag(facts, Text::Data, tag)),
        b"gamedataor" => tags(value).any(|tag| has_tag(facts, Text::Data, tag)),
        b"name_match" => is_like(value, facts.text(Text::Name)),
        b"version_match" => is_like(value, facts.text(Text::Version)),
        b"gameaddr" => is_address(value, server),
        b"own" => wants(server.standing != Standing::Followed),
        _ => true,
    }
}

fn number(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',')
        .filter(|tag| !tag.is_empty())
}

fn has_tag(facts: &Facts, text: Text, tag: &[u8]) -> bool {
    tags(facts.text(text)).any(|own| own.eq_ignore_ascii_case(tag))
}

/// `192.0.2.1` or `192.0.2.1:27015`.
fn is_address(value: &[u8], server: &Server) -> bool {
    let Ok(text) = std::str::from_utf8(value) else {
        return false;
    };
    let whole = text
        .parse()
        .is_ok_and(|addr: nearside_types::ServerAddr| addr == server.addr);
    whole
        || text
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.to_canonical() == server.addr.ip())
}

/// Whether a text is like a pattern with `*` for anything, whatever the case. Takes time in
/// proportion to pattern times text at worst: it never goes back behind the last star.
pub(crate) fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(wanted) if wanted.eq_ignore_ascii_case(&text[t]) => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after_star, from)) => {
                    retry = Some((after_star, from + 1));
                    (p, t) = (after_star, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Flags;
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
        Selection::Steam { region, filter }.matcher()(&server())
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
    fn regions_come_from_the_country() {
        assert!(selects(3, ""));
        assert!(!selects(4, ""));
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text) in [("*", ""), ("a*b*c", "aXbYbZc"), ("**x", "x"), ("", "")] {
            assert!(is_like(pattern.as_bytes(), text.as_bytes()), "{pattern}");
        }
        for (pattern, text) in [("a*b", "ac"), ("a", "ab"), ("", "x"), ("*x", "xy")] {
            assert!(!is_like(pattern.as_bytes(), text.as_bytes()), "{pattern}");
        }
    }

    #[test]
    fn quake3_words_choose_game_crowd_mode_and_family() {
        let mut server = server();
        server.family = Family::Quake3;
        server.facts.protocol = 71;
        let mut request = quake3::master::ListRequest::new(Some("CSTRIKE"), 71);
        let selects = |request: &quake3::master::ListRequest, server: &Server| {
            Selection::of_quake3(request).matcher()(server)
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
