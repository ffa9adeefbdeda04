//! A server as JSON: written by lists, read by masters that follow.

use std::borrow::Cow;

use nearside_registry::{Facts, Family, Flags, Server, Standing, Text};
use nearside_types::{Asn, Country, ServerAddr};
use nearside_wire::GameText;
use serde::{Deserialize, Serialize};

/// One server with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRow<'a> {
    /// Where it answers.
    pub addr: ServerAddr,
    /// Which lists it belongs to.
    #[serde(default)]
    pub family: Family,
    /// How sure the master is.
    #[serde(default = "followed")]
    pub standing: Standing,
    /// Who lists it, if it did not register here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Cow<'a, str>>,
    /// Its origin AS.
    #[serde(rename = "as", default)]
    pub asn: Option<Asn>,
    /// Its country.
    #[serde(default)]
    pub country: Option<Country>,
    /// What it says of itself.
    #[serde(flatten)]
    pub facts: FactsRow<'a>,
    /// Seconds until it is taken off unless heard of; for operators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// What a server says of itself, as JSON: in lists and in registrations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FactsRow<'a> {
    /// The game.
    #[serde(default)]
    pub game: Cow<'a, str>,
    /// Its name, colour codes included.
    #[serde(default)]
    pub name: Cow<'a, str>,
    /// The map.
    #[serde(default)]
    pub map: Cow<'a, str>,
    /// The mode, or Steam's tags.
    #[serde(default)]
    pub mode: Cow<'a, str>,
    /// The version.
    #[serde(default)]
    pub version: Cow<'a, str>,
    /// Steam's hidden tags.
    #[serde(default)]
    pub data: Cow<'a, str>,
    /// The protocol number.
    #[serde(default)]
    pub protocol: u32,
    /// Steam's number of the game.
    #[serde(default)]
    pub app_id: u32,
    /// Who plays, bots included.
    #[serde(default)]
    pub players: u16,
    /// Of those, bots.
    #[serde(default)]
    pub bots: u16,
    /// Places.
    #[serde(default)]
    pub places: u16,
    /// A password is needed.
    #[serde(default)]
    pub password: bool,
    /// Runs without a player's screen.
    #[serde(default)]
    pub dedicated: bool,
    /// Uses VAC or the like.
    #[serde(default)]
    pub secure: bool,
    /// Runs on Linux.
    #[serde(default)]
    pub linux: bool,
    /// Relays another server's game.
    #[serde(default)]
    pub proxy: bool,
}

const fn followed() -> Standing {
    Standing::Followed
}

impl<'a> ServerRow<'a> {
    /// A server as lists show it.
    pub fn of(server: &Server, from: Option<&'a str>) -> Self {
        Self {
            addr: server.addr,
            family: server.family,
            standing: server.standing,
            from: from.map(Cow::Borrowed),
            asn: server.origin.asn,
            country: server.origin.country,
            facts: FactsRow::of(&server.facts),
            seconds: None,
        }
    }
}

impl FactsRow<'_> {
    /// Facts as lists show them.
    fn of(facts: &Facts) -> Self {
        let text = |which| Cow::Owned(GameText::from(facts.text(which)).to_safe_string());
        Self {
            game: text(Text::Game),
            name: text(Text::Name),
            map: text(Text::Map),
            mode: text(Text::Mode),
            version: text(Text::Version),
            data: text(Text::Data),
            protocol: facts.protocol,
            app_id: facts.app_id,
            players: facts.players,
            bots: facts.bots,
            places: facts.places,
            password: facts.flags.password,
            dedicated: facts.flags.dedicated,
            secure: facts.flags.secure,
            linux: facts.flags.linux,
            proxy: facts.flags.proxy,
        }
    }

    /// What the row says of the server.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::of_texts(&[
            (Text::Game, self.game.as_bytes()),
            (Text::Name, self.name.as_bytes()),
            (Text::Map, self.map.as_bytes()),
            (Text::Mode, self.mode.as_bytes()),
            (Text::Version, self.version.as_bytes()),
            (Text::Data, self.data.as_bytes()),
        ]);
        facts.protocol = self.protocol;
        facts.app_id = self.app_id;
        facts.players = self.players;
        facts.bots = self.bots;
        facts.places = self.places;
        facts.flags = Flags {
            password: self.password,
            dedicated: self.dedicated,
            secure: self.secure,
            linux: self.linux,
            proxy: self.proxy,
        };
        facts
    }
}
