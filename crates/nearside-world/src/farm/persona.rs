//! Who a lab server pretends to be: name, map, players. Made anew for every answer from the seed and
//! the server's address, so that thirty thousand servers take no memory for their texts.

use nearside_types::ServerAddr;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;

use super::config::Protocol;
use crate::chance::server_stream;

/// What a server says of itself in every protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persona {
    /// The server's name, in whatever encoding its operator likes.
    pub name: Vec<u8>,
    /// The map being played.
    pub map: &'static str,
    /// Players, bots included.
    pub players: u8,
    /// Places.
    pub max_players: u8,
    /// Of the players, bots.
    pub bots: u8,
    /// Whether a password is needed.
    pub password: bool,
    /// Whether it runs on Windows.
    pub windows: bool,
    /// Cheat protection: VAC or PunkBuster.
    pub protected: bool,
    /// Whether team mates can be hurt.
    pub friendly_fire: bool,
}

/// One player of a persona.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PersonaPlayer {
    pub(super) name: String,
    pub(super) score: i32,
    pub(super) minutes: u16,
    pub(super) ping_ms: i32,
}

impl Persona {
    /// Who the server at an address is, in a farm of this protocol and seed.
    pub fn of(addr: ServerAddr, protocol: Protocol, seed: u64) -> Self {
        let mut rng = server_stream(seed, "persona", addr, 0);
        let maps: &[&str] = match protocol {
            Protocol::A2s => &CSS_MAPS,
            Protocol::EnemyTerritory => &ET_MAPS,
        };
        let map = pick(maps, &mut rng);
        let max_players = pick(&PLACES, &mut rng);
        let players = draw_players(max_players, &mut rng);
        let has_bots = rng.random_bool(0.08);
        Self {
            name: draw_name(protocol, map, &mut rng),
            map,
            players,
            max_players,
            bots: if has_bots { players / 2 } else { 0 },
            password: rng.random_bool(0.1),
            windows: rng.random_bool(0.35),
            protected: rng.random_bool(0.85),
            friendly_fire: rng.random_bool(0.5),
        }
    }

    /// Whether one more player can join.
    pub const fn has_room(&self) -> bool {
        self.players < self.max_players
    }

    /// The same server with a free place, or without one.
    #[must_use]
    pub(super) fn with_room(mut self, room: bool) -> Self {
        self.players = match room {
            true => self.players.min(self.max_players - 1),
            false => self.max_players,
        };
        self.bots = self.bots.min(self.players);
        self
    }

    /// The players, bots last and with ping 0.
    pub(super) fn players(&self, addr: ServerAddr, seed: u64) -> Vec<PersonaPlayer> {
        let mut rng = server_stream(seed, "players", addr, 0);
        let humans = self.players - self.bots;
        (0..self.players)
            .map(|index| draw_player(index >= humans, &mut rng))
            .collect()
    }
}

/// Half of all servers are empty and one in twelve is full, whatever the hour.
fn draw_players(places: u8, rng: &mut impl Rng) -> u8 {
    match rng.random_range(0..12) {
        0 => places,
        1..=6 => 0,
        _ => rng.random_range(1..=places),
    }
}

fn draw_player(bot: bool, rng: &mut ChaCha8Rng) -> PersonaPlayer {
    let nick = pick(&NICKS, rng);
    let number = rng.random_range(0..100);
    PersonaPlayer {
        name: if bot {
            format!("BOT {nick}")
        } else {
            format!("{nick}{number}")
        },
        score: rng.random_range(-2..40),
        minutes: rng.random_range(0..180),
        ping_ms: if bot { 0 } else { rng.random_range(8..180) },
    }
}

fn draw_name(protocol: Protocol, map: &str, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let (adjective, noun) = (pick(&ADJECTIVES, rng), pick(&NOUNS, rng));
    let clan = format!("{adjective} {noun}");
    let number = rng.random_range(1..=24);
    let theme = match rng.random_range(0..4) {
        0 => format!("24/7 {map}"),
        _ => pick(&THEMES, rng).to_owned(),
    };
    let name = match protocol {
        Protocol::A2s => format!("{clan} #{number} | {theme} | {}", pick(&EXTRAS, rng)),
        Protocol::EnemyTerritory => {
            format!(
                "^{}{clan} ^7#{number} ^{}{theme}",
                number % 10,
                (number + 3) % 10
            )
        }
    };
    // One in thirty writes Latin-1, which is no UTF-8: clients have to cope.
    match rng.random_range(0..30) {
        0 => [b"\xdcber ", name.as_bytes()].concat(),
        _ => name.into_bytes(),
    }
}

fn pick<T: Copy>(choices: &[T], rng: &mut impl Rng) -> T {
    *choices.choose(rng).expect("the lists below are not empty")
}

const PLACES: [u8; 8] = [10, 12, 16, 18, 20, 24, 32, 64];

const CSS_MAPS: [&str; 14] = [
    "de_dust2",
    "de_dust2",
    "de_dust2",
    "de_dust",
    "de_aztec",
    "de_inferno",
    "de_nuke",
    "de_train",
    "de_cbble",
    "cs_office",
    "cs_office",
    "cs_italy",
    "cs_militia",
    "fy_iceworld2k",
];

const ET_MAPS: [&str; 8] = [
    "goldrush", "goldrush", "oasis", "fueldump", "radar", "railgun", "battery", "supply",
];

const ADJECTIVES: [&str; 16] = [
    "Silent", "Northern", "Broken", "Iron", "Golden", "Frozen", "Furious", "Lazy", "Electric",
    "Midnight", "Crimson", "Rusty", "Hidden", "Brave", "Lucky", "Savage",
];

const NOUNS: [&str; 16] = [
    "Wolves", "Legion", "Pirates", "Gamers", "Hornets", "Squad", "Knights", "Foxes", "Outpost",
    "Arena", "Rangers", "Owls", "Brigade", "Company", "Dragons", "Crew",
];

const THEMES: [&str; 8] = [
    "public",
    "clanwar",
    "beginners",
    "pro",
    "fun",
    "deathmatch",
    "all maps",
    "stats",
];

const EXTRAS: [&str; 8] = [
    "100 tick", "no lag", "fast DL", "FF off", "FF on", "66 tick", "rent me", "low ping",
];

const NICKS: [&str; 16] = [
    "raven", "Kobold", "mia", "Tux", "sniper", "noodle", "Ghost", "ace", "Bjorn", "pixel", "Zed",
    "lemon", "Otto", "spark", "Nova", "rook",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn personas() -> impl Iterator<Item = Persona> {
        (1..=2000u16).map(|port| {
            let addr = format!("127.1.2.3:{port}").parse().unwrap();
            Persona::of(addr, Protocol::A2s, 5)
        })
    }

    #[test]
    fn a_server_is_the_same_whenever_it_is_asked() {
        let addr: ServerAddr = "127.1.2.3:27015".parse().unwrap();
        let persona = |seed| Persona::of(addr, Protocol::A2s, seed);
        assert_eq!(persona(1), persona(1));
        assert_ne!(persona(1), persona(2));
        assert_eq!(persona(1).players(addr, 1), persona(1).players(addr, 1));
    }

    #[test]
    fn some_servers_are_full_some_empty_some_locked_and_some_have_bots() {
        let share = |wanted: fn(&Persona) -> bool| {
            100 * personas().filter(wanted).count() / personas().count()
        };
        assert!((5..20).contains(&share(|p| p.players == p.max_players)));
        assert!((40..60).contains(&share(|p| p.players == 0)));
        assert!((7..13).contains(&share(|p| p.password)));
        assert!((1..8).contains(&share(|p| p.bots > 0)));
        assert!((1..8).contains(&share(|p| std::str::from_utf8(&p.name).is_err())));
    }

    #[test]
    fn bots_and_players_fit_the_places() {
        assert!(personas().all(|p| p.bots <= p.players && p.players <= p.max_players));
    }
}
