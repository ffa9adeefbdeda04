//! `nearside browse`: from lists to a ranked table that stops by itself.

use std::collections::BTreeSet;
use std::io::{BufWriter, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nearside_discover::journal::Sink;
use nearside_discover::planner::{
    DrawRule, PlannerConfig, PlannerKind, SampleSize, ServerId, StopReason, StopRule,
};
use nearside_discover::prober::{Event, Limit, Prober, ProberConfig};
use nearside_discover::snapshot::Snapshot;
use nearside_discover::sources::{
    Completeness, ListPolicy, OriginLookup, OriginTable, Quake3Source, Reach, Source, SourceReport,
    SteamQuery, SteamSource, parse_list_file,
};
use nearside_net::lab::LabHandle;
use nearside_net::{
    BrowseObserver, BrowseOutcome, BrowseSetup, MasterSource, MonotonicClock, browse,
};
use nearside_types::{Moment, Rtt, ServerAddr};
use nearside_wire::list::OriginForm;
use nearside_wire::steam::Region;
use nearside_world::farm::FarmConfig;
use nearside_world::{Game as LabGame, ListMasterConfig};

use super::{challenge_policy, create, seed, share, stop_on_interrupt};
use crate::cli::{BrowseArgs, PlanningArgs, ProbingArgs, ShowingArgs, SourceArgs};
use crate::exit::{Exit, WorldFailure};
use crate::faces::{Face, FaceConfig, Filters, Format, Selection, Terminal};
use crate::games::{Listing, quake3_request, steam_filter};
use crate::lab::{self, LabPlan, MasterPorts};

/// Runs the command.
pub fn run(args: &BrowseArgs) -> Result<Exit> {
    let clock = MonotonicClock::start();
    let seed = seed(args.probing.seed)?;
    let planner = planner_config(&args.planning, args.showing.max_rtt)?;
    let lists = lists(&args.sources, planner, seed, clock)?;
    let favourites = lists.favourites.clone();
    let stop_rtt = planner.clusters.rtt_stop;
    let mut face = face(&args.showing, &favourites, stop_rtt);
    let stop = stop_on_interrupt()?;
    let setup = BrowseSetup {
        prober: prober_config(args, seed),
        planner: lists.planner,
        masters: lists.masters,
        servers: lists.servers,
        favourites: lists.favourites,
        policy: lists.policy,
        origins: lists.origins,
        record: recording(args.probing.record.as_deref())?,
    };
    let mut observer = Watcher {
        face: &mut face,
        shows_progress: !(args.showing.quiet && is_table(&args.showing)),
        last_progress: None,
        warnings: Vec::new(),
        closed: None,
        stop: stop.clone(),
    };
    let outcome = browse(setup, &clock, &stop, &mut observer)?;
    let Watcher {
        closed, warnings, ..
    } = observer;
    drop(lists.lab);
    if let Some(error) = closed {
        return closed_output(error);
    }
    let snapshot = snapshot(&outcome, favourites.len());
    if let Err(error) = face.finish(&snapshot) {
        return closed_output(error);
    }
    if !args.showing.quiet {
        notes(&outcome, &warnings, seed)?;
    }
    judge(&outcome, &snapshot)
}

/// A reader that went away (`| head`) is no failure; a full disk is.
fn closed_output(error: std::io::Error) -> Result<Exit> {
    if crate::faces::is_closed_pipe(&error) {
        return Ok(Exit::Done);
    }
    Err(error).context("cannot write the result")
}

/// What the exit code says.
fn judge(outcome: &BrowseOutcome, snapshot: &Snapshot) -> Result<Exit> {
    if snapshot.summary.stopped == Some(StopReason::Interrupted) {
        return Ok(Exit::Interrupted);
    }
    let silent = |(_, report): &(String, SourceReport)| report.completeness == Completeness::Silent;
    if snapshot.summary.listed == 0 && outcome.sources.iter().any(silent) {
        let names: Vec<&str> = outcome
            .sources
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        return Err(WorldFailure(format!(
            "no list came from {}: is the address right, and does it serve this game?",
            names.join(", ")
        ))
        .into());
    }
    Ok(if snapshot.summary.answered == 0 {
        Exit::Negative
    } else {
        Exit::Done
    })
}

/// Every row that answered, and favourites that did not.
fn snapshot(outcome: &BrowseOutcome, favourites: usize) -> Snapshot {
    let prober = outcome.prober.prober();
    let mut snapshot = prober.snapshot();
    let admitted = favourites.min(snapshot.summary.listed);
    let down = (0..admitted)
        .map(|index| prober.row(ServerId::from_index(index)))
        .filter(|row| row.rtt_ms.is_none());
    snapshot.servers.extend(down);
    snapshot
}

/// Passes what happens on to the face.
struct Watcher<'a, 'out> {
    face: &'a mut Face<'out>,
    shows_progress: bool,
    last_progress: Option<Moment>,
    /// Said at the end, so that they do not tear the live view.
    warnings: Vec<String>,
    /// Why nothing more can be written.
    closed: Option<std::io::Error>,
    stop: nearside_net::Stop,
}

/// Ten times a second is smooth to the eye and costs nothing.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

impl Watcher<'_, '_> {
    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written
            && self.closed.is_none()
        {
            self.closed = Some(error);
            self.stop.stop();
        }
    }
}

impl BrowseObserver for Watcher<'_, '_> {
    fn event(&mut self, prober: &Prober, event: Event) {
        if let Event::Answered(server) = event {
            let written = self.face.row(&prober.row(server));
            self.check(written);
        }
    }

    fn tick(&mut self, prober: &Prober, now: Moment) {
        let due = self
            .last_progress
            .is_none_or(|last| now - last >= PROGRESS_EVERY);
        if self.shows_progress && due {
            self.last_progress = Some(now);
            let written = self.face.progress(&prober.progress(now));
            self.check(written);
        }
    }

    fn source_done(&mut self, name: &str, report: &SourceReport) {
        if report.completeness != Completeness::Whole {
            self.warnings.push(source_words(name, report));
        }
    }
}

fn source_words(name: &str, report: &SourceReport) -> String {
    match report.completeness {
        Completeness::Whole => format!("{name}: {} servers", report.servers),
        Completeness::Truncated => format!(
            "{name}: the list broke off after {} servers (lost packets, or the master limits its guests: try again in a minute)",
            report.servers
        ),
        Completeness::Silent => format!(
            "{name}: no answer to {} requests ({} replies not understood)",
            report.requests, report.malformed
        ),
    }
}

/// What was left out and how to run it again, on standard error.
fn notes(outcome: &BrowseOutcome, warnings: &[String], seed: u64) -> Result<()> {
    let merge = outcome.merge;
    let mut err = std::io::stderr().lock();
    for warning in warnings {
        writeln!(err, "{warning}")?;
    }
    if merge.bogons > 0 {
        writeln!(
            err,
            "{} not probed: addresses that are private, reserved or out of reach (--lan allows private ones)",
            merge.bogons
        )?;
    }
    if merge.crowded > 0 {
        writeln!(
            err,
            "{} not probed: too many on one address (--per-address raises the limit)",
            merge.crowded
        )?;
    }
    if outcome.unsent > 0 {
        writeln!(
            err,
            "{} datagrams not sent: the system had no room",
            outcome.unsent
        )?;
    }
    writeln!(err, "seed {seed}")?;
    Ok(())
}

/// Everything that says what to probe.
struct Lists {
    planner: PlannerConfig,
    masters: Vec<MasterSource>,
    servers: Vec<ServerAddr>,
    favourites: Vec<ServerAddr>,
    policy: ListPolicy,
    origins: Box<dyn OriginLookup>,
    /// Answers as long as it lives.
    lab: Option<LabHandle>,
}

fn lists(
    args: &SourceArgs,
    planner: PlannerConfig,
    seed: u64,
    clock: MonotonicClock,
) -> Result<Lists> {
    if args.lab.is_none()
        && args.master.is_empty()
        && args.file.is_empty()
        && args.favourites.is_none()
    {
        bail!(
            "nothing to browse: give --lab PLACE, --master HOST:PORT or --file LIST (see --help)"
        );
    }
    let mut lists = Lists {
        planner,
        masters: Vec::new(),
        servers: servers_from_files(args)?,
        favourites: favourites(args)?,
        policy: ListPolicy {
            reach: reach(args),
            per_address: args.per_address,
        },
        origins: Box::new(origin_table(args)?),
        lab: None,
    };
    for name in &args.master {
        let addr = resolve(name)?;
        let form = origin_form(planner.kind);
        lists.masters.push(master(args, name.clone(), addr, form));
    }
    if let Some(place) = &args.lab {
        add_lab(&mut lists, args, place, seed, clock)?;
    }
    Ok(lists)
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
        world: None,
        farm: FarmConfig {
            protocol: lab::farm_protocol(game),
            loss: share("lab-loss", args.lab_loss)?,
            challenge: challenge_policy("lab-challenge", &args.lab_challenge)?,
            ..FarmConfig::default()
        },
        masters: ListMasterConfig::default(),
        master_ports: MasterPorts::USUAL,
        base_port: None,
        seed,
    };
    let open = lab::open(&plan, clock, true)?;
    let addr = open.master(args.game.protocol());
    let form = origin_form(lists.planner.kind);
    lists
        .masters
        .push(master(args, "the lab's master".to_owned(), addr, form));
    lists.origins = Box::new(open.origins());
    lists.planner = lists.planner.in_lab();
    lists.lab = Some(open.shell.spawn()?);
    Ok(())
}

/// The origins worth asking a master for: what the planner clusters by. List order stays the
/// master's own only in a plain list; markers bring the order of AS numbers.
const fn origin_form(planner: PlannerKind) -> Option<OriginForm> {
    match planner {
        PlannerKind::As => Some(OriginForm::As),
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

fn favourites(args: &SourceArgs) -> Result<Vec<ServerAddr>> {
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
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        return Ok(("standard input".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name, text))
}

fn origin_table(args: &SourceArgs) -> Result<OriginTable> {
    let Some(path) = &args.origins else {
        return Ok(OriginTable::default());
    };
    let (name, text) = read_text(path)?;
    Ok(OriginTable::parse(&name, &text)?)
}

/// The paper asks for RTT_stop slightly above what the player prefers.
const STOP_ABOVE_PREFERENCE: f64 = 1.1;

fn prober_config(args: &BrowseArgs, seed: u64) -> ProberConfig {
    let probing: &ProbingArgs = &args.probing;
    let mut config = ProberConfig::new(args.sources.game.protocol(), seed);
    config.pace = probing.pace;
    config.timeouts = vec![Duration::from_millis(probing.timeout); usize::from(probing.tries)];
    config.limit = Limit {
        probes: probing.max_probes,
        time: probing.max_time.map(Duration::from_secs_f64),
    };
    config
}

fn planner_config(args: &PlanningArgs, max_rtt: Option<f64>) -> Result<PlannerConfig> {
    let mut config = PlannerConfig::published(args.planner);
    let clusters = &mut config.clusters;
    clusters.sample_size = sample_size(&args.sample_size)?;
    if args.strict_draw {
        clusters.draw = DrawRule::Strict;
    }
    clusters.split_above = Rtt::from_millis_f64(args.split_above);
    clusters.split_prefix.v4 = args.split_prefix;
    let rule = match args.smooth_run {
        Some(run) => StopRule::SmoothRun {
            run,
            spread_ms: args.smooth_spread,
        },
        None => StopRule::Bottom {
            window: args.window,
            bottom: args.bottom / 100.0,
        },
    };
    clusters.stop = (!args.no_auto_stop).then_some(rule);
    let preferred = max_rtt.map(|max_rtt| max_rtt * STOP_ABOVE_PREFERENCE);
    Ok(match args.stop_rtt.or(preferred) {
        Some(stop_rtt) => config.stopping_at(Rtt::from_millis_f64(stop_rtt)),
        None => config,
    })
}

fn sample_size(text: &str) -> Result<SampleSize> {
    let rule = match text {
        "sqrt" => Some(SampleSize::SquareRoot),
        "log" => Some(SampleSize::Logarithm),
        _ => text
            .strip_suffix("sqrt")
            .and_then(|factor| factor.parse().ok())
            .filter(|factor| *factor > 0.0)
            .map(|factor| SampleSize::ScaledSquareRoot { factor })
            .or_else(|| {
                let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
                let share = percent / 100.0;
                (0.0..=1.0)
                    .contains(&share)
                    .then_some(SampleSize::Share { share })
            })
            .or_else(|| {
                let samples = text.parse().ok().filter(|&samples| samples > 0)?;
                Some(SampleSize::Fixed { samples })
            }),
    };
    rule.with_context(|| {
        format!("--sample-size {text}: write sqrt, log, 2sqrt, a number, or a share such as 5%")
    })
}

/// Whether a table is shown: asked for, or the default on a terminal.
fn is_table(args: &ShowingArgs) -> bool {
    match args.format {
        Some(format) => format == Format::Table,
        None => Terminal::stdout().is_some(),
    }
}

/// On a terminal, unless told otherwise, as many rows as fit: thousands would scroll the nearest
/// ones, which matter most, out of sight.
fn top(args: &ShowingArgs) -> Option<NonZeroUsize> {
    const HEADING_AND_SUMMARY: usize = 8;
    const LEAST: usize = 10;
    let terminal = Terminal::stdout().filter(|_| is_table(args));
    let fits = terminal.map(|terminal| {
        let height = terminal.size().height;
        height.saturating_sub(HEADING_AND_SUMMARY).max(LEAST)
    });
    args.top.or_else(|| fits.and_then(NonZeroUsize::new))
}

fn face(args: &ShowingArgs, favourites: &[ServerAddr], stop_rtt: Rtt) -> Face<'static> {
    let selection = Selection {
        filters: Filters {
            not_full: args.not_full,
            not_empty: args.not_empty,
            no_password: args.no_password,
            map: args.map.clone(),
            name: args.name.clone(),
            countries: args.country.clone(),
            asns: args.asn.clone(),
            max_rtt: args.max_rtt.map(Rtt::from_millis_f64),
        },
        sort: args.sort,
        top: top(args),
        favourites: favourites.iter().copied().collect(),
    };
    let config = FaceConfig {
        format: args.format,
        selection,
        stop_rtt,
        terminal: Terminal::stdout(),
    };
    let notes: Box<dyn Write> = if args.quiet {
        Box::new(std::io::sink())
    } else {
        Box::new(std::io::stderr())
    };
    Face::new(config, std::io::stdout(), notes)
}

fn recording(path: Option<&Path>) -> Result<Option<Sink>> {
    let Some(path) = path else { return Ok(None) };
    let mut file = BufWriter::new(create(path)?);
    // A record that cannot be written is cut short; the replay says so.
    Ok(Some(Box::new(move |entry| {
        if serde_json::to_writer(&mut file, &entry).is_ok() {
            let _ = file.write_all(b"\n");
        }
    })))
}
