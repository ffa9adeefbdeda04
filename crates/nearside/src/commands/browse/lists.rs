//! What to probe: masters, web lists, files, favourites, and the lab.

mod web;

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use anyhow::{Context, Result, bail};
use nearside_discover::planner::{PlannerConfig, PlannerKind};
use nearside_discover::sources::{
    ListPolicy, OriginLookup, OriginTable, Quake3Source, Reach, Source, SteamQuery, SteamSource,
    parse_list_file,
};
use nearside_net::lab::LabHandle;
use nearside_net::{MasterSource, MonotonicClock, Stop};
use nearside_types::ServerAddr;
use nearside_wire::list::OriginForm;
use nearside_wire::steam::Region;
use nearside_world::farm::FarmConfig;
use nearside_world::{Game as LabGame, WorldParams};

use crate::cli::{BrowseArgs, OriginSourceArgs, ShowingArgs, SourceArgs};
use crate::commands::{challenge_policy, share};
use crate::exit::WorldFailure;
use crate::games::{Listing, quake3_request, steam_filter};
use crate::lab::{self, LabPlan, MasterPorts};
use crate::origins::Origins;

/// Everything that says what to probe.
pub(super) struct Lists {
    pub(super) planner: PlannerConfig,
    pub(super) masters: Vec<MasterSource>,
    pub(super) servers: Vec<ServerAddr>,
    pub(super) favourites: Vec<ServerAddr>,
    pub(super) policy: ListPolicy,
    pub(super) origins: Box<dyn OriginLookup>,
    /// What is to be said about the origin data.
    pub(super) notes: Vec<String>,
    /// Answers as long as it lives.
    pub(super) lab: Option<LabHandle>,
}

pub(super) fn lists(
    args: &BrowseArgs,
    favourites: Vec<ServerAddr>,
    planner: PlannerConfig,
    seed: u64,
    clock: MonotonicClock,
    stop: &Stop,
) -> Result<Lists> {
    let BrowseArgs {
        sources: args,
        showing,
        origin,
        ..
    } = args;
    let mut lists = Lists {
        planner,
        masters: Vec::new(),
        servers: servers_from_files(args)?,
        favourites,
        policy: ListPolicy {
            reach: reach(args),
            per_address: args.per_address,
        },
        origins: Box::new(OriginTable::default()),
        notes: Vec::new(),
        lab: None,
    };
    for name in &args.master {
        let addr = resolve(name)?;
        let form = origin_form(planner.kind, showing);
        lists.masters.push(master(args, name.clone(), addr, form));
    }
    web::add(&mut lists, args, stop)?;
    match &args.lab {
        Some(_) if !origin.is_default() => bail!(
            "--lab has a table of its own: leave out --origins, --mrt, --asn-db, --origin-config and --only-given"
        ),
        Some(place) => add_lab(&mut lists, args, showing, place, seed, clock)?,
        None => add_origins(&mut lists, origin)?,
    }
    Ok(lists)
}

/// Any master's list gets its origins from this machine's sources.
fn add_origins(lists: &mut Lists, args: &OriginSourceArgs) -> Result<()> {
    let origins = Origins::open(args)?;
    lists.notes.extend(origins.notes());
    lists.origins = Box::new(origins);
    Ok(())
}

const fn reach(args: &SourceArgs) -> Reach {
    match (&args.lab, args.lan) {
        (Some(_), _) => Reach::Loopback,
        (None, true) => Reach::InternetAndLocal,
        (None, false) => Reach::Internet,
    }
}

fn add_lab(
    lists: &mut Lists,
    args: &SourceArgs,
    showing: &ShowingArgs,
    place: &str,
    seed: u64,
    clock: MonotonicClock,
) -> Result<()> {
    let game = match args.game.name {
        "css" => LabGame::Css,
        "et" => LabGame::EnemyTerritory,
        other => bail!("the lab has servers for css and et, not for {other}"),
    };
    let plan = LabPlan {
        place: place.to_owned(),
        game,
        servers: args.lab_servers,
        population: args.lab_population.clone(),
        world: WorldParams::builtin(),
        farm: FarmConfig {
            protocol: lab::farm_protocol(game),
            loss: share("lab-loss", args.lab_loss)?,
            challenge: challenge_policy("lab-challenge", &args.lab_challenge)?,
            ..FarmConfig::default()
        },
        cookies: false,
        master_ports: MasterPorts::USUAL,
        base_port: None,
        seed,
    };
    let open = lab::open(&plan, clock, true)?;
    let addr = open.master(args.game.protocol());
    let form = origin_form(lists.planner.kind, showing);
    lists
        .masters
        .push(master(args, "the lab's master".to_owned(), addr, form));
    lists.origins = Box::new(open.origins());
    lists.planner = lists.planner.in_lab();
    lists.lab = Some(open.shell.spawn()?);
    Ok(())
}

/// The origins worth asking a master for: what a filter needs, else what the planner clusters by.
/// List order stays the master's own only in a plain list; markers bring the order of AS numbers.
fn origin_form(planner: PlannerKind, showing: &ShowingArgs) -> Option<OriginForm> {
    match planner {
        _ if !showing.country.is_empty() && showing.asn.is_empty() => Some(OriginForm::Country),
        _ if !showing.asn.is_empty() && showing.country.is_empty() => Some(OriginForm::As),
        PlannerKind::Adaptive | PlannerKind::As => Some(OriginForm::As),
        PlannerKind::Country | PlannerKind::CountryOnly => Some(OriginForm::Country),
        PlannerKind::Conventional | PlannerKind::Steam => None,
    }
}

/// Valve's masters fell silent for a minute above 30 requests a minute.
const POLITE_PER_MINUTE: u32 = 25;

fn master(
    args: &SourceArgs,
    name: String,
    addr: SocketAddr,
    origin: Option<OriginForm>,
) -> MasterSource {
    let engine: Box<dyn Source> = match args.game.listing {
        Listing::Steam { key, value } => {
            let polite = (!addr.ip().is_loopback()).then_some(POLITE_PER_MINUTE);
            Box::new(SteamSource::new(SteamQuery {
                region: Region::All,
                filter: steam_filter(key, value),
                origin,
                per_minute: args.master_pace.or(polite),
            }))
        }
        Listing::Quake3 {
            game,
            extended_game,
            protocol,
        } => {
            let mut request = quake3_request(game, extended_game, protocol, args.ipv6);
            request.origin = origin;
            Box::new(Quake3Source::new(request))
        }
    };
    MasterSource { name, addr, engine }
}

fn resolve(name: &str) -> Result<SocketAddr> {
    if !name.contains(':') {
        bail!("--master {name}: add the port, as in {name}:27950");
    }
    let mut addresses = name
        .to_socket_addrs()
        .map_err(|error| WorldFailure(format!("cannot look up {name}: {error}")))?;
    let first = addresses
        .next()
        .ok_or_else(|| WorldFailure(format!("{name} has no address")))?;
    Ok(first)
}

fn servers_from_files(args: &SourceArgs) -> Result<Vec<ServerAddr>> {
    let mut servers = Vec::new();
    for path in &args.file {
        servers.extend(read_list(path, args)?);
    }
    Ok(servers)
}

/// Whether there is anything to browse, before anything is read or drawn.
pub(super) fn check(args: &SourceArgs) -> Result<()> {
    if args.lab.is_none()
        && args.master.is_empty()
        && args.from.is_empty()
        && args.file.is_empty()
        && args.favourites.is_none()
    {
        bail!(
            "nothing to browse: give --lab PLACE, --master HOST:PORT, --from LIST or --file LIST (see --help)"
        );
    }
    let from_stdin = args.file.iter().chain(&args.favourites);
    if from_stdin.filter(|path| path.as_os_str() == "-").count() > 1 {
        bail!("standard input can be read only once: give - for one list only");
    }
    Ok(())
}

/// The servers that are probed first, each once.
pub(super) fn favourites(args: &SourceArgs) -> Result<Vec<ServerAddr>> {
    let listed = match &args.favourites {
        Some(path) => read_list(path, args)?,
        None => Vec::new(),
    };
    let mut seen = BTreeSet::new();
    Ok(listed
        .into_iter()
        .filter(|addr| seen.insert(*addr))
        .collect())
}

fn read_list(path: &Path, args: &SourceArgs) -> Result<Vec<ServerAddr>> {
    let (name, text) = read_text(path)?;
    Ok(parse_list_file(&name, &text, args.game.protocol())?)
}

fn read_text(path: &Path) -> Result<(String, String)> {
    let mut bytes = Vec::new();
    let name = if path == Path::new("-") {
        std::io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        "standard input".to_owned()
    } else {
        let name = path.display().to_string();
        bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        name
    };
    let text = text_of(&name, bytes)?;
    Ok((name, text))
}

fn text_of(name: &str, bytes: Vec<u8>) -> Result<String> {
    if bytes.starts_with(&[0x1F, 0x8B]) {
        bail!("{name} is compressed with gzip: unpack it first");
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        anyhow::anyhow!("{name}, line {line}: not text (UTF-8)")
    })?;
    // Some editors on Windows put a byte order mark before the first line.
    Ok(text
        .strip_prefix('\u{FEFF}')
        .map_or(text.clone(), str::to_owned))
}
