use super::kind;
use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

/// What a server says of itself (A2S_INFO), in either dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The network protocol version of the game.
    pub protocol: u8,
    /// The server's name.
    pub name: GameText,
    /// The map being played.
    pub map: GameText,
    /// The game's folder (`cstrike`).
    pub folder: GameText,
    /// The game's full name.
    pub game: GameText,
    /// Players as the byte says; [`Info::counts`] knows better for games that exceed it.
    pub players: u8,
    /// Places as the byte says.
    pub max_players: u8,
    /// How many of the players are bots.
    pub bots: u8,
    /// How the server is run.
    pub server_type: ServerType,
    /// What it runs on.
    pub environment: Environment,
    /// Whether one needs a password to join ("visibility").
    pub password: bool,
    /// Whether Valve's anti-cheat is on.
    pub vac: bool,
    /// The fields that only one of the dialects has.
    pub dialect: Dialect,
}

/// Which of the two replies it was, and what only that one carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// `49`, sent by everything since 2008.
    Source(SourceInfo),
    /// `6D`, obsolete but still sent by old Half-Life servers.
    GoldSource(GoldSourceInfo),
}

/// The fields of the Source reply, those behind the extra data flag (EDF) as options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceInfo {
    /// The low 16 bits of the Steam application id, 0 in many newer games.
    pub app_id: u16,
    /// Mode of play, present if and only if `app_id` is [`SourceInfo::THE_SHIP`].
    pub ship: Option<ShipMode>,
    /// The game's version.
    pub version: GameText,
    /// The port players join on (EDF 80).
    pub port: Option<u16>,
    /// The server's Steam id (EDF 10).
    pub steam_id: Option<u64>,
    /// Where spectators connect (EDF 40).
    pub spectator: Option<Spectator>,
    /// Tags that describe the game (EDF 20).
    pub keywords: Option<GameText>,
    /// The 64-bit game id (EDF 01), whose low 24 bits are the full application id.
    pub game_id: Option<u64>,
}

/// The fields of the GoldSource reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GoldSourceInfo {
    /// The server's own idea of its address.
    pub address: GameText,
    /// The modification being played, if it is not the plain game.
    pub modification: Option<Modification>,
}

/// A Half-Life modification, as a GoldSource server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Modification {
    /// The mod's home page.
    pub link: GameText,
    /// Where to download it.
    pub download: GameText,
    /// The mod's version.
    pub version: i32,
    /// Its size in bytes.
    pub size: i32,
    /// Whether it is for multiplayer only.
    pub multiplayer_only: bool,
    /// Whether it has a game library of its own instead of Half-Life's.
    pub own_library: bool,
}

/// How a game of The Ship is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShipMode {
    /// 0 hunt, 1 elimination, 2 duel, 3 deathmatch, 4 VIP team, 5 team elimination.
    pub mode: u8,
    /// How many witnesses it takes to be arrested.
    pub witnesses: u8,
    /// Seconds before arrest while witnessed.
    pub duration: u8,
}

/// Where spectators connect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spectator {
    /// The port of the relay.
    pub port: u16,
    /// The name of the relay.
    pub name: GameText,
}

/// How a server is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerType {
    /// `d`: a dedicated server.
    Dedicated,
    /// `l`: a player's own game.
    Listen,
    /// `p`: a spectator relay.
    Proxy,
    /// A byte that no document names.
    Other(u8),
}

/// What a server runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Environment {
    /// `l`.
    Linux,
    /// `w`.
    Windows,
    /// `m`, or `o` in older games.
    Mac,
    /// A byte that no document names.
    Other(u8),
}

/// Players and places, as near to the truth as the reply allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Players, bots included.
    pub players: u32,
    /// Places.
    pub max_players: u32,
}

/// Extra data flags.
mod edf {
    pub(super) const PORT: u8 = 0x80;
    pub(super) const STEAM_ID: u8 = 0x10;
    pub(super) const SPECTATOR: u8 = 0x40;
    pub(super) const KEYWORDS: u8 = 0x20;
    pub(super) const GAME_ID: u8 = 0x01;
}

impl Info {
    /// The Steam application id: from the game id where there is one, since the 16-bit field is
    /// truncated or 0 for ids above 65,535. `None` for GoldSource replies, which carry none.
    pub fn true_app_id(&self) -> Option<u32> {
        let Dialect::Source(source) = &self.dialect else {
            return None;
        };
        let low_24_bits = source.game_id.map(|id| (id & 0xFF_FFFF) as u32);
        let known = low_24_bits.filter(|id| *id != 0);
        Some(known.unwrap_or(u32::from(source.app_id)))
    }

    /// Players and places; from the keywords `cp` and `mp` for Rust, whose counts exceed a byte.
    pub fn counts(&self) -> Counts {
        let rust = self.true_app_id() == Some(RUST_APP_ID);
        let tagged = |tag: &[u8]| rust.then(|| self.keyword_number(tag)).flatten();
        Counts {
            players: tagged(b"cp").unwrap_or(u32::from(self.players)),
            max_players: tagged(b"mp").unwrap_or(u32::from(self.max_players)),
        }
    }

    /// The number behind `tag` in comma-separated keywords such as `mp300,cp287`.
    fn keyword_number(&self, tag: &[u8]) -> Option<u32> {
        let Dialect::Source(source) = &self.dialect else {
            return None;
        };
        let words = source
            .keywords
            .as_ref()?
            .as_bytes()
            .split(|byte| *byte == b',');
        let mut digits = words.filter_map(|word| word.strip_prefix(tag));
        digits.find_map(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        match &self.dialect {
            Dialect::Source(source) => self.emit_source(source, out),
            Dialect::GoldSource(gold) => self.emit_goldsource(gold, out),
        }
    }

    fn emit_source(&self, source: &SourceInfo, out: &mut Vec<u8>) {
        out.extend([kind::SOURCE_INFO, self.protocol]);
        self.emit_names(out);
        out.extend(source.app_id.to_le_bytes());
        out.extend([self.players, self.max_players, self.bots]);
        out.extend([self.server_type.byte(), self.environment.byte()]);
        out.extend([u8::from(self.password), u8::from(self.vac)]);
        if source.app_id == SourceInfo::THE_SHIP {
            let ship = source.ship.unwrap_or_default();
            out.extend([ship.mode, ship.witnesses, ship.duration]);
        }
        put_text(out, &source.version);
        source.emit_extra(out);
    }

    fn emit_goldsource(&self, gold: &GoldSourceInfo, out: &mut Vec<u8>) {
        out.push(kind::GOLDSOURCE_INFO);
        put_text(out, &gold.address);
        self.emit_names(out);
        out.extend([self.players, self.max_players, self.protocol]);
        out.extend([self.server_type.byte(), self.environment.byte()]);
        out.extend([
            u8::from(self.password),
            u8::from(gold.modification.is_some()),
        ]);
        if let Some(modification) = &gold.modification {
            modification.emit(out);
        }
        out.extend([u8::from(self.vac), self.bots]);
    }

    fn emit_names(&self, out: &mut Vec<u8>) {
        for text in [&self.name, &self.map, &self.folder, &self.game] {
            put_text(out, text);
        }
    }

    /// Reads the reply of type `49` behind its type byte. Old servers end after the VAC byte or
    /// after the version; that is a whole reply.
    pub(super) fn parse_source(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let protocol = cursor.u8("protocol")?;
        let [name, map, folder, game] = parse_names(cursor)?;
        let app_id = cursor.u16_le("app id")?;
        Ok(Self {
            protocol,
            name,
            map,
            folder,
            game,
            players: cursor.u8("players")?,
            max_players: cursor.u8("max players")?,
            bots: cursor.u8("bots")?,
            server_type: ServerType::from_byte(cursor.u8("server type")?),
            environment: Environment::from_byte(cursor.u8("environment")?),
            password: cursor.u8("visibility")? != 0,
            vac: cursor.u8("VAC")? != 0,
            dialect: Dialect::Source(SourceInfo::parse(app_id, cursor)?),
        })
    }

    /// Reads the reply of type `6D` behind its type byte.
    pub(super) fn parse_goldsource(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let address = cursor.text("address")?;
        let [name, map, folder, game] = parse_names(cursor)?;
        let [players, max_players, protocol] = cursor.array("players to protocol")?;
        let server_type = ServerType::from_byte(cursor.u8("server type")?);
        let environment = Environment::from_byte(cursor.u8("environment")?);
        let password = cursor.u8("visibility")? != 0;
        let modification = match cursor.u8("mod")? {
            1 => Some(Modification::parse(cursor)?),
            _ => None,
        };
        Ok(Self {
            protocol,
            name,
            map,
            folder,
            game,
            players,
            max_players,
            server_type,
            environment,
            password,
            vac: cursor.u8("VAC")? != 0,
            bots: cursor.u8("bots")?,
            dialect: Dialect::GoldSource(GoldSourceInfo {
                address,
                modification,
            }),
        })
    }
}

/// Rust, the game: its counts are in the keywords because they exceed 255.
const RUST_APP_ID: u32 = 252_490;

fn parse_names(cursor: &mut Cursor<'_>) -> Result<[GameText; 4], DecodeError> {
    Ok([
        cursor.text("name")?,
        cursor.text("map")?,
        cursor.text("folder")?,
        cursor.text("game")?,
    ])
}

impl SourceInfo {
    /// The application id of The Ship, the one game with fields of its own in the middle.
    pub const THE_SHIP: u16 = 2400;

    fn parse(app_id: u16, cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let mut source = Self {
            app_id,
            ..Self::default()
        };
        if app_id == Self::THE_SHIP {
            let [mode, witnesses, duration] = cursor.array("The Ship's mode")?;
            source.ship = Some(ShipMode {
                mode,
                witnesses,
                duration,
            });
        }
        if cursor.is_empty() {
            return Ok(source);
        }
        source.version = cursor.text("version")?;
        if !cursor.is_empty() {
            source.parse_extra(cursor)?;
        }
        Ok(source)
    }

    /// The order of the fields is fixed and is not the order of the flag's bits.
    fn parse_extra(&mut self, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
        let flags = cursor.u8("extra data flag")?;
        if flags & edf::PORT != 0 {
            self.port = Some(cursor.u16_le("port")?);
        }
        if flags & edf::STEAM_ID != 0 {
            self.steam_id = Some(cursor.u64_le("Steam id")?);
        }
        if flags & edf::SPECTATOR != 0 {
            let port = cursor.u16_le("spectator port")?;
            let name = cursor.text("spectator name")?;
            self.spectator = Some(Spectator { port, name });
        }
        if flags & edf::KEYWORDS != 0 {
            self.keywords = Some(cursor.text("keywords")?);
        }
        if flags & edf::GAME_ID != 0 {
            self.game_id = Some(cursor.u64_le("game id")?);
        }
        Ok(())
    }

    fn emit_extra(&self, out: &mut Vec<u8>) {
        out.push(self.flags());
        out.extend(self.port.iter().flat_map(|port| port.to_le_bytes()));
        out.extend(self.steam_id.iter().flat_map(|id| id.to_le_bytes()));
        if let Some(spectator) = &self.spectator {
            out.extend(spectator.port.to_le_bytes());
            put_text(out, &spectator.name);
        }
        if let Some(keywords) = &self.keywords {
            put_text(out, keywords);
        }
        out.extend(self.game_id.iter().flat_map(|id| id.to_le_bytes()));
    }

    fn flags(&self) -> u8 {
        let flag = |present: bool, bit: u8| if present { bit } else { 0 };
        flag(self.port.is_some(), edf::PORT)
            | flag(self.steam_id.is_some(), edf::STEAM_ID)
            | flag(self.spectator.is_some(), edf::SPECTATOR)
            | flag(self.keywords.is_some(), edf::KEYWORDS)
            | flag(self.game_id.is_some(), edf::GAME_ID)
    }
}

impl Modification {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let link = cursor.text("mod link")?;
        let download = cursor.text("mod download link")?;
        cursor.u8("mod separator")?;
        Ok(Self {
            link,
            download,
            version: cursor.i32_le("mod version")?,
            size: cursor.i32_le("mod size")?,
            multiplayer_only: cursor.u8("mod type")? != 0,
            own_library: cursor.u8("mod library")? != 0,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        put_text(out, &self.link);
        put_text(out, &self.download);
        out.push(0);
        out.extend(self.version.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend([u8::from(self.multiplayer_only), u8::from(self.own_library)]);
    }
}

impl ServerType {
    /// The type a byte stands for; GoldSource writes capitals.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            b'd' | b'D' => Self::Dedicated,
            b'l' | b'L' => Self::Listen,
            b'p' | b'P' => Self::Proxy,
            other => Self::Other(other),
        }
    }

    /// The byte that stands for this type.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Dedicated => b'd',
            Self::Listen => b'l',
            Self::Proxy => b'p',
            Self::Other(byte) => byte,
        }
    }
}

impl Environment {
    /// The environment a byte stands for; GoldSource writes capitals.
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            b'l' | b'L' => Self::Linux,
            b'w' | b'W' => Self::Windows,
            b'm' | b'M' | b'o' | b'O' => Self::Mac,
            other => Self::Other(other),
        }
    }

    /// The byte that stands for this environment.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Linux => b'l',
            Self::Windows => b'w',
            Self::Mac => b'm',
            Self::Other(byte) => byte,
        }
    }
}
