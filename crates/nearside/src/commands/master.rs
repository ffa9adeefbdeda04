//! `nearside master`: a master server with its sockets, its store and its log.

mod ban_file;
mod config;
mod desk;
pub(super) mod log;
pub(super) mod signals;
mod tables;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nearside_master::http::{Http, HttpConfig, HttpError};
use nearside_master::store::{Embedded, Loaded, Memory, Redis, Store, StoreError};
use nearside_master::upstream::{Followers, Say};
use nearside_master::{
    Command, Operator, OperatorError, Service, ServiceConfig, ServiceError, ServiceHandle,
    StoreTrouble,
};
use nearside_net::{MonotonicClock, Stop};
use nearside_registry::{Bans, Secret, Tally};

pub(super) use self::config::steam_key;
use self::config::{MasterConfig, StorePlace};
use self::desk::Desk;
use self::log::Log;
use self::signals::Signals;
use self::tables::Tables;
use crate::cli::{MasterArgs, MasterCommand};
use crate::exit::{Exit, WorldFailure};
use crate::origins::Origins;

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
    let log = Log::to_stderr()?;
    let ended = serve_logged(args, &config, &log);
    log.finish(LAST_WORDS);
    ended
}

fn serve_logged(args: &MasterArgs, config: &MasterConfig, log: &Log) -> Result<Exit> {
    let origins = Origins::of(config.origins.clone())?;
    origins.notes().iter().for_each(|note| log.say(note));
    let (tables, feed) = Tables::open(origins, &config.bgp)?;
    let signals = Signals::catch()?;
    let stop = &signals.stop;
    let (service, loaded) = open(config, &tables, stop)?;
    say_what_was_known(log, &service, &loaded);
    let handle = service.handle();
    let desk = Desk::new(
        args,
        config.clone(),
        handle.clone(),
        Arc::clone(&tables),
        log.clone(),
    )?;
    let desk = Arc::new(desk);
    let web = serve_web(config, &handle, &desk, stop)?;
    for addr in handle.addresses() {
        log.say(&format!("listening on {addr}"));
    }
    let events = log.clone();
    let service = service.with_log(move |event| events.event(event));
    let serving = service.spawn().map_err(blame)?;
    if let Some(feed) = &feed {
        log.say(&format!("waiting for BGP neighbours on {}", feed.addr()?));
    }
    let feed = feed.map(|feed| feed.spawn(&tables, stop, log));
    follow(config, &desk, &handle, stop);
    let why = watch(&tables, &desk, &handle, &signals, args.seconds, &serving);
    stop.stop();
    let ended = serving.join();
    drop(web);
    let _panicked = feed.map(thread::JoinHandle::join);
    let tally = tally_of(ended)?;
    let exit = match why {
        Why::TimeIsUp => Exit::Done,
        Why::Told | Why::EngineEnded => Exit::Interrupted,
    };
    let exit = say_what_is_lost(log, &handle).unwrap_or(exit);
    let servers = handle.snapshot().servers;
    log.say(&format!(
        "{servers} servers; {} registrations, {} lists, {} cookies",
        tally.registrations, tally.lists, tally.cookies
    ));
    Ok(exit)
}

type Serving = thread::JoinHandle<Result<Tally, ServiceError>>;

/// What the engine has done, or why it is no more.
fn tally_of(ended: thread::Result<Result<Tally, ServiceError>>) -> Result<Tally> {
    match ended {
        Ok(ended) => ended.map_err(blame),
        // The panic itself stands above in the log.
        Err(_panic) => Err(WorldFailure(
            "the master's engine broke, which is a mistake of ours: please report it with the log; \
             servers are kept in the store, so start it again"
                .to_owned(),
        )
        .into()),
    }
}

/// How long the end waits for somebody to read the log.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Says how many changes the store never took, if there are any; the world's fault.
fn say_what_is_lost(log: &Log, handle: &ServiceHandle) -> Option<Exit> {
    let keeper = handle.keeper();
    let count = keeper.waiting();
    let error = keeper.last_error().unwrap_or_default();
    (count > 0).then(|| {
        log.say(&format!("{count} changes not written why={error:?}"));
        Exit::WorldFailed
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
        trusted_proxies: config.trusted_proxies.clone(),
        sources: config.follow.iter().map(|one| one.name.clone()).collect(),
    };
    let operator: Arc<dyn Operator> = Arc::<Desk>::clone(desk);
    let http =
        Http::start(http, handle.clone(), operator, stop.clone()).map_err(|error| match error {
            HttpError::NotLoopback(_) => anyhow::Error::from(error),
            _ => WorldFailure(error.to_string()).into(),
        })?;
    for addr in &http.public {
        desk.log.say(&format!("lists and status on http://{addr}"));
    }
    if let Some(addr) = http.admin {
        desk.log
            .say(&format!("the operator's side on http://{addr}"));
    }
    Ok(Some(http))
}

/// Begins to follow other masters.
fn follow(config: &MasterConfig, desk: &Desk, handle: &ServiceHandle, stop: &Stop) {
    let log = desk.log.clone();
    let say: Say = Arc::new(move |line: String| log.say(&line));
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
            .map_err(|error| WorldFailure(format!("cannot make {}: {error}", folder.display())))?;
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
        ServiceError::Nowhere => error.into(),
        ServiceError::Net(error) => error.into(),
        other => WorldFailure(other.to_string()).into(),
    }
}

fn say_what_was_known(log: &Log, service: &Service, loaded: &Loaded) {
    if service.servers() > 0 {
        log.say(&format!("{} servers known from before", service.servers()));
    }
    if loaded.unreadable > 0 {
        log.say(&format!(
            "{} records could not be read and are left out",
            loaded.unreadable
        ));
    }
}

/// Why a master ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    TimeIsUp,
    Told,
    /// By an error, which whoever joins its thread is told.
    EngineEnded,
}

/// Until stopped, out of time or without an engine: takes up origins and files that changed.
fn watch(
    tables: &Tables,
    desk: &Desk,
    handle: &ServiceHandle,
    signals: &Signals,
    seconds: Option<f64>,
    serving: &Serving,
) -> Why {
    const LOOK: Duration = Duration::from_millis(250);
    const FILES: Duration = Duration::from_secs(2);
    let log = &desk.log;
    let mut store = StoreWatch::default();
    let clock = MonotonicClock::start();
    let mut next = clock.now() + FILES;
    while !signals.stop.is_stopped() {
        let passed = clock.now();
        if seconds.is_some_and(|limit| passed.since_epoch().as_secs_f64() >= limit) {
            return Why::TimeIsUp;
        }
        // A process without its engine would answer nobody and look alive.
        if serving.is_finished() {
            return Why::EngineEnded;
        }
        if tables.take_news() {
            handle.tell(Command::RefreshOrigins);
        }
        if signals.take_reload() {
            say_reloaded(log, &desk.reload());
        }
        if let Some(line) = store.look(handle) {
            log.say(&line);
        }
        if passed >= next {
            next = passed + FILES;
            let said = tables.read_again();
            if !said.is_empty() {
                handle.tell(Command::RefreshOrigins);
            }
            said.iter().for_each(|note| log.say(note));
            let read = desk.look();
            read.iter().for_each(|read| say_reloaded(log, read));
        }
        thread::sleep(LOOK);
    }
    Why::Told
}

fn say_reloaded(log: &Log, read: &Result<Vec<String>, OperatorError>) {
    match read {
        Ok(changes) if changes.is_empty() => log.say("reloaded nothing=\"has changed\""),
        Ok(changes) => log.say(&format!("reloaded changes={:?}", changes.join("; "))),
        Err(error) => log.say(&format!("not reloaded why={:?}", error.to_string())),
    }
}

/// Tells when the store begins to fail and when it works again, once each.
#[derive(Debug, Default)]
struct StoreWatch {
    failing_since: Option<Instant>,
}

impl StoreWatch {
    fn look(&mut self, handle: &ServiceHandle) -> Option<String> {
        match (handle.store_trouble(), self.failing_since) {
            (Some(StoreTrouble { reason, waiting }), None) => {
                self.failing_since = Some(Instant::now());
                Some(format!("store fails why={reason:?} waiting={waiting}"))
            }
            (None, Some(since)) => {
                self.failing_since = None;
                let seconds = since.elapsed().as_secs_f64();
                Some(format!("store works again after_s={seconds:.1}"))
            }
            _ => None,
        }
    }
}

/// The default place of the store.
fn usual_store() -> Option<PathBuf> {
    let data = crate::origins::folder_of("XDG_DATA_HOME", ".local/share")?;
    Some(data.join("nearside").join("master.redb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_broke_is_told_in_a_sentence_and_not_as_bad_input() {
        let broken = thread::spawn(|| panic!("on purpose")).join();
        let error = tally_of(broken).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::WorldFailed);
        assert!(error.to_string().contains("report"), "{error}");
        let settings = nearside_registry::SettingsError::NoLists;
        let error = tally_of(Ok(Err(settings.into()))).unwrap_err();
        assert_eq!(Exit::of_error(&error), Exit::BadInput);
    }
}
