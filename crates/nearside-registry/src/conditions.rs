//! Steam's filter language, read once and then judged on many servers.

use std::net::IpAddr;

use nearside_types::ServerAddr;
use nearside_wire::steam::{Combine, Condition, Region};

use crate::region::is_in;
use crate::server::{Facts, Server, Text};
use crate::traits::{Trait, Traits};

/// One condition as it is tested.
#[derive(Debug)]
pub(crate) enum Test {
    /// A key that is not known, or one that is switched off: selects nothing away, as Valve's master
    /// did.
    Nothing,
    /// The text is this, whatever the case.
    Text(Text, Vec<u8>),
    /// The text is like this pattern.
    Like(Text, Vec<u8>),
    /// The text has all these tags.
    AllTags(Text, Vec<Vec<u8>>),
    /// The text has one of these tags.
    AnyTag(Text, Vec<Vec<u8>>),
    /// The game has this number, or has another.
    App { id: Option<u32>, wanted: bool },
    /// The server has a trait, or has it not.
    Trait(Trait, bool),
    /// The server is in a region.
    Region(Region),
    /// The server is at this address, or at this port of it.
    Address(Option<IpAddr>, Option<ServerAddr>),
    /// Several, combined.
    Group(Combine, Vec<Self>),
}

impl Test {
    pub(crate) fn of(condition: &Condition) -> Self {
        match condition {
            Condition::Is { key, value } => Self::of_pair(key.as_bytes(), value.as_bytes()),
            Condition::Group { how, conditions } => {
                Self::Group(*how, conditions.iter().map(Self::of).collect())
            }
        }
    }

    /// The text is this, cut as those of servers are: a long name is found by all of it.
    pub(crate) fn text(which: Text, wanted: &[u8]) -> Self {
        Self::Text(which, which.kept(wanted))
    }

    fn of_pair(key: &[u8], value: &[u8]) -> Self {
        let on = value != b"0";
        let wants = |one, wanted| match on {
            true => Self::Trait(one, wanted),
            false => Self::Nothing,
        };
        let app = |wanted| Self::App {
            id: number(value),
            wanted,
        };
        match key.to_ascii_lowercase().as_slice() {
            b"gamedir" => Self::text(Text::Game, value),
            b"map" => Self::text(Text::Map, value),
            b"appid" => app(true),
            b"napp" | b"nappid" => app(false),
            b"dedicated" => wants(Trait::Dedicated, true),
            b"type" if value == b"d" => Self::Trait(Trait::Dedicated, true),
            b"secure" => wants(Trait::Secure, true),
            b"linux" => wants(Trait::Linux, true),
            b"proxy" => wants(Trait::Proxy, true),
            b"password" => Self::Trait(Trait::Password, on),
            // "Is not empty", "is not full", "is empty": the keys say less than they seem to.
            b"empty" => wants(Trait::Empty, false),
            b"full" => wants(Trait::Full, false),
            b"noplayers" => wants(Trait::Empty, true),
            b"gametype" => Self::AllTags(Text::Mode, tags_of(value)),
            b"gamedata" => Self::AllTags(Text::Data, tags_of(value)),
            b"gamedataor" => Self::AnyTag(Text::Data, tags_of(value)),
            b"name_match" => Self::Like(Text::Name, value.to_vec()),
            b"version_match" => Self::Like(Text::Version, value.to_vec()),
            b"gameaddr" => Self::of_address(value),
            b"own" => wants(Trait::Followed, false),
            _ => Self::Nothing,
        }
    }

    /// `192.0.2.1` or `192.0.2.1:27015`.
    fn of_address(value: &[u8]) -> Self {
        let text = std::str::from_utf8(value).unwrap_or_default();
        let ip = text.parse().ok();
        Self::Address(ip.map(|ip: IpAddr| ip.to_canonical()), text.parse().ok())
    }

    pub(crate) fn holds(&self, server: &Server) -> bool {
        let facts = &server.facts;
        match self {
            Self::Nothing => true,
            Self::Text(which, wanted) => facts.text(*which).eq_ignore_ascii_case(wanted),
            Self::Like(which, pattern) => is_like(pattern, facts.text(*which)),
            Self::AllTags(which, tags) => tags.iter().all(|tag| has_tag(facts, *which, tag)),
            Self::AnyTag(which, tags) => tags.iter().any(|tag| has_tag(facts, *which, tag)),
            Self::App { id, wanted } => (*id == Some(facts.app_id)) == *wanted,
            Self::Trait(one, wanted) => one.is_of(server) == *wanted,
            Self::Region(region) => is_in(*region, server.origin.country),
            Self::Address(ip, addr) => *addr == Some(server.addr) || *ip == Some(server.addr.ip()),
            Self::Group(how, tests) => {
                let all = || tests.iter().all(|test| test.holds(server));
                let any = || tests.iter().any(|test| test.holds(server));
                match how {
                    Combine::And => all(),
                    Combine::Or => any(),
                    Combine::Nand => !all(),
                    Combine::Nor => !any(),
                }
            }
        }
    }

    /// Whether the test holds for all servers with these traits, or for none of them; `None` if each
    /// has to be looked at.
    pub(crate) fn is_decided_by(&self, traits: Traits) -> Option<bool> {
        match self {
            Self::Nothing => Some(true),
            Self::Trait(one, wanted) => Some(traits.has(*one) == *wanted),
            Self::Region(region) => Some(traits.are_in(*region)),
            // Not a number, not an address: nobody is that.
            Self::App { id: None, wanted } => Some(!wanted),
            Self::Address(None, None) => Some(false),
            Self::Group(how, tests) => {
                let all = || all_hold(tests, traits);
                let any = || any_holds(tests, traits);
                match how {
                    Combine::And => all(),
                    Combine::Or => any(),
                    Combine::Nand => all().map(|all| !all),
                    Combine::Nor => any().map(|any| !any),
                }
            }
            _ => None,
        }
    }

    /// What testing one server takes, in the units of [`crate::scans`]. How often a pattern is begun
    /// anew depends on the server's name, which has 64 bytes at most: behind 32, a longer pattern makes
    /// no more work.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Nothing | Self::App { .. } | Self::Trait(..) | Self::Region(_) => 1,
            Self::Address(..) => 1,
            Self::Text(..) => 4,
            Self::Like(_, pattern) => 8 + pattern.len().min(32),
            Self::AllTags(_, tags) | Self::AnyTag(_, tags) => 1 + 8 * tags.len(),
            Self::Group(_, tests) => 1 + tests.iter().map(Self::cost).sum::<usize>(),
        }
    }
}

/// Whether all tests hold for servers with these traits, as far as that can be told without them.
pub(crate) fn all_hold(tests: &[Test], traits: Traits) -> Option<bool> {
    let mut all = Some(true);
    for test in tests {
        match test.is_decided_by(traits) {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

/// The same for one of them.
fn any_holds(tests: &[Test], traits: Traits) -> Option<bool> {
    let mut any = Some(false);
    for test in tests {
        match test.is_decided_by(traits) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => any = None,
        }
    }
    any
}

/// An app id.
pub(crate) fn number(value: &[u8]) -> Option<u32> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',')
        .filter(|tag| !tag.is_empty())
}

fn tags_of(value: &[u8]) -> Vec<Vec<u8>> {
    tags(value).map(<[u8]>::to_vec).collect()
}

fn has_tag(facts: &Facts, text: Text, tag: &[u8]) -> bool {
    tags(facts.text(text)).any(|own| own.eq_ignore_ascii_case(tag))
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
    fn what_a_condition_costs_grows_with_all_that_whoever_asks_can_write() {
        let cost = |filter: &str| -> usize {
            let filter: nearside_wire::steam::Filter = filter.parse().unwrap();
            filter.conditions().iter().map(|c| Test::of(c).cost()).sum()
        };
        assert!(cost(r"\map\a\map\b") > cost(r"\map\a"));
        assert!(cost(r"\nor\2\map\a\map\b") > cost(r"\map\a\map\b"));
        assert!(cost(r"\name_match\*a*b*c*") > cost(r"\name_match\*a*"));
        assert!(cost(r"\gametype\a,b,c") > 2 * cost(r"\gametype\a"));
    }
}
