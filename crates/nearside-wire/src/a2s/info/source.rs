use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

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

impl SourceInfo {
    /// The application id of The Ship, the one game with fields of its own in the middle.
    pub const THE_SHIP: u16 = 2400;

    pub(super) fn parse(app_id: u16, cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
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

    pub(super) fn emit_extra(&self, out: &mut Vec<u8>) {
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

/// Extra data flags.
mod edf {
    pub(super) const PORT: u8 = 0x80;
    pub(super) const STEAM_ID: u8 = 0x10;
    pub(super) const SPECTATOR: u8 = 0x40;
    pub(super) const KEYWORDS: u8 = 0x20;
    pub(super) const GAME_ID: u8 = 0x01;
}
