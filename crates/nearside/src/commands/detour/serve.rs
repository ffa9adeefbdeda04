//! `nearside detour serve`: a directory with its sockets, its store and its log.

mod config;
mod words;

use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nearside_directory::http::{Http, HttpError};
use nearside_directory::store::{Embedded, Loaded, Memory, Redis};
use nearside_directory::{Command, Handle, Server, ServerConfig, ServerError};
use nearside_net::Stop;
use nearside_tunnel::crypto::Identity;

use self::config::{ServeConfig, StorePlace};
use super::identity;
use crate::cli::DetourServeArgs;
use crate::commands::master::log::Log;
use crate::commands::master::signals::Signals;
use crate::exit::{Exit, WorldFailure};
use crate::origins::{Origins, now};

/// Runs the command.
pub(super) fn run(args: &DetourServeArgs) -> Result<Exit> {
    let printed = match args {
        _ if args.print_config => ServeConfig::explained(),
        _ if args.openapi => nearside_directory::http::openapi(),
        _ if args.print_key => {
            let config = ServeConfig::resolve(args)?;
            let (identity, _) = identity::open(&config.identity)?;
            format!("{}\n", identity.public())
        }
        _ => return serve(args),
    };
    io::stdout().write_all(printed.as_bytes())?;
    Ok(Exit::Done)
}

fn serve(args: &DetourServeArgs) -> Result<Exit> {
    let config = ServeConfig::resolve(args)?;
    let log = Log::to_stderr()?;
    let ended = serve_logged(args, &config, &log);
    log.finish(LAST_WORDS);
    ended
}

/// How long the end waits for somebody to read the log.
const LAST_WORDS: Duration = Duration::from_secs(1);

fn serve_logged(args: &DetourServeArgs, config: &ServeConfig, log: &Log) -> Result<Exit> {
    let (identity, is_new) = identity::open(&config.identity)?;
    let whether = if is_new { "new" } else { "known" };
    let place = config.identity.display();
    log.say(&format!("{whether} identity file={place:?}"));
    let key = identity.public();
    let signals = Signals::catch()?;
    let (server, loaded) = open(config, identity, &signals.stop)?;
    say_what_was_known(log, &server, &loaded);
    let handle = server.handle();
    for addr in handle.addresses() {
        log.say(&format!("listening on {addr} key={key}"));
    }
    let web = serve_web(config, &handle, log, &signals.stop)?;
    let origins = Origins::of(config.origins.clone())?;
    origins.notes().iter().for_each(|note| log.say(note));
    let (stack, today) = (origins.stack().clone(), now());
    let events = log.clone();
    let server = server
        .with_origins(move |ip| stack.lookup(ip, today).origin())
        .with_log(move |event| events.say_some(words::kind(event), || words::of(event)));
    let serving = server.spawn().map_err(blame)?;
    let timed_out = watch(args, &handle, &signals, log);
    signals.stop.stop();
    let ended = serving
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    drop(web);
    let counts = ended.map_err(blame)?;
    log.say(&format!(
        "ended clients={} joined={} introduced={} offered={}",
        handle.snapshot().clients,
        counts.joined,
        counts.introduced,
        counts.offered
    ));
    let exit = match timed_out {
        true => Exit::Done,
        false => Exit::Interrupted,
    };
    Ok(say_what_is_lost(log, &handle).unwrap_or(exit))
}

fn open(config: &ServeConfig, identity: Identity, stop: &Stop) -> Result<(Server, Loaded)> {
    let server = ServerConfig {
        listen: config.listen.clone(),
        second: config.second(),
        service: config.service(),
        directory: config.directory(),
    };
    let (seed, stop) = (identity::seed()?, stop.clone());
    let started = match &config.store {
        StorePlace::Nowhere => Server::start(server, identity, seed, Memory, stop),
        StorePlace::File(path) => Server::start(server, identity, seed, embedded(path)?, stop),
        StorePlace::Redis(nodes) => {
            let mut name = [0; 16];
            getrandom::fill(&mut name).context("the system gives no random numbers")?;
            let store = Redis::connect(nodes, name);
            let store = store.map_err(|error| WorldFailure(error.to_string()))?;
            Server::start(server, identity, seed, store, stop)
        }
    };
    started.map_err(blame)
}

fn embedded(path: &Path) -> Result<Embedded> {
    if let Some(folder) = path.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("cannot make {}", folder.display()))?;
    }
    Embedded::open(path).map_err(|error| WorldFailure(error.to_string()).into())
}

/// Opens the web side, and says where it is.
fn serve_web(
    config: &ServeConfig,
    handle: &Handle,
    log: &Log,
    stop: &Stop,
) -> Result<Option<Http>> {
    let Some(http) = config.http.clone() else {
        return Ok(None);
    };
    let http = Http::start(http, handle.clone(), stop.clone()).map_err(|error| match error {
        HttpError::NotLoopback(_) => anyhow::Error::from(error),
        _ => WorldFailure(error.to_string()).into(),
    })?;
    log.say(&format!("the operator's side on http://{}", http.address));
    Ok(Some(http))
}

/// Sockets and stores are the world's doing.
fn blame(error: ServerError) -> anyhow::Error {
    match error {
        ServerError::Net(error) => error.into(),
        ServerError::SecondPorts => error.into(),
        other => WorldFailure(other.to_string()).into(),
    }
}

fn say_what_was_known(log: &Log, server: &Server, loaded: &Loaded) {
    if server.clients() > 0 {
        log.say(&format!("{} clients known from before", server.clients()));
    }
    if loaded.unreadable > 0 {
        let count = loaded.unreadable;
        log.say(&format!(
            "{count} records could not be read and are left out"
        ));
    }
}

/// Says how many changes the store never took, if there are any; the world's fault.
fn say_what_is_lost(log: &Log, handle: &Handle) -> Option<Exit> {
    let keeper = handle.keeper();
    let count = keeper.waiting() + keeper.lost();
    let error = keeper.last_error().unwrap_or_default();
    (count > 0).then(|| {
        log.say(&format!("{count} changes not written why={error:?}"));
        Exit::WorldFailed
    })
}

/// Until stopped or out of time. SIGHUP takes up what can change while it runs. Tells whether time was
/// what ended it.
fn watch(args: &DetourServeArgs, handle: &Handle, signals: &Signals, log: &Log) -> bool {
    const LOOK: Duration = Duration::from_millis(250);
    let began = Instant::now();
    let mut failing = false;
    while !signals.stop.is_stopped() {
        if args
            .seconds
            .is_some_and(|limit| began.elapsed().as_secs_f64() >= limit)
        {
            return true;
        }
        if signals.take_reload() {
            reload(args, handle, log);
        }
        let trouble = handle.store_trouble();
        match (&trouble, failing) {
            (Some(trouble), false) => log.say(&format!("store fails why={:?}", trouble.reason)),
            (None, true) => log.say("store works again"),
            _ => {}
        }
        failing = trouble.is_some();
        thread::sleep(LOOK);
    }
    false
}

fn reload(args: &DetourServeArgs, handle: &Handle, log: &Log) {
    match ServeConfig::resolve(args) {
        Ok(config) => {
            let mut service = config.service();
            service.second_port = handle.second_port();
            handle.tell(Command::SetConfig(Box::new(service)));
            log.say("reloaded what=\"tokens, limits and tickets\"");
        }
        Err(error) => log.say(&format!("not reloaded why={:?}", format!("{error:#}"))),
    }
}
