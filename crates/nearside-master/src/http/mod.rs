//! The web side of a master: lists and registration for everybody, and the operator's side on
//! loopback. One thread does the network; lists are written on others.

mod admin;
mod allowance;
mod failure;
mod list;
mod metrics;
mod openapi;
mod pages;
mod proxies;
mod register;
mod rows;
mod server;
mod status;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use nearside_net::Stop;
use nearside_types::Prefix;
use socket2::{Domain, Protocol, Socket, Type};
use thiserror::Error;
use tokio::sync::watch;

use crate::operator::Operator;
use crate::service::{ServiceHandle, StoreTrouble};
use failure::Failure;
use pages::Pages;
use proxies::Proxies;
use server::{Door, House, PassedOn, Peer};
use status::History;

pub use admin::Token;
pub use openapi::text as openapi;
pub use rows::{FactsRow, ServerRow};
pub use server::Limits;

/// Where the web side listens.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// For everybody.
    pub public: Vec<SocketAddr>,
    /// For the operator, with the token that requests must show.
    pub admin: Option<(SocketAddr, Token)>,
    /// Limits of connections.
    pub limits: Limits,
    /// Networks of proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<Prefix>,
    /// What the followed masters are called, by their numbers.
    pub sources: Vec<String>,
}

/// Why the web side cannot start.
#[derive(Debug, Error)]
pub enum HttpError {
    /// A port is taken.
    #[error("cannot serve HTTP on {addr}: {source}")]
    Bind {
        /// Which.
        addr: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The thread could not be started.
    #[error("the system starts no thread for HTTP: {0}")]
    Thread(io::Error),
    /// The operator's side would be reachable from elsewhere.
    #[error("{0} is no loopback address: the admin side listens on 127.0.0.1 or [::1] only")]
    NotLoopback(SocketAddr),
}

/// What all requests share.
struct Web {
    handle: ServiceHandle,
    operator: Arc<dyn Operator>,
    pages: Arc<Pages>,
    history: History,
    door: Arc<Door>,
    /// The operator's own: however many crowd the public side, there is room on this one.
    admin_door: Arc<Door>,
    limits: Limits,
    proxies: Proxies,
    token: Option<Token>,
    /// By method and route, and status.
    requests: Mutex<BTreeMap<(String, u16), u64>>,
}

type Shared = Arc<Web>;

/// The web side while it runs.
#[derive(Debug)]
pub struct Http {
    /// Where everybody can connect, with real port numbers.
    pub public: Vec<SocketAddr>,
    /// Where the operator can.
    pub admin: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Opens the ports and answers on a thread until `stop`.
    pub fn start(
        config: HttpConfig,
        handle: ServiceHandle,
        operator: Arc<dyn Operator>,
        stop: Stop,
    ) -> Result<Self, HttpError> {
        let mut listeners = Vec::new();
        for addr in &config.public {
            listeners.push((bind(*addr)?, Side::Public));
        }
        if let Some((addr, _)) = &config.admin {
            if !addr.ip().is_loopback() {
                return Err(HttpError::NotLoopback(*addr));
            }
            listeners.push((bind(*addr)?, Side::Admin));
        }
        let addresses = |side: Side| -> Vec<SocketAddr> {
            let of_side = listeners.iter().filter(|(_, of)| *of == side);
            of_side
                .filter_map(|(listener, _)| listener.local_addr().ok())
                .collect()
        };
        let (public, admin) = (addresses(Side::Public), addresses(Side::Admin).pop());
        let boot = handle.snapshot().started.as_nanos() ^ u64::from(std::process::id());
        let web = Arc::new(Web {
            handle,
            operator,
            pages: Arc::new(Pages::new(boot, config.sources, &config.limits)),
            history: History::default(),
            door: Arc::default(),
            admin_door: Arc::default(),
            limits: config.limits,
            proxies: Proxies::new(config.trusted_proxies),
            token: config.admin.map(|(_, token)| token),
            requests: Mutex::default(),
        });
        let builder = thread::Builder::new().name("http".to_owned());
        let thread = builder.spawn(move || run(listeners, &web, &stop));
        Ok(Self {
            public,
            admin,
            thread: Some(thread.map_err(HttpError::Thread)?),
        })
    }
}

impl Drop for Http {
    /// Waits until the last answers are out, which is seconds at most once the stop was told.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Public,
    Admin,
}

fn bind(addr: SocketAddr) -> Result<std::net::TcpListener, HttpError> {
    listen(addr).map_err(|source| HttpError::Bind { addr, source })
}

/// IPv6 alone on an IPv6 address, as UDP ports do: both families may then have the same port.
fn listen(addr: SocketAddr) -> io::Result<std::net::TcpListener> {
    let domain = Domain::for_address(addr);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if domain == Domain::IPV6 {
        socket.set_only_v6(true)?;
    }
    // What the last process left behind keeps nobody from the port; on Windows it means more.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Connections that wait to be taken; the system may allow fewer.
const BACKLOG: i32 = 1024;

/// How long answers on their way may take after the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(3);

fn run(listeners: Vec<(std::net::TcpListener, Side)>, web: &Shared, stop: &Stop) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    let (end, ending) = watch::channel(false);
    runtime.block_on(async {
        for (listener, side) in listeners {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                continue;
            };
            let house = house(side, web);
            let serving = server::serve(listener, router(side, web), house, ending.clone());
            tokio::spawn(serving);
        }
        let mut turns: u32 = 0;
        while !stop.is_stopped() {
            if turns.is_multiple_of(10) {
                web.history.note(&web.handle);
            }
            turns = turns.wrapping_add(1);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let _nobody = end.send(true);
        let until = tokio::time::Instant::now() + LAST_ANSWERS;
        let inside = || web.door.inside() + web.admin_door.inside();
        while inside() > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    // What still writes must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
}

/// Nobody passes requests on to the operator's side: it is for this machine.
fn house(side: Side, web: &Web) -> House {
    let (door, proxies) = match side {
        Side::Public => (&web.door, web.proxies.clone()),
        Side::Admin => (&web.admin_door, Proxies::default()),
    };
    House {
        limits: web.limits,
        door: Arc::clone(door),
        proxies,
    }
}

type Route = (&'static str, MethodRouter<Shared>);

fn public_routes() -> Vec<Route> {
    vec![
        ("/", get(status::page)),
        ("/status.json", get(status::public)),
        ("/servers", get(list::json).post(register::register)),
        ("/servers.bin", get(list::compact)),
        ("/health", get(public_health)),
        ("/openapi.json", get(document)),
    ]
}

fn admin_routes() -> Vec<Route> {
    vec![
        ("/servers", get(admin::servers)),
        (
            "/bans",
            get(admin::bans).post(admin::ban).delete(admin::unban),
        ),
        ("/sources", get(admin::sources)),
        ("/origins", get(admin::origins)),
        ("/reload", post(admin::reload)),
        ("/status.json", get(status::whole)),
        ("/health", get(admin_health)),
        ("/metrics", get(admin::metrics)),
        ("/openapi.json", get(document)),
    ]
}

fn router(side: Side, web: &Shared) -> Router {
    let routes = match side {
        Side::Public => public_routes(),
        Side::Admin => admin_routes(),
    };
    let router = routes
        .into_iter()
        .fold(Router::new(), |router, (path, handlers)| {
            router.route(path, handlers)
        });
    let router = router
        .fallback(async || Failure::no_route())
        .method_not_allowed_fallback(async || Failure::wrong_method());
    let guarded = match side {
        Side::Public => router,
        Side::Admin => router.layer(middleware::from_fn_with_state(
            Arc::clone(web),
            admin::guard,
        )),
    };
    guarded
        .layer(middleware::from_fn_with_state(Arc::clone(web), admit))
        .layer(middleware::from_fn_with_state(Arc::clone(web), watch))
        .with_state(Arc::clone(web))
}

/// Well as long as the engine's loop turns: its word is less than five seconds old. A store that
/// fails is told and no reason for a monitor to end the master: lists go on, and what waits to be
/// written would be lost.
fn health(web: &Web, reason: impl Fn(StoreTrouble) -> String) -> Response {
    if web.history.silence() >= Duration::from_secs(5) {
        return Failure::busy("the engine has not been heard of for seconds").into_response();
    }
    let Some(trouble) = web.handle.store_trouble() else {
        return "ok\n".into_response();
    };
    let waiting = trouble.waiting;
    let reason = reason(trouble);
    format!("degraded: {reason}; {waiting} changes wait\n").into_response()
}

async fn public_health(State(web): State<Shared>) -> Response {
    health(&web, |_| status::STORE_FAILS.to_owned())
}

async fn admin_health(State(web): State<Shared>) -> Response {
    health(&web, |trouble| trouble.reason)
}

async fn document() -> Response {
    let content_type = [(header::CONTENT_TYPE, "application/json")];
    (content_type, openapi::text()).into_response()
}

/// A proxy's connection carries the requests of many: each counts for its visitor's network until it
/// is answered.
async fn admit(State(web): State<Shared>, request: Request, next: Next) -> Response {
    let passed_on = request.extensions().get::<PassedOn>().is_some();
    let peer = request.extensions().get::<Peer>().copied();
    let Some(Peer(visitor)) = peer.filter(|_| passed_on) else {
        return next.run(request).await;
    };
    match web.door.enter(&web.limits, visitor) {
        Some(_guest) => next.run(request).await,
        None => {
            Failure::busy("your network has as many requests under way as it may").into_response()
        }
    }
}

/// Counts every answer.
async fn watch(State(web): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("other", MatchedPath::as_str);
    // Anybody may invent methods; figures should not grow with them.
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "DELETE") => known,
        _ => "OTHER",
    };
    let route = format!("{method} {path}");
    let response = next.run(request).await;
    let mut requests = web.requests.lock().unwrap_or_else(PoisonError::into_inner);
    *requests
        .entry((route, response.status().as_u16()))
        .or_default() += 1;
    drop(requests);
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_documented_and_every_documented_route_is_there() {
        let document = openapi::document();
        let documented: BTreeSet<&str> = document["paths"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let public = public_routes().into_iter().map(|(path, _)| path);
        let admin = admin_routes().into_iter().map(|(path, _)| path);
        let there: BTreeSet<&str> = public.chain(admin).collect();
        assert_eq!(documented, there);
    }
}
