//! A registered game server, in few bytes: a million of them fit into 300 MB.

use nearside_types::{Moment, Origin, ServerAddr};
use nearside_wire::a2s::{Dialect, Environment, Info, ServerType};
use serde::{Deserialize, Serialize};

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
    /// It repeated a challenge of another front end, which keeps an eye on it.
    Vouched,
    /// It was verified before a restart.
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

    /// What a server's text would keep of some bytes.
    pub(crate) fn kept(self, bytes: &[u8]) -> Vec<u8> {
        kept(self, bytes).collect()
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
            packed.extend(kept(text, value));
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

    /// Whether the texts are these, in the order of [`Text::ALL`].
    pub(crate) fn has_texts(&self, texts: [&[u8]; 6]) -> bool {
        let mut rest = &self.texts[..];
        let mut pairs = Text::ALL.into_iter().zip(texts);
        pairs.all(|(which, bytes)| is_kept(which, bytes, &mut rest))
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

    /// Whether nobody plays; bots are nobody.
    pub const fn is_empty(&self) -> bool {
        self.players <= self.bots
    }

    /// Whether there is no place left.
    pub const fn is_full(&self) -> bool {
        self.players >= self.places
    }
}

pub(crate) fn small(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// What a text keeps of some bytes: no NUL and no line end, and not too many.
fn kept(which: Text, bytes: &[u8]) -> impl Iterator<Item = u8> {
    let kept = bytes
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, 0 | b'\n'));
    kept.take(which.longest())
}

/// Whether a stored text is what [`kept`] would keep; `rest` then begins with the next.
fn is_kept(which: Text, bytes: &[u8], rest: &mut &[u8]) -> bool {
    let length = rest.iter().position(|byte| *byte == 0).unwrap_or(0);
    let (stored, next) = rest.split_at(length);
    *rest = next.get(1..).unwrap_or_default();
    // Nearly always the bytes themselves, which compare at once.
    (stored == bytes && length <= which.longest()) || kept(which, bytes).eq(stored.iter().copied())
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_recognised_without_being_copied() {
        let texts = [&b"game"[..], b"a\0b\n", &[b'm'; 99], b"", b"1.36", b""];
        let pairs: Vec<_> = Text::ALL.into_iter().zip(texts).collect();
        let facts = Facts::of_texts(&pairs);
        assert!(facts.has_texts(texts));
        for at in 0..6 {
            let mut other = texts;
            other[at] = b"other";
            assert!(!facts.has_texts(other), "{at}");
        }
        assert!(!Facts::default().has_texts(texts));
        assert!(Facts::default().has_texts([b""; 6]));
    }

    #[test]
    fn long_texts_are_cut_and_nuls_left_out() {
        let facts = Facts::of_texts(&[(Text::Map, &[b'm'; 99]), (Text::Name, b"a\0b")]);
        assert_eq!(facts.text(Text::Map).len(), 32);
        assert_eq!(facts.text(Text::Name), b"ab");
    }
}
