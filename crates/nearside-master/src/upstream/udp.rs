//! Lists by UDP, with the engines of `nearside-discover` and a socket of their own.

use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use nearside_discover::sources::{
    Completeness, Quake3Source, Source, SourceOutput, SteamQuery, SteamSource,
};
use nearside_net::MonotonicClock;
use nearside_registry::{Facts, Family, Followed, Text, Wholeness};
use nearside_types::ServerAddr;
use nearside_wire::quake3::master::ListRequest;
use nearside_wire::steam::{Combine, Condition, Filter, Region};

use super::{FetchError, Fetched};

/// Valve's masters fell silent for a minute above 30 requests a minute.
const POLITE_PER_MINUTE: u32 = 25;

pub(super) fn steam(master: &str, filter: &str) -> Result<Fetched, FetchError> {
    let addr = look_up(master)?;
    let filter = Filter::parse(filter.as_bytes()).unwrap_or_default();
    let facts = facts_of_filter(&filter);
    let ask = |filter: Filter| {
        let engine = SteamSource::new(SteamQuery {
            region: Region::All,
            filter,
            origin: None,
            per_minute: (!addr.ip().is_loopback()).then_some(POLITE_PER_MINUTE),
        });
        fetch(master, addr, engine, Family::Steam, &facts)
    };
    or_plainly(ask(filter.clone().with("own", "1")), || ask(filter))
}

pub(super) fn quake3(
    master: &str,
    game: Option<&str>,
    protocol: u32,
) -> Result<Fetched, FetchError> {
    let addr = look_up(master)?;
    let plain = ListRequest::new(game, protocol);
    let mut own = plain.clone();
    own.other.push("own".to_owned());
    let mut facts = Facts::of_texts(&[(Text::Game, game.unwrap_or_default().as_bytes())]);
    facts.protocol = protocol;
    let ask = |request| {
        let engine = Quake3Source::new(request);
        fetch(master, addr, engine, Family::Quake3, &facts)
    };
    or_plainly(ask(own), || ask(plain))
}

/// Masters that follow each other tell only what registered with them (docs/wire/master-lists.md,
/// extension 4); some old masters answer words they do not know with silence.
fn or_plainly(
    own: Result<Fetched, FetchError>,
    plainly: impl FnOnce() -> Result<Fetched, FetchError>,
) -> Result<Fetched, FetchError> {
    match own {
        Err(FetchError::Silent(_)) => plainly(),
        other => other,
    }
}

/// What a filter alone says of all servers it selects.
fn facts_of_filter(filter: &Filter) -> Facts {
    let mut facts = Facts::default();
    for condition in filter.conditions() {
        collect(condition, &mut facts);
    }
    facts
}

fn collect(condition: &Condition, facts: &mut Facts) {
    match condition {
        Condition::Is { key, value } => match key.as_bytes() {
            b"gamedir" => {
                let app_id = facts.app_id;
                *facts = Facts::of_texts(&[(Text::Game, value.as_bytes())]);
                facts.app_id = app_id;
            }
            b"appid" => facts.app_id = value.plain().parse().unwrap_or(0),
            _ => {}
        },
        Condition::Group {
            how: Combine::And,
            conditions,
        } => conditions
            .iter()
            .for_each(|condition| collect(condition, facts)),
        Condition::Group { .. } => {}
    }
}

fn look_up(master: &str) -> Result<SocketAddr, FetchError> {
    let unknown = || FetchError::Lookup(master.to_owned());
    let mut addresses = master.to_socket_addrs().map_err(|_| unknown())?;
    addresses.next().ok_or_else(unknown)
}

/// The longest that a list may take: a slow master is asked again later.
const LONGEST: Duration = Duration::from_secs(120);

fn fetch(
    name: &str,
    addr: SocketAddr,
    mut engine: impl Source,
    family: Family,
    facts: &Facts,
) -> Result<Fetched, FetchError> {
    let failed = |source| FetchError::Io {
        place: name.to_owned(),
        source,
    };
    let any = if addr.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any).map_err(failed)?;
    socket.connect(addr).map_err(failed)?;
    let clock = MonotonicClock::start();
    let mut buffer = vec![0; 65_535];
    let mut servers: Vec<ServerAddr> = Vec::new();
    let report = loop {
        let now = clock.now();
        match engine.poll_output(now) {
            SourceOutput::Transmit(datagram) => {
                // A refusal comes back with the next receive.
                let _refused = socket.send(&datagram);
            }
            SourceOutput::Servers(more) => servers.extend(more.iter().map(|listed| listed.addr)),
            SourceOutput::Wait(_) if now.since_epoch() > LONGEST => {
                break Completeness::Truncated;
            }
            SourceOutput::Wait(until) => {
                let wait = until.since(now).max(Duration::from_millis(1));
                socket.set_read_timeout(Some(wait)).map_err(failed)?;
                match socket.recv(&mut buffer) {
                    Ok(length) => engine.handle_datagram(clock.now(), &buffer[..length]),
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                        engine.handle_unreachable();
                    }
                    // Time is up; the engine knows what to do.
                    Err(_) => {}
                }
            }
            SourceOutput::Done(report) => break report.completeness,
        }
    };
    let wholeness = match report {
        Completeness::Silent => return Err(FetchError::Silent(name.to_owned())),
        Completeness::Whole => Wholeness::Whole,
        Completeness::Truncated => Wholeness::Partial,
    };
    let followed = servers.into_iter().map(|addr| Followed {
        addr,
        family,
        facts: facts.clone(),
    });
    Ok(Fetched {
        servers: followed.collect(),
        wholeness,
    })
}
