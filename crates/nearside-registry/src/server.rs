//! A registered game server, in few bytes: a million of them fit into 300 MB.

use nearside_types::{Moment, Origin, ServerAddr};
use nearside_wire::a2s::{Dialect, Environment, Info, ServerType};
use nearside_wire::quake3::InfoString;
use serde::{Deserialize, Serialize};

use crate::refusals::Refusal;

/// Which protocol a server registered with, and therefore which lists it is in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// `heartbeat`, `getinfo`, `getservers`.
    Quake3,
    /// `q`, A2S, `0x31`.
    Steam,
    /// Registered over HTTP and listed there alone: a game with a protocol of its own.
    #[default]
    Other,
}

/// How sure the master is that a server is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It repeated a challenge in this process's lifetime.
    Verified,
    /// It was verified before a restart, or by another front end that is not heard of now.
    Remembered,
    /// Another master lists it. It takes nobody's place, is not kept, and is not told to masters
    /// that follow this one.
    Followed,
}

/// A game server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where it answers.
    pub addr: ServerAddr,
    /// Which protocol it speaks.
    pub family: Family,
    /// Whether it is verified.
    pub standing: Standing,
    /// Its AS and country.
    pub origin: Origin,
    /// When it will be taken off the list unless heard of again.
    pub expires: Moment,
    /// What it says of itself.
    pub facts: Facts,
}

/// The texts of [`Facts`], in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// The game: `gamename` of the Quake 3 family, `gamedir` of Steam.
    Game,
    /// The server's name.
    Name,
    /// The map being played.
    Map,
    /// The mode, or Steam's `gametype` tags.
    Mode,
    /// The game's version.
    Version,
    /// Steam's hidden tags (`gamedata`).
    Data,
}

impl Text {
    pub(crate) const ALL: [Self; 6] = [
        Self::Game,
        Self::Name,
        Self::Map,
        Self::Mode,
        Self::Version,
        Self::Data,
    ];

    /// Longer texts are cut, so that a record stays small.
    const fn longest(self) -> usize {
        match self {
            Self::Game | Self::Map | Self::Version => 32,
            Self::Name | Self::Mode => 64,
            Self::Data => 128,
        }
    }
}

/// Yes-or-no facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// A password is needed.
    pub password: bool,
    /// Runs without a player's screen.
    pub dedicated: bool,
    /// Uses VAC or the like.
    pub secure: bool,
    /// Runs on Linux.
    pub linux: bool,
    /// Relays another server's game.
    pub proxy: bool,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The network protocol version.
    pub protocol: u32,
    /// Steam's number of the game.
    pub app_id: u32,
    /// Who plays, bots included.
    pub players: u16,
    /// Of those, bots.
    pub bots: u16,
    /// Places.
    pub places: u16,
    /// Yes-or-no facts.
    pub flags: Flags,
    /// All texts behind each other, NUL between them: one allocation for a server.
    pub(crate) texts: Box<[u8]>,
}

impl Facts {
    /// Facts without numbers, from texts.
    pub fn of_texts(texts: &[(Text, &[u8])]) -> Self {
        let mut packed = Vec::new();
        for text in Text::ALL {
            let value = texts.iter().find(|(which, _)| *which == text);
            let value = value.map_or(&[][..], |(_, value)| value);
            let kept = value.iter().copied().filter(|byte| *byte != 0);
            packed.extend(kept.take(text.longest()));
            packed.push(0);
        }
        Self {
            texts: packed.into_boxed_slice(),
            ..Self::default()
        }
    }

    /// One of the texts; empty if the server did not say.
    pub fn text(&self, which: Text) -> &[u8] {
        let mut texts = self.texts.split(|byte| *byte == 0);
        texts.nth(which as usize).unwrap_or_default()
    }

    /// Whether nobody plays; bots are nobody.
    pub const fn is_empty(&self) -> bool {
        self.players <= self.bots
    }

    /// Whether there is no place left.
    pub const fn is_full(&self) -> bool {
        self.players >= self.places
    }

    /// From an `infoResponse`. dpmaster's rule of what must be there, since every game of the family
    /// was made to satisfy it.
    pub fn from_quake3(info: &InfoString) -> Result<Self, Refusal> {
        let places = info.max_clients().filter(|places| *places > 0);
        let facts = Self {
            protocol: need(info.protocol(), "protocol")?,
            players: small(need(info.clients(), "clients")?),
            bots: small(info.bots().unwrap_or(0)),
            places: small(need(places, "sv_maxclients")?),
            flags: Flags {
                password: info.needs_password().unwrap_or(false),
                dedicated: true,
                ..Flags::default()
            },
            ..Self::of_texts(&[
                (Text::Game, value(info, "gamename")),
                (Text::Name, value(info, "hostname")),
                (Text::Map, value(info, "mapname")),
                (Text::Mode, value(info, "gametype")),
                (Text::Version, value(info, "version")),
            ])
        };
        Ok(facts)
    }

    /// From the join of a GoldSource server.
    pub fn from_steam(info: &InfoString) -> Result<Self, Refusal> {
        let places = info.number("max").filter(|places| *places > 0);
        let is = |key: &str, wanted: &[u8]| value(info, key).eq_ignore_ascii_case(wanted);
        if value(info, "gamedir").is_empty() {
            return Err(Refusal::Incomplete("gamedir"));
        }
        let facts = Self {
            protocol: need(info.protocol(), "protocol")?,
            app_id: info.number("appid").unwrap_or(0),
            players: small(need(info.number("players"), "players")?),
            bots: small(info.number("bots").unwrap_or(0)),
            places: small(need(places, "max")?),
            flags: Flags {
                password: is("password", b"1"),
                dedicated: is("type", b"d"),
                secure: is("secure", b"1"),
                linux: is("os", b"l"),
                proxy: is("type", b"p") || is("proxy", b"1"),
            },
            ..Self::of_texts(&[
                (Text::Game, value(info, "gamedir")),
                (Text::Name, value(info, "name")),
                (Text::Map, value(info, "map")),
                (Text::Mode, value(info, "gametype")),
                (Text::Version, value(info, "version")),
                (Text::Data, value(info, "gamedata")),
            ])
        };
        Ok(facts)
    }

    /// From an A2S_INFO reply. Hidden tags are not in it, so those of before stay.
    pub fn from_a2s(info: &Info, before: &Self) -> Self {
        let counts = info.counts();
        let source = match &info.dialect {
            Dialect::Source(source) => Some(source),
            Dialect::GoldSource(_) => None,
        };
        let mode = source.and_then(|source| source.keywords.as_ref());
        let mode = mode.map_or(before.text(Text::Mode), |tags| tags.as_bytes());
        let version = source.map_or(before.text(Text::Version), |source| {
            source.version.as_bytes()
        });
        Self {
            protocol: u32::from(info.protocol),
            app_id: info.true_app_id().unwrap_or(before.app_id),
            players: small(counts.players),
            bots: u16::from(info.bots),
            places: small(counts.max_players),
            flags: Flags {
                password: info.password,
                dedicated: info.server_type == ServerType::Dedicated,
                secure: info.vac,
                linux: info.environment == Environment::Linux,
                proxy: info.server_type == ServerType::Proxy,
            },
            ..Self::of_texts(&[
                (Text::Game, info.folder.as_bytes()),
                (Text::Name, info.name.as_bytes()),
                (Text::Map, info.map.as_bytes()),
                (Text::Mode, mode),
                (Text::Version, version),
                (Text::Data, before.text(Text::Data)),
            ])
        }
    }
}

fn value<'a>(info: &'a InfoString, key: &str) -> &'a [u8] {
    info.get(key).map_or(&[], |value| value.as_bytes())
}

fn need(number: Option<u32>, key: &'static str) -> Result<u32, Refusal> {
    number.ok_or(Refusal::Incomplete(key))
}

fn small(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openarena() -> InfoString {
        InfoString::new()
            .with("g_needpass", "0")
            .with("gametype", "0")
            .with("sv_maxclients", "8")
            .with("clients", "3")
            .with("mapname", "oa_dm1")
            .with("hostname", "^1noname")
            .with("protocol", "71")
            .with("gamename", "Quake3Arena")
    }

    #[test]
    fn what_openarena_says_is_kept() {
        let facts = Facts::from_quake3(&openarena()).unwrap();
        assert_eq!(facts.protocol, 71);
        assert_eq!((facts.players, facts.places), (3, 8));
        assert_eq!(facts.text(Text::Game), b"Quake3Arena");
        assert_eq!(facts.text(Text::Name), b"^1noname");
        assert_eq!(facts.text(Text::Map), b"oa_dm1");
        assert_eq!(facts.text(Text::Data), b"");
    }

    #[test]
    fn what_is_missing_is_named() {
        let without = |key: &str| {
            let pairs = openarena();
            let kept = pairs
                .pairs()
                .iter()
                .filter(|(name, _)| name.as_bytes() != key.as_bytes());
            kept.fold(InfoString::new(), |info, (name, value)| {
                info.with(name.clone(), value.clone())
            })
        };
        for key in ["protocol", "clients", "sv_maxclients"] {
            let refusal = Facts::from_quake3(&without(key)).unwrap_err();
            assert_eq!(refusal, Refusal::Incomplete(key));
        }
        let none = Facts::from_quake3(&openarena().with("sv_maxclients", "0"));
        assert!(none.is_ok(), "the first value of a key counts");
    }

    #[test]
    fn long_texts_are_cut_and_nuls_left_out() {
        let facts = Facts::of_texts(&[(Text::Map, &[b'm'; 99]), (Text::Name, b"a\0b")]);
        assert_eq!(facts.text(Text::Map).len(), 32);
        assert_eq!(facts.text(Text::Name), b"ab");
    }
}
