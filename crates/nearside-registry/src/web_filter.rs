//! Which servers a web list shows: query parameters, all of which must hold.

use nearside_types::{Asn, Country};
use nearside_wire::steam::Region;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::conditions::is_like;
use crate::region::is_in;
use crate::server::{Family, Server, Standing, Text};

/// The parameters of a list request. Texts match whatever the case, with `*` for anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebFilter {
    /// `quake3`, `steam` or `other`.
    pub family: Option<Family>,
    /// The game.
    pub game: Option<String>,
    /// The protocol number.
    pub protocol: Option<u32>,
    /// Steam's number of the game.
    pub app_id: Option<u32>,
    /// The server's name.
    pub name: Option<String>,
    /// The map.
    pub map: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// The game's version.
    pub version: Option<String>,
    /// The country.
    pub country: Option<Country>,
    /// The origin AS.
    #[serde(rename = "as")]
    pub asn: Option<Asn>,
    /// Steam's number of a region: 0 to 7, or 255 for the world.
    #[serde(deserialize_with = "region")]
    pub region: Option<u8>,
    /// With 0 no empty servers, with 1 only those.
    #[serde(deserialize_with = "flag")]
    pub empty: Option<u8>,
    /// With 0 no full servers, with 1 only those.
    #[serde(deserialize_with = "flag")]
    pub full: Option<u8>,
    /// With 0 none with a password, with 1 only those.
    #[serde(deserialize_with = "flag")]
    pub password: Option<u8>,
    /// With 0 IPv4 only, with 1 IPv6 only.
    #[serde(deserialize_with = "flag")]
    pub ipv6: Option<u8>,
    /// With 1 none that only other masters list, with 0 only those.
    #[serde(deserialize_with = "flag")]
    pub own: Option<u8>,
}

/// A flag is 0 or 1: what else could it mean?
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    one_of(deserializer, |flag| flag <= 1, "0 or 1")
}

fn region<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let words = "0 to 7 (US east, US west, South America, Europe, Asia, Australia, Middle East, \
                 Africa), or 255 for the world";
    one_of(deserializer, |region| region <= 7 || region == 0xFF, words)
}

/// A number of those that are allowed; who writes another is told which are.
fn one_of<'de, D: Deserializer<'de>>(
    deserializer: D,
    is_allowed: fn(u8) -> bool,
    words: &str,
) -> Result<Option<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = text.parse().ok().filter(|number| is_allowed(*number));
    let wrong = || D::Error::custom(format_args!("`{text}` is not allowed; write {words}"));
    number.map(Some).ok_or_else(wrong)
}

impl WebFilter {
    /// Whether it selects all.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// The same in the fewest words, so that two spellings of one filter are one.
    #[must_use]
    pub fn simplified(self) -> Self {
        let whole_world = Region::from_byte(0xFF);
        let region = self.region;
        Self {
            game: self.game.and_then(simplified),
            name: self.name.and_then(simplified),
            map: self.map.and_then(simplified),
            mode: self.mode.and_then(simplified),
            version: self.version.and_then(simplified),
            region: region.filter(|region| Region::from_byte(*region) != whole_world),
            ..self
        }
    }

    /// Whether a server is selected.
    pub fn selects(&self, server: &Server) -> bool {
        let facts = &server.facts;
        let text = |wanted: &Option<String>, which| {
            let like = |wanted: &String| is_like(wanted.as_bytes(), facts.text(which));
            wanted.as_ref().is_none_or(like)
        };
        let flag = |wanted: Option<u8>, is: bool| wanted.is_none_or(|wanted| (wanted != 0) == is);
        let number = |wanted: Option<u32>, is| wanted.is_none_or(|wanted| wanted == is);
        self.family.is_none_or(|family| family == server.family)
            && number(self.protocol, facts.protocol)
            && number(self.app_id, facts.app_id)
            && self.asn.is_none_or(|asn| server.origin.asn == Some(asn))
            && (self.country).is_none_or(|country| server.origin.country == Some(country))
            && (self.region)
                .is_none_or(|region| is_in(Region::from_byte(region), server.origin.country))
            && flag(self.empty, facts.is_empty())
            && flag(self.full, facts.is_full())
            && flag(self.password, facts.flags.password)
            && flag(self.ipv6, server.addr.ip().is_ipv6())
            && flag(self.own, server.standing != Standing::Followed)
            && text(&self.game, Text::Game)
            && text(&self.name, Text::Name)
            && text(&self.map, Text::Map)
            && text(&self.mode, Text::Mode)
            && text(&self.version, Text::Version)
    }
}

/// A pattern in small letters, with one star where several stood; `None` if it is like anything.
fn simplified(mut pattern: String) -> Option<String> {
    pattern.make_ascii_lowercase();
    let mut last = None;
    pattern.retain(|next| last.replace(next) != Some('*') || next != '*');
    (pattern != "*").then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Facts;
    use nearside_types::{Moment, Origin};

    fn server() -> Server {
        Server {
            addr: "192.0.2.7:27960".parse().unwrap(),
            family: Family::Quake3,
            standing: Standing::Verified,
            origin: Origin {
                asn: Some(Asn(64496)),
                country: "DE".parse().ok(),
            },
            expires: Moment::EPOCH,
            facts: Facts {
                protocol: 71,
                players: 3,
                places: 8,
                ..Facts::of_texts(&[(Text::Game, b"Quake3Arena"), (Text::Map, b"oa_dm1")])
            },
        }
    }

    type Change = fn(&mut WebFilter);

    #[test]
    fn every_parameter_says_yes_and_no() {
        let text = |text: &str| Some(text.to_owned());
        let of = |change: Change| {
            let mut filter = WebFilter::default();
            change(&mut filter);
            filter
        };
        let pairs: [(Change, Change); 10] = [
            (
                |f| f.family = Some(Family::Quake3),
                |f| {
                    f.family = Some(Family::Other);
                },
            ),
            (|f| f.protocol = Some(71), |f| f.protocol = Some(68)),
            (|f| f.app_id = Some(0), |f| f.app_id = Some(10)),
            (|f| f.asn = Some(Asn(64496)), |f| f.asn = Some(Asn(1))),
            (
                |f| f.country = "DE".parse().ok(),
                |f| {
                    f.country = "FR".parse().ok();
                },
            ),
            (|f| f.region = Some(3), |f| f.region = Some(4)),
            (|f| f.empty = Some(0), |f| f.empty = Some(1)),
            (|f| f.full = Some(0), |f| f.full = Some(1)),
            (|f| f.own = Some(1), |f| f.own = Some(0)),
            (|f| f.ipv6 = Some(0), |f| f.ipv6 = Some(1)),
        ];
        for (at, (yes, no)) in pairs.into_iter().enumerate() {
            assert!(of(yes).selects(&server()), "{at}");
            assert!(!of(no).selects(&server()), "{at}");
        }
        let like = WebFilter {
            game: text("quake*"),
            map: text("OA_DM1"),
            ..WebFilter::default()
        };
        assert!(like.selects(&server()));
        let unlike = WebFilter {
            map: text("dm1"),
            ..WebFilter::default()
        };
        assert!(!unlike.selects(&server()));
    }

    #[test]
    fn spellings_of_one_filter_are_one() {
        let filter = |name: &str, region| WebFilter {
            name: Some(name.to_owned()),
            region,
            ..WebFilter::default()
        };
        assert!(filter("***", Some(0xFF)).simplified().is_all());
        let spellings = ["**A**b*", "*a*B***", "*a*b*"].map(|name| filter(name, None));
        let simple = spellings.map(WebFilter::simplified);
        assert!(simple.iter().all(|other| *other == filter("*a*b*", None)));
        assert!(!filter("", None).simplified().is_all(), "nameless servers");
    }
}
