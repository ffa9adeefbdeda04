use std::fmt;
use std::time::Duration;

use super::kind;
use crate::cursor::{Cursor, put_text};
use crate::{DecodeError, GameText};

/// Who plays (A2S_PLAYER). Servers announce more players than they send when a packet was cut;
/// what arrived is kept and marked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlayerList {
    /// The players that arrived whole, in the server's order.
    pub players: Vec<Player>,
    /// How many the server announced.
    pub announced: u8,
    /// Whether fewer arrived than were announced.
    pub partial: bool,
}

/// One player.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Player {
    /// A number nearly all servers leave at 0.
    pub index: u8,
    /// The player's name, empty while joining and in games that hide names.
    pub name: GameText,
    /// The score, usually kills.
    pub score: i32,
    /// How long the player has been connected.
    pub connected: Connected,
    /// Deaths and money, from The Ship only.
    pub ship: Option<ShipScore>,
}

/// What The Ship adds for each player, behind the whole list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShipScore {
    /// How often the player died.
    pub deaths: i32,
    /// The player's money.
    pub money: i32,
}

/// How long a player has been connected, exactly as sent: a 32-bit float of seconds, which may be
/// negative or not a number. Equality is that of the bits.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Connected {
    bits: u32,
}

impl Connected {
    /// The wire's value for `seconds`.
    pub const fn from_secs(seconds: f32) -> Self {
        Self {
            bits: seconds.to_bits(),
        }
    }

    /// The time, or `None` where a server sent a negative, infinite or meaningless one.
    pub fn duration(self) -> Option<Duration> {
        Duration::try_from_secs_f32(f32::from_bits(self.bits)).ok()
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", f32::from_bits(self.bits))
    }
}

impl PlayerList {
    /// The list of all players of a server; those beyond 255 have no place in the format and are
    /// left out, as game servers do.
    pub fn complete(mut players: Vec<Player>) -> Self {
        players.truncate(usize::from(u8::MAX));
        Self {
            announced: u8::try_from(players.len()).expect("truncated to 255 above"),
            players,
            partial: false,
        }
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend([kind::PLAYERS, self.announced]);
        let players = &self.players[..self.players.len().min(usize::from(self.announced))];
        for player in players {
            player.emit(out);
        }
        let whole = players.len() == usize::from(self.announced);
        if whole && players.iter().any(|player| player.ship.is_some()) {
            let scores = players.iter().map(|player| player.ship.unwrap_or_default());
            scores.for_each(|score| score.emit(out));
        }
    }

    /// Reads the list behind its type byte. An entry that is not whole ends the list.
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let announced = cursor.u8("player count")?;
        let mut players = Vec::new();
        while players.len() < usize::from(announced)
            && let Ok(player) = Player::parse(cursor)
        {
            players.push(player);
        }
        let partial = players.len() < usize::from(announced);
        if !partial {
            add_ship_scores(&mut players, cursor.rest());
        }
        Ok(Self {
            players,
            announced,
            partial,
        })
    }
}

/// The Ship's block is recognised by its size, since the reply does not name the game: 8 bytes for
/// each player and nothing else.
fn add_ship_scores(players: &mut [Player], block: &[u8]) {
    if block.len() != players.len() * ShipScore::BYTES {
        return;
    }
    for (player, bytes) in players.iter_mut().zip(block.chunks_exact(ShipScore::BYTES)) {
        player.ship = ShipScore::parse(&mut Cursor::new(bytes)).ok();
    }
}

impl Player {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            index: cursor.u8("player index")?,
            name: cursor.text("player name")?,
            score: cursor.i32_le("score")?,
            connected: Connected {
                bits: cursor.u32_le("connected time")?,
            },
            ship: None,
        })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.index);
        put_text(out, &self.name);
        out.extend(self.score.to_le_bytes());
        out.extend(self.connected.bits.to_le_bytes());
    }
}

impl ShipScore {
    const BYTES: usize = 8;

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            deaths: cursor.i32_le("deaths")?,
            money: cursor.i32_le("money")?,
        })
    }

    fn emit(self, out: &mut Vec<u8>) {
        out.extend(self.deaths.to_le_bytes());
        out.extend(self.money.to_le_bytes());
    }
}
