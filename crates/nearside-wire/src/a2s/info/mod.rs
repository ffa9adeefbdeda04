mod goldsource;
mod host;
mod source;

use super::kind;
use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

pub use goldsource::{GoldSourceInfo, Modification};
pub use host::{Environment, ServerType};
pub use source::{ShipMode, SourceInfo, Spectator};

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

/// Players and places, as near to the truth as the reply allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Players, bots included.
    pub players: u32,
    /// Places.
    pub max_players: u32,
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
