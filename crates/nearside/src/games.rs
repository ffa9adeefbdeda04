//! The games we know: what their servers speak, and how to ask a master for them.
//!
//! A new game is one line in [`GAMES`].

use nearside_discover::prober::Protocol;
use nearside_wire::quake3::master::ListRequest;
use nearside_wire::steam::Filter;

/// A game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Game {
    /// The name users type.
    pub name: &'static str,
    /// The name people know.
    pub title: &'static str,
    /// How its masters are asked, which also says what its servers speak.
    pub listing: Listing,
}

/// How a game's servers are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Steam's `0x31` query with a filter of this key and value.
    Steam {
        /// `appid` or `gamedir`.
        key: &'static str,
        /// Its value.
        value: &'static str,
    },
    /// `getservers` with a game name (for masters that want one) and a protocol number.
    Quake3 {
        /// The game name in `getservers`, for games that need one.
        game: Option<&'static str>,
        /// The game name in `getserversExt`, which always has one.
        extended_game: &'static str,
        /// The protocol number.
        protocol: u32,
    },
}

const fn steam(
    name: &'static str,
    title: &'static str,
    key: &'static str,
    value: &'static str,
) -> Game {
    Game {
        name,
        title,
        listing: Listing::Steam { key, value },
    }
}

const fn quake3(
    name: &'static str,
    title: &'static str,
    extended_game: &'static str,
    protocol: u32,
) -> Game {
    Game {
        name,
        title,
        listing: Listing::Quake3 {
            game: None,
            extended_game,
            protocol,
        },
    }
}

/// Every game, the lab's first.
pub const GAMES: &[Game] = &[
    steam("css", "Counter-Strike: Source", "gamedir", "cstrike"),
    quake3("et", "Wolfenstein: Enemy Territory", "et", 84),
    quake3("openarena", "OpenArena", "Quake3Arena", 71),
    quake3("q3", "Quake III Arena", "Quake3Arena", 68),
    quake3("rtcw", "Return to Castle Wolfenstein", "wolfmp", 60),
    Game {
        name: "xonotic",
        title: "Xonotic",
        listing: Listing::Quake3 {
            game: Some("Xonotic"),
            extended_game: "Xonotic",
            protocol: 3,
        },
    },
    Game {
        name: "nexuiz",
        title: "Nexuiz",
        listing: Listing::Quake3 {
            game: Some("Nexuiz"),
            extended_game: "Nexuiz",
            protocol: 3,
        },
    },
    steam("cs", "Counter-Strike 1.6", "appid", "10"),
    steam("cs2", "Counter-Strike 2", "appid", "730"),
    steam("tf2", "Team Fortress 2", "appid", "440"),
    steam("gmod", "Garry's Mod", "appid", "4000"),
    steam("l4d2", "Left 4 Dead 2", "appid", "550"),
    steam("hl2dm", "Half-Life 2: Deathmatch", "appid", "320"),
    steam("dods", "Day of Defeat: Source", "appid", "300"),
    steam("rust", "Rust", "appid", "252490"),
    steam("arma3", "Arma 3", "appid", "107410"),
    steam("dayz", "DayZ", "appid", "221100"),
];

impl Game {
    /// The game users call `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        GAMES.iter().find(|game| game.name == name)
    }

    /// What the servers speak.
    pub const fn protocol(&self) -> Protocol {
        match self.listing {
            Listing::Steam { .. } => Protocol::A2s,
            Listing::Quake3 { .. } => Protocol::Quake3,
        }
    }
}

/// The filter that picks a game from a Steam master's list.
pub fn steam_filter(key: &str, value: &str) -> Filter {
    Filter::new().with(key, value)
}

/// The question for a game's servers, empty and full ones too: players filter by themselves.
pub fn quake3_request(
    game: Option<&str>,
    extended_game: &str,
    protocol: u32,
    ipv6: bool,
) -> ListRequest {
    let mut request = ListRequest::new(game, protocol);
    request.empty = true;
    request.full = true;
    if ipv6 {
        request.extended = true;
        request.game = Some(extended_game.to_owned());
        request.ipv4 = true;
        request.ipv6 = true;
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for game in GAMES {
            assert_eq!(Game::find(game.name), Some(game), "{}", game.name);
        }
        assert_eq!(Game::find("tetris"), None);
    }

    #[test]
    fn the_question_for_enemy_territory_is_the_short_one_old_masters_take() {
        let Listing::Quake3 {
            game,
            extended_game,
            protocol,
        } = Game::find("et").unwrap().listing
        else {
            panic!("ET is a Quake 3 game");
        };
        let plain = quake3_request(game, extended_game, protocol, false).emit();
        assert_eq!(plain, b"\xff\xff\xff\xffgetservers 84 empty full");
        let extended = quake3_request(game, extended_game, protocol, true).emit();
        assert!(extended.starts_with(b"\xff\xff\xff\xffgetserversExt et 84"));
    }
}
