//! `nearside master`: a master server with its sockets, its store and its log.

mod config;
mod desk;
mod log;
mod signals;
mod tables;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nearside_master::http::{Http, HttpConfig, HttpError};
use nearside_master::store::{Embedded, Loaded, Memory, Redis, Store, StoreError};
use nearside_master::upstream::{Followers, Say};
use nearside_master::{
    Command, Operator, OperatorError, Service, ServiceConfig, ServiceError, ServiceHandle,
};
use nearside_net::{MonotonicClock, Stop};
use nearside_registry::{Bans, Secret};

pub(super) use self::config::steam_key;
use self::config::{MasterConfig, StorePlace};
use self::desk::Desk;
use self::signals::Signals;
use self::tables::Tables;
use crate::cli::{MasterArgs, MasterCommand};
use crate::exit::{Exit, WorldFailure};
use crate::origins::{Origins, now};

/// Runs the command.
pub fn run(args: &MasterArgs) -> Result<Exit> {
    let printed = match args.what {
        Some(MasterCommand::Config) => MasterConfig::explained(),
        Some(MasterCommand::Openapi) => nearside_master::http::openapi(),
        None => return serve(args),
    };
    io::stdout().write_all(printed.as_bytes())?;
    Ok(Exit::Done)
}

fn serve(args: &MasterArgs) -> Result<Exit> {
    let config = MasterConfig::resolve(args)?;
    let origins = Origins::of(config.origins.clone())?;
    let mut log = io::stderr();
    for note in origins.notes() {
        writeln!(log, "{note}")?;
    }
    let (tables, feed) = Tables::open(origins, &config.bgp)?;
    let signals = Signals::catch()?;
    let stop = &signals.stop;
    let (service, loaded) = open(&config, &tables, stop)?;
    say_what_was_known(&mut log, &service, &loaded)?;
    let handle = service.handle();
    let desk = Desk::new(args, config.clone(), handle.clone(), Arc::clone(&tables))?;
    let desk = Arc::new(desk);
    let web = serve_web(&config, &handle, &desk, stop)?;
    for addr in handle.addresses() {
        writeln!(log, "listening on {addr}")?;
    }
    let serving = service.with_log(log::line).spawn().map_err(blame)?;
    if let Some(feed) = &feed {
        writeln!(log, "waiting for BGP neighbours on {}", feed.addr()?)?;
    }
    let feed = feed.map(|feed| feed.spawn(&tables, stop));
    follow(&config, &desk, &handle, stop);
    let timed_out = watch(&tables, &desk, &handle, &signals, args.seconds);
    stop.stop();
    let ended = serving
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    drop(web);
    let _panicked = feed.map(thread::JoinHandle::join);
    let tally = ended.map_err(blame)?;
    let servers = handle.snapshot().servers;
    writeln!(
        log,
        "{servers} servers; {} registrations, {} lists, {} cookies",
        tally.registrations, tally.lists, tally.cookies
    )?;
    Ok(if timed_out {
        Exit::Done
    } else {
        Exit::Interrupted
    })
}

/// Opens the web side, and says where it is.
fn serve_web(
    config: &MasterConfig,
    handle: &ServiceHandle,
    desk: &Arc<Desk>,
    stop: &Stop,
) -> Result<Option<Http>> {
    if config.http.is_empty() && config.admin.is_none() {
        return Ok(None);
    }
    let http = HttpConfig {
        public: config.http.clone(),
        admin: config.admin.clone(),
        limits: config.limits,
        sources: config.follow.iter().map(|one| one.name.clone()).collect(),
    };
    let operator: Arc<dyn Operator> = Arc::<Desk>::clone(desk);
    let http =
        Http::start(http, handle.clone(), operator, stop.clone()).map_err(|error| match error {
            HttpError::NotLoopback(_) => anyhow::Error::from(error),
            _ => WorldFailure(error.to_string()).into(),
        })?;
    for addr in &http.public {
        writeln!(io::stderr(), "lists and status on http://{addr}")?;
    }
    if let Some(addr) = http.admin {
        writeln!(io::stderr(), "the operator's side on http://{addr}")?;
    }
    Ok(Some(http))
}

/// Begins to follow other masters.
fn follow(config: &MasterConfig, desk: &Desk, handle: &ServiceHandle, stop: &Stop) {
    let say: Say = Arc::new(|line: String| log::say(&line));
    let followers = Followers::start(config.follow.clone(), handle, stop, &say);
    // Set once, here.
    let _is_set = desk.followers.set(followers);
}

fn open(config: &MasterConfig, tables: &Arc<Tables>, stop: &Stop) -> Result<(Service, Loaded)> {
    let mut secret = [0; 16];
    getrandom::fill(&mut secret).context("the system gives no random numbers")?;
    let mut service = ServiceConfig {
        listen: config.listen.clone(),
        settings: config.registry.clone(),
        secret: Secret(secret),
        bans: Bans::new(config.bans().cloned()),
    };
    let tables = Arc::clone(tables);
    let origin_of = move |ip| tables.origin(ip);
    let started = match &config.store {
        StorePlace::Nowhere => Service::start(service, Memory, origin_of, stop.clone()),
        StorePlace::File(path) => {
            let store = embedded(path)?;
            Service::start(service, store, origin_of, stop.clone())
        }
        StorePlace::Redis(nodes) => {
            let store = shared(nodes, &mut service.secret)?;
            Service::start(service, store, origin_of, stop.clone())
        }
    };
    started.map_err(blame)
}

fn embedded(path: &Path) -> Result<impl Store + 'static> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    Embedded::open(path).map_err(|error| WorldFailure(error.to_string()).into())
}

/// A cluster that front ends share, and with it the key of their cookies.
fn shared(nodes: &[String], secret: &mut Secret) -> Result<impl Store + 'static> {
    let world = |error: StoreError| WorldFailure(error.to_string());
    let mut store = Redis::connect(nodes).map_err(world)?;
    *secret = store.shared_secret(*secret).map_err(world)?;
    Ok(store)
}

/// What was wrongly set is bad input; sockets and stores are the world's doing.
fn blame(error: ServiceError) -> anyhow::Error {
    match error {
        ServiceError::Settings(error) => error.into(),
        ServiceError::Net(error) => error.into(),
        other => WorldFailure(other.to_string()).into(),
    }
}

fn say_what_was_known(log: &mut impl Write, service: &Service, loaded: &Loaded) -> io::Result<()> {
    if service.servers() > 0 {
        writeln!(log, "{} servers known from before", service.servers())?;
    }
    if loaded.unreadable > 0 {
        writeln!(
            log,
            "{} records could not be read and are left out",
            loaded.unreadable
        )?;
    }
    Ok(())
}

/// Until stopped or out of time: takes up origins and files that changed. Tells whether time was
/// what ended it.
fn watch(
    tables: &Tables,
    desk: &Desk,
    handle: &ServiceHandle,
    signals: &Signals,
    seconds: Option<f64>,
) -> bool {
    const LOOK: Duration = Duration::from_millis(250);
    const FILES: Duration = Duration::from_secs(2);
    let clock = MonotonicClock::start();
    let mut next = clock.now() + FILES;
    while !signals.stop.is_stopped() {
        let passed = clock.now();
        if seconds.is_some_and(|limit| passed.since_epoch().as_secs_f64() >= limit) {
            return true;
        }
        if tables.take_news() {
            handle.tell(Command::RefreshOrigins);
        }
        if signals.take_reload() {
            say_reloaded(&desk.reload());
        }
        if passed >= next {
            next = passed + FILES;
            let said = tables.read_again();
            if !said.is_empty() {
                handle.tell(Command::RefreshOrigins);
            }
            said.iter().for_each(|note| log::say(note));
            desk.look().iter().for_each(say_reloaded);
        }
        thread::sleep(LOOK);
    }
    false
}

fn say_reloaded(read: &Result<Vec<String>, OperatorError>) {
    match read {
        Ok(changes) if changes.is_empty() => log::say("reloaded nothing=\"has changed\""),
        Ok(changes) => log::say(&format!("reloaded changes=\"{}\"", changes.join("; "))),
        Err(error) => log::say(&format!("not reloaded why=\"{error}\"")),
    }
}

/// The default place of the store.
fn usual_store() -> Option<PathBuf> {
    let data = crate::origins::folder_of("XDG_DATA_HOME", ".local/share")?;
    Some(data.join("nearside").join("master.redb"))
}

/// The moment for log lines.
fn timestamp() -> String {
    now().to_string()
}
