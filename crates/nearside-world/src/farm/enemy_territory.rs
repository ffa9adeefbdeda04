//! A lab server's side of the Quake 3 protocol, as Enemy Territory 2.60b speaks it.

use nearside_types::ServerAddr;
use nearside_wire::quake3::{Challenge, InfoString, Request, Response, StatusPlayer};

use super::config::FarmConfig;
use super::persona::Persona;

/// The datagram that answers a request; `None` if it is none.
pub(super) fn answer(
    config: &FarmConfig,
    seed: u64,
    server: ServerAddr,
    payload: &[u8],
) -> Option<Vec<Vec<u8>>> {
    let persona = config.persona(server, seed);
    let response = match Request::parse(payload).ok()? {
        Request::GetInfo { challenge } => Response::Info(info(&persona, challenge)),
        Request::GetStatus { challenge } => Response::Status {
            info: status(&persona, challenge),
            players: players(&persona, server, seed),
        },
    };
    Some(vec![response.emit()])
}

/// The protocol number of ET 2.60b and ET: Legacy.
const PROTOCOL: &str = "84";

/// A reply begins with the challenge, repeated as it came; without one the key is left out.
fn opening(challenge: Option<Challenge>) -> InfoString {
    match challenge {
        Some(challenge) => InfoString::new().with("challenge", challenge.as_bytes()),
        None => InfoString::new(),
    }
}

fn info(persona: &Persona, challenge: Option<Challenge>) -> InfoString {
    let max_players = persona.max_players.to_string();
    let clients = persona.players.to_string();
    opening(challenge)
        .with("protocol", PROTOCOL)
        .with("hostname", persona.name.as_slice())
        .with("serverload", "0")
        .with("mapname", persona.map)
        .with("clients", clients.as_str())
        .with("sv_maxclients", max_players.as_str())
        .with("gametype", "4")
        .with("pure", "1")
        .with("game", "etmain")
        .with("friendlyFire", flag(persona.friendly_fire))
        .with("maxlives", "0")
        .with("needpass", flag(persona.password))
        .with("punkbuster", flag(persona.protected))
        .with("gamename", "et")
        .with("g_antilag", "1")
        .with("weaprestrict", "100")
        .with("balancedteams", "1")
}

fn status(persona: &Persona, challenge: Option<Challenge>) -> InfoString {
    let max_players = persona.max_players.to_string();
    let version = match persona.windows {
        true => "ET 2.60b win-x86 May  8 2006",
        false => "ET 2.60b linux-i386 May  8 2006",
    };
    opening(challenge)
        .with("sv_hostname", persona.name.as_slice())
        .with("version", version)
        .with("protocol", PROTOCOL)
        .with("mapname", persona.map)
        .with("sv_maxclients", max_players.as_str())
        .with("sv_privateClients", "0")
        .with("sv_maxRate", "25000")
        .with("sv_minPing", "0")
        .with("sv_maxPing", "0")
        .with("sv_floodProtect", "1")
        .with("sv_allowAnonymous", "0")
        .with("sv_punkbuster", flag(persona.protected))
        .with("gamename", "etmain")
        .with("g_gametype", "4")
        .with("g_needpass", flag(persona.password))
        .with("g_friendlyFire", flag(persona.friendly_fire))
        .with("g_balancedteams", "1")
        .with("g_antilag", "1")
        .with("g_heavyWeaponRestriction", "100")
        .with("g_bluelimbotime", "20000")
        .with("g_redlimbotime", "30000")
        .with("timelimit", "20")
}

fn players(persona: &Persona, server: ServerAddr, seed: u64) -> Vec<StatusPlayer> {
    let players = persona.players(server, seed).into_iter();
    players
        .map(|player| StatusPlayer {
            score: player.score,
            ping_ms: player.ping_ms,
            name: player.name.as_str().into(),
            extra: Vec::new(),
        })
        .collect()
}

fn flag(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}
