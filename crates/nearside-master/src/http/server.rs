//! Connections within limits: so many at once, so many from one network, so long for a request to
//! arrive and for everything together. Nobody can hold the master by being slow. What comes through
//! a trusted proxy counts for the visitor's network, request by request.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nearside_types::Prefix;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::proxies::Proxies;

/// How many connections, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at the same time; further ones are closed at once.
    pub connections: usize,
    /// Of those, from one IPv4 /24 or IPv6 /48.
    pub per_network: usize,
    /// The longest that the head of a request may take to arrive, and a body too.
    pub arrival: Duration,
    /// The longest that a connection may last, answers included. A slow reader of a long list is
    /// cut off here.
    pub lifetime: Duration,
    /// Bytes a second of filtered lists that are written for one IPv4 /24 or IPv6 /48; ten seconds'
    /// worth can be saved up. The list without a filter is written for all, and nobody's to pay.
    pub list_bytes_per_second: u32,
    /// Bytes of filtered lists that are kept for the next who asks the same, and as many again of
    /// outdated ones that slow readers hold.
    pub list_memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            per_network: 64,
            arrival: Duration::from_secs(10),
            lifetime: Duration::from_secs(120),
            list_bytes_per_second: 2_000_000,
            list_memory: 128 << 20,
        }
    }
}

impl Limits {
    /// A proxy may have all connections.
    const fn of_proxies(self) -> Self {
        Self {
            per_network: self.connections,
            ..self
        }
    }
}

/// Who asks; handlers find it among a request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer(pub(super) IpAddr);

/// Marks requests that a trusted proxy passed on, whose visitor has not passed the door yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassedOn;

/// Who is connected.
#[derive(Debug, Default)]
pub(super) struct Door {
    inside: Mutex<HashMap<Prefix, usize>>,
    accepted: AtomicU64,
    turned_away: AtomicU64,
}

impl Door {
    /// Connections that are open.
    pub(super) fn inside(&self) -> usize {
        self.lock().values().sum()
    }

    /// Connections that were let in.
    pub(super) fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections that were closed at once.
    pub(super) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    pub(super) fn enter(self: &Arc<Self>, limits: &Limits, ip: IpAddr) -> Option<Guest> {
        let network = network(ip);
        let mut inside = self.lock();
        let total: usize = inside.values().sum();
        let here = inside.get(&network).copied().unwrap_or(0);
        if total >= limits.connections || here >= limits.per_network {
            self.turned_away.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        inside.insert(network, here + 1);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Some(Guest {
            door: Arc::clone(self),
            network,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Prefix, usize>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who shares places and allowances.
pub(super) fn network(ip: IpAddr) -> Prefix {
    let ip = ip.to_canonical();
    Prefix::new(ip, if ip.is_ipv4() { 24 } else { 48 })
}

/// A connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Guest {
    door: Arc<Door>,
    network: Prefix,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut inside = self.door.lock();
        if let Some(count) = inside.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                inside.remove(&self.network);
            }
        }
    }
}

/// Who is let in, and how long guests may stay.
#[derive(Debug, Clone)]
pub(super) struct House {
    pub(super) limits: Limits,
    pub(super) door: Arc<Door>,
    pub(super) proxies: Proxies,
}

/// Answers until the end is told, then lets answers on their way finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    house: House,
    ending: watch::Receiver<bool>,
) {
    let House {
        limits,
        door,
        proxies,
    } = house;
    let mut over = ending.clone();
    loop {
        let accepting = pin!(listener.accept());
        let ended = pin!(over.wait_for(|ending| *ending));
        let accepted = match select(accepting, ended).await {
            Either::Left((accepted, _)) => accepted,
            Either::Right(_) => return,
        };
        match accepted {
            Ok((stream, from)) => {
                // All visitors of a proxy come from its network: the door is theirs, not its.
                let from = from.ip().to_canonical();
                let door_of = match proxies.trusts(from) {
                    true => limits.of_proxies(),
                    false => limits,
                };
                if let Some(guest) = door.enter(&door_of, from) {
                    let service = WithPeer {
                        connected: from,
                        proxies: proxies.clone(),
                        inner: TowerToHyperService::new(router.clone()),
                    };
                    tokio::spawn(answer(stream, service, limits, ending.clone(), guest));
                }
            }
            // Out of file descriptors, or gone already: others may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn answer(
    stream: TcpStream,
    service: WithPeer,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
    _guest: Guest,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.arrival)
        .max_buf_size(16 << 10)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let told = async {
        let lifetime = tokio::time::timeout(limits.lifetime, ending.wait_for(|ending| *ending));
        // Both mean: no further requests.
        let _either = lifetime.await;
    };
    if let Either::Right(_) = select(connection.as_mut(), pin!(told)).await {
        connection.as_mut().graceful_shutdown();
        // What is on its way may go out, but not for ever.
        let _cut_off = tokio::time::timeout(LAST_ANSWER, connection).await;
    }
}

/// How long an answer may still take when its connection should end.
const LAST_ANSWER: Duration = Duration::from_secs(3);

/// Tells handlers who asks.
struct WithPeer {
    connected: IpAddr,
    proxies: Proxies,
    inner: TowerToHyperService<Router>,
}

impl Service<hyper::Request<Incoming>> for WithPeer {
    type Response = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Future;

    fn call(&self, mut request: hyper::Request<Incoming>) -> Self::Future {
        let visitor = self.proxies.visitor(self.connected, request.headers());
        request.extensions_mut().insert(Peer(visitor));
        if visitor != self.connected {
            request.extensions_mut().insert(PassedOn);
        }
        self.inner.call(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_house_and_a_greedy_network_are_turned_away_until_somebody_leaves() {
        let limits = Limits {
            connections: 3,
            per_network: 2,
            ..Limits::default()
        };
        let door = Arc::new(Door::default());
        let enter = |ip: &str| door.enter(&limits, ip.parse().unwrap());
        let first = enter("192.0.2.1");
        let _second = enter("192.0.2.2").unwrap();
        assert!(enter("192.0.2.3").is_none());
        let _third = enter("2001:db8::1").unwrap();
        assert!(enter("198.51.100.1").is_none());
        drop(first);
        assert!(enter("198.51.100.1").is_some());
        assert_eq!(door.turned_away(), 2);
    }
}
