//! The lab as the commands use it: a population, folded onto loopback, answering from one thread,
//! with a master of each protocol.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use nearside_discover::prober::Protocol;
use nearside_discover::sources::OriginLookup;
use nearside_net::lab::{LabConfig, LabShell, Reply, Responder, WithMasters};
use nearside_net::{MonotonicClock, NetError};
use nearside_registry::{
    Facts, Family, Flags, Master, Output, Secret, Server, Settings, Standing, Text,
};
use nearside_types::{Moment, Origin, ServerAddr};
use nearside_world::farm::{self, Farm, FarmConfig, FarmServer, Persona};
use nearside_world::{Folded, Game, Population, WorldParams, fold, generate};

use crate::worlds;

/// What lab to build.
#[derive(Debug, Clone)]
pub struct LabPlan {
    /// The place the client is at: a client column of the population.
    pub place: String,
    /// Which game's servers.
    pub game: Game,
    /// How many of them answer; the published number by default.
    pub servers: Option<usize>,
    /// A population file instead of a generated one.
    pub population: Option<PathBuf>,
    /// What the population is generated from.
    pub world: WorldParams,
    /// How the servers behave.
    pub farm: FarmConfig,
    /// Whether the masters want a cookie before they list, as on the open Internet.
    pub cookies: bool,
    /// Where they listen, at least.
    pub master_ports: MasterPorts,
    /// Where game servers listen, at least; the game's usual port by default.
    pub base_port: Option<u16>,
    /// Seed of population and luck.
    pub seed: u64,
}

/// Where the masters listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MasterPorts {
    /// The Steam master's.
    pub steam: u16,
    /// The Quake 3 family's.
    pub quake3: u16,
}

impl MasterPorts {
    /// Where clients expect them.
    pub const USUAL: Self = Self {
        steam: 27011,
        quake3: 27950,
    };
}

/// The masters are this far away: near enough that a long list takes no second.
const MASTER_RTT: Duration = Duration::from_millis(2);

/// The responder of a whole lab.
pub type LabResponder = WithMasters<FarmResponder, MasterResponder>;

/// A lab whose sockets are open.
pub struct OpenLab {
    /// Run or spawn it.
    pub shell: LabShell<LabResponder>,
    /// The Steam master.
    pub steam_master: SocketAddr,
    /// The Quake 3 master.
    pub quake3_master: SocketAddr,
    /// The population on loopback.
    pub folded: Folded,
    /// The client's column in the population.
    pub client: usize,
}

impl OpenLab {
    /// The master that lists the lab's servers in the protocol they speak.
    pub fn master(&self, protocol: Protocol) -> SocketAddr {
        match protocol {
            Protocol::A2s => self.steam_master,
            Protocol::Quake3 => self.quake3_master,
        }
    }

    /// The lab's origin table.
    pub fn origins(&self) -> LabOrigins {
        let by_ip = |(addr, origin): (&nearside_types::ServerAddr, &Origin)| (addr.ip(), *origin);
        LabOrigins(self.folded.origins.iter().map(by_ip).collect())
    }
}

/// Where folded addresses really come from.
#[derive(Debug, Clone, Default)]
pub struct LabOrigins(HashMap<IpAddr, Origin>);

impl OriginLookup for LabOrigins {
    fn origin(&self, ip: IpAddr) -> Origin {
        self.0.get(&ip).copied().unwrap_or_default()
    }
}

/// The population of a plan: from its file, or generated.
pub fn population(plan: &LabPlan) -> Result<Population> {
    Ok(match &plan.population {
        Some(path) => worlds::population(path)?,
        None => generate(&plan.world, plan.game, plan.servers, plan.seed),
    })
}

/// How many places for its ports a lab tries before it gives up.
const PORT_ATTEMPTS: u16 = 8;

/// Opens the lab at its ports. With `elsewhere_if_taken` it moves on to other ports when somebody
/// uses the usual ones.
pub fn open(plan: &LabPlan, clock: MonotonicClock, elsewhere_if_taken: bool) -> Result<OpenLab> {
    let population = population(plan)?;
    let named = |client: &String| client.eq_ignore_ascii_case(&plan.place);
    let Some(client) = population.clients.iter().position(named) else {
        bail!(
            "there is no place `{}` in this world (choose {})",
            plan.place,
            population.clients.join(", ")
        );
    };
    let attempts = if elsewhere_if_taken { PORT_ATTEMPTS } else { 1 };
    let mut last = None;
    for attempt in 0..attempts {
        match open_at(plan, &population, client, attempt * 512, clock)? {
            Ok(lab) => return Ok(lab),
            Err(error @ NetError::Bind { .. }) => last = Some(error),
            Err(error) => return Err(error.into()),
        }
    }
    Err(last.expect("at least one attempt was made").into())
}

fn open_at(
    plan: &LabPlan,
    population: &Population,
    client: usize,
    shift: u16,
    clock: MonotonicClock,
) -> Result<Result<OpenLab, NetError>> {
    let base_port = plan.base_port.unwrap_or(plan.game.default_port()) + shift;
    let folded = fold(population, base_port)?;
    let steam = SocketAddrV4::new(Ipv4Addr::LOCALHOST, plan.master_ports.steam + shift);
    let quake3 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, plan.master_ports.quake3 + shift);
    let servers = FarmServer::seen_from(&folded.population, client);
    let server_ports: BTreeSet<u16> = servers.iter().map(|server| server.addr.port()).collect();
    let farm = Farm::new(plan.farm.clone(), servers, plan.seed);
    let master = || MasterResponder::new(plan, &folded);
    let responder = WithMasters::new(FarmResponder::new(farm))
        .master(steam, master())
        .master(quake3, master());
    let config = LabConfig {
        server_ports,
        masters: vec![steam, quake3],
    };
    Ok(
        LabShell::bind(&config, responder, clock).map(|shell| OpenLab {
            shell,
            steam_master: steam.into(),
            quake3_master: quake3.into(),
            folded,
            client,
        }),
    )
}

/// What the lab's servers speak.
pub const fn farm_protocol(game: Game) -> farm::Protocol {
    match game {
        Game::Css => farm::Protocol::A2s,
        Game::EnemyTerritory => farm::Protocol::EnemyTerritory,
    }
}

/// The farm behind the lab's sockets.
pub struct FarmResponder {
    farm: Farm,
    replies: Vec<farm::FarmReply>,
}

impl FarmResponder {
    fn new(farm: Farm) -> Self {
        Self {
            farm,
            replies: Vec::new(),
        }
    }
}

impl Responder for FarmResponder {
    fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        to: SocketAddr,
        payload: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        self.farm.handle(now, from, to, payload, &mut self.replies);
        replies.extend(self.replies.drain(..).map(|reply| Reply {
            delay: reply.delay,
            payload: reply.payload,
        }));
    }
}

/// `nearside master`'s engine behind the lab's sockets, with all servers registered.
pub struct MasterResponder(Master);

impl MasterResponder {
    fn new(plan: &LabPlan, folded: &Folded) -> Self {
        let origins: HashMap<IpAddr, Origin> = folded
            .origins
            .iter()
            .map(|(addr, origin)| (addr.ip(), *origin))
            .collect();
        let origin_of = move |ip: IpAddr| origins.get(&ip).copied().unwrap_or_default();
        // The lab's luck is of its seed, and so are its keys: nobody forges on loopback.
        let mut secret = [0; 16];
        secret[..8].copy_from_slice(&plan.seed.to_le_bytes());
        let mut master = Master::new(settings(plan.cookies), Secret(secret), origin_of);
        for listed in folded.population.listed() {
            master.remember(Moment::EPOCH, registered(plan, listed.addr));
        }
        Self(master)
    }
}

/// Room for the whole lab, and no end: its servers send no heartbeats.
fn settings(cookies: bool) -> Settings {
    Settings {
        timeout_s: FOREVER_S,
        servers: usize::MAX,
        servers_per_address: u32::MAX,
        servers_per_network: u32::MAX,
        legacy_bytes_per_second: if cookies { 0 } else { PLENTY },
        list_bytes_per_second: PLENTY,
        lan: true,
        ..Settings::default()
    }
}

/// Longer than any lab runs.
const FOREVER_S: u32 = 365 * 24 * 3600;

/// Bytes a second: a list of 30,000 servers in a moment.
const PLENTY: u32 = 100_000_000;

/// A lab server as it would have registered itself.
fn registered(plan: &LabPlan, addr: ServerAddr) -> Server {
    let persona = Persona::of(addr, farm_protocol(plan.game), plan.seed);
    let (family, game, protocol, app_id) = match plan.game {
        Game::Css => (Family::Steam, "cstrike", 17, 240),
        Game::EnemyTerritory => (Family::Quake3, "et", 84, 0),
    };
    let mut facts = Facts::of_texts(&[
        (Text::Game, game.as_bytes()),
        (Text::Name, &persona.name),
        (Text::Map, persona.map.as_bytes()),
    ]);
    (facts.protocol, facts.app_id) = (protocol, app_id);
    facts.players = persona.players.into();
    facts.bots = persona.bots.into();
    facts.places = persona.max_players.into();
    facts.flags = Flags {
        password: persona.password,
        dedicated: true,
        secure: persona.protected,
        linux: !persona.windows,
        proxy: false,
    };
    Server {
        addr,
        family,
        standing: Standing::Verified,
        origin: Origin::default(),
        expires: Moment::EPOCH + Duration::from_secs(FOREVER_S.into()),
        facts,
    }
}

impl Responder for MasterResponder {
    fn handle(
        &mut self,
        now: Moment,
        from: SocketAddr,
        _to: SocketAddr,
        payload: &[u8],
        replies: &mut Vec<Reply>,
    ) {
        self.0.handle(now, from, payload);
        while let Some(output) = self.0.poll_output() {
            if let Output::Send { to, payload, .. } = output
                && to == from
            {
                replies.push(Reply {
                    delay: MASTER_RTT,
                    payload: payload.to_vec(),
                });
            }
        }
    }
}
