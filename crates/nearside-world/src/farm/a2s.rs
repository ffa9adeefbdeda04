//! A lab server's side of A2S.

use std::net::IpAddr;

use nearside_types::ServerAddr;
use nearside_wire::a2s::{
    Challenge, Connected, Dialect, Environment, Info, Player, PlayerList, Request, Response, Rule,
    RuleList, ServerType, SourceInfo, Split, SplitForm, split,
};

use super::config::{ChallengePolicy, FarmConfig};
use super::persona::Persona;
use crate::chance::fingerprint;

/// Longer messages are split, as Source servers do.
const MAX_SINGLE: usize = 1400;

/// The datagrams that answer a request; `None` if it is none.
pub(super) fn answer(
    config: &FarmConfig,
    seed: u64,
    server: ServerAddr,
    source: IpAddr,
    payload: &[u8],
) -> Option<Vec<Vec<u8>>> {
    let request = Request::parse(payload).ok()?;
    let gate = Gate {
        seed,
        server,
        source,
    };
    let response = match gate.next_challenge(config.challenge, request) {
        Some(challenge) => Response::Challenge(challenge),
        None => respond(&config.persona(server, seed), seed, server, request),
    };
    // Below 0x8000: python-a2s 1.4.2 takes bit 15 of the id for the mark of compression.
    let id = fingerprint(payload) as u32 & 0x7FFF;
    Some(packets(response.emit(), id, config.compress_splits))
}

fn packets(message: Vec<u8>, id: u32, compressed: bool) -> Vec<Vec<u8>> {
    if message.len() <= MAX_SINGLE {
        return vec![message];
    }
    let how = Split {
        compressed,
        ..Split::new(SplitForm::Source, id)
    };
    split(&message, how).unwrap_or_else(|_| vec![message])
}

/// Challenges without memory: each is a function of server, source address and round, so the one a
/// client sends back tells how often it was challenged already.
struct Gate {
    seed: u64,
    server: ServerAddr,
    source: IpAddr,
}

impl Gate {
    /// The challenge to answer with, or `None` when the request has passed them all.
    fn next_challenge(&self, policy: ChallengePolicy, request: Request) -> Option<Challenge> {
        let (is_info, shown) = match request {
            Request::Info { challenge } => (true, challenge),
            Request::Players { challenge } | Request::Rules { challenge } => {
                (false, Some(challenge))
            }
        };
        let rounds = match policy {
            ChallengePolicy::Never => 0,
            ChallengePolicy::Classic => u8::from(!is_info),
            ChallengePolicy::Always => 1,
            ChallengePolicy::Repeated(times) => times,
        };
        let passed = (1..=rounds)
            .rev()
            .find(|&round| Some(self.challenge(round)) == shown);
        let passed = passed.unwrap_or(0);
        (passed < rounds).then(|| self.challenge(passed + 1))
    }

    /// From the address alone, not the port: clients keep a challenge across sockets.
    fn challenge(&self, round: u8) -> Challenge {
        let text = format!("{} {} {} {round}", self.seed, self.server, self.source);
        let hash = fingerprint(text.as_bytes());
        // The top bit is cleared: all ones would mean "no challenge".
        Challenge((((hash >> 32) ^ hash) as u32 & 0x7fff_ffff).to_be_bytes())
    }
}

fn respond(persona: &Persona, seed: u64, server: ServerAddr, request: Request) -> Response {
    match request {
        Request::Info { .. } => Response::Info(Box::new(info(persona, server))),
        Request::Players { .. } => Response::Players(player_list(persona, server, seed)),
        Request::Rules { .. } => Response::Rules(rule_list(persona)),
    }
}

fn info(persona: &Persona, server: ServerAddr) -> Info {
    Info {
        // 7 would promise split packets without a size field, which these do not have.
        protocol: 17,
        name: persona.name.as_slice().into(),
        map: persona.map.into(),
        folder: "cstrike".into(),
        game: "Counter-Strike: Source".into(),
        players: persona.players,
        max_players: persona.max_players,
        bots: persona.bots,
        server_type: ServerType::Dedicated,
        environment: match persona.windows {
            true => Environment::Windows,
            false => Environment::Linux,
        },
        password: persona.password,
        vac: persona.protected,
        dialect: Dialect::Source(SourceInfo {
            app_id: 240,
            version: VERSION.into(),
            port: Some(server.port()),
            ..SourceInfo::default()
        }),
    }
}

/// Counter-Strike: Source as of November 2007.
const VERSION: &str = "1.0.0.34";

fn player_list(persona: &Persona, server: ServerAddr, seed: u64) -> PlayerList {
    let players = persona.players(server, seed).into_iter();
    PlayerList::complete(
        players
            .map(|player| Player {
                name: player.name.as_str().into(),
                score: player.score,
                connected: Connected::from_secs(f32::from(player.minutes) * 60.0),
                ..Player::default()
            })
            .collect(),
    )
}

fn rule_list(persona: &Persona) -> RuleList {
    let flag = |on: bool| if on { "1" } else { "0" };
    let own = [
        ("mp_friendlyfire", flag(persona.friendly_fire)),
        ("sv_password", flag(persona.password)),
        ("nextlevel", persona.map),
    ];
    let rules = own.iter().chain(RULES).map(|&(name, value)| Rule {
        name: name.into(),
        value: value.into(),
    });
    RuleList::complete(rules.collect())
}

/// Settings a stock server publishes; with a server's own ones more than one datagram holds.
const RULES: &[(&str, &str)] = &[
    ("bot_quota", "0"),
    ("coop", "0"),
    ("cssdm_enabled", "0"),
    ("cssdm_ffa_enabled", "0"),
    ("cssdm_version", "2.1.1-dev"),
    ("deathmatch", "1"),
    ("decalfrequency", "10"),
    ("eventscripts_ver", "2.0.0.248"),
    ("mani_admin_plugin_version", "1.2BetaS"),
    ("mani_tickrate", "66"),
    ("metamod_version", "1.4.2"),
    ("mp_allowNPCs", "1"),
    ("mp_allowspectators", "1"),
    ("mp_autocrosshair", "1"),
    ("mp_autoteambalance", "1"),
    ("mp_buytime", "1.5"),
    ("mp_c4timer", "45"),
    ("mp_chattime", "10"),
    ("mp_disable_autokick", "0"),
    ("mp_dynamicpricing", "0"),
    ("mp_fadetoblack", "0"),
    ("mp_falldamage", "0"),
    ("mp_flashlight", "1"),
    ("mp_footsteps", "1"),
    ("mp_forceautoteam", "0"),
    ("mp_forcecamera", "1"),
    ("mp_forcerespawn", "1"),
    ("mp_fraglimit", "0"),
    ("mp_freezetime", "6"),
    ("mp_hostagepenalty", "13"),
    ("mp_limitteams", "2"),
    ("mp_logecho", "1"),
    ("mp_maxrounds", "0"),
    ("mp_playerid", "0"),
    ("mp_roundtime", "5"),
    ("mp_spawnprotectiontime", "5"),
    ("mp_startmoney", "800"),
    ("mp_teamlist", "hgrunt;scientist"),
    ("mp_teamplay", "0"),
    ("mp_timelimit", "30"),
    ("mp_tkpunish", "0"),
    ("mp_weaponstay", "0"),
    ("mp_winlimit", "0"),
    ("r_AirboatViewDampenDamp", "1.0"),
    ("r_AirboatViewDampenFreq", "7.0"),
    ("r_JeepViewDampenDamp", "1.0"),
    ("r_JeepViewDampenFreq", "7.0"),
    ("r_VehicleViewDampen", "1"),
    ("sv_accelerate", "5"),
    ("sv_airaccelerate", "10"),
    ("sv_alltalk", "0"),
    ("sv_bounce", "0"),
    ("sv_cheats", "0"),
    ("sv_contact", ""),
    ("sv_footsteps", "1"),
    ("sv_friction", "4"),
    ("sv_gravity", "800"),
    ("sv_maxspeed", "320"),
    ("sv_noclipaccelerate", "5"),
    ("sv_noclipspeed", "5"),
    ("sv_pausable", "0"),
    ("sv_restrict_aspect_ratio_fov", "1"),
    ("sv_rollangle", "0"),
    ("sv_rollspeed", "200"),
    ("sv_specaccelerate", "5"),
    ("sv_specnoclip", "1"),
    ("sv_specspeed", "3"),
    ("sv_stepsize", "18"),
    ("sv_stopspeed", "75"),
    ("sv_voiceenable", "1"),
    ("sv_wateraccelerate", "10"),
    ("sv_waterfriction", "1"),
    ("sourcemod_version", "1.0.0.1888"),
    ("sm_basebans_version", "1.0.0.1888"),
    ("sm_mapchooser_version", "1.0.0.1888"),
    ("sm_nextmap", "de_inferno"),
    ("sm_reservedslots_version", "1.0.0.1888"),
    ("sm_rockthevote_version", "1.0.0.1888"),
    ("sv_turbophysics", "1"),
    ("tv_enable", "0"),
    ("tv_relaypassword", "0"),
];
