//! The HTTP side, on loopback: for the operator, who sees clients, sessions and figures, and for
//! lobbies, which register sessions and have relays sent to their players. Lobbies elsewhere come
//! through a proxy that speaks TLS.

mod failure;
mod metrics;
mod openapi;
mod rows;
mod rpc;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::header;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use nearside_net::Stop;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::command::{Command, Lists, Reply};
use crate::server::Handle;
use failure::Failure;
use rows::{ClientRow, SessionRow, StatusRow};

pub use openapi::text as openapi;
pub use token::Token;

/// Where the HTTP side listens, and what requests must show.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// A loopback address.
    pub listen: SocketAddr,
    /// The operator's token, good for everything.
    pub admin: Token,
    /// The lobbies', good for sessions alone.
    pub lobby: Option<Token>,
}

/// Why the HTTP side cannot start.
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
    /// It would be reachable from elsewhere.
    #[error("{0} is no loopback address: the HTTP side listens on 127.0.0.1 or [::1] only")]
    NotLoopback(SocketAddr),
}

/// What all requests share.
struct Web {
    handle: Handle,
    admin: Token,
    lobby: Option<Token>,
}

type Shared = Arc<Web>;

/// The HTTP side while it runs.
#[derive(Debug)]
pub struct Http {
    /// Where to connect, with the real port number.
    pub address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Http {
    /// Opens the port and answers on a thread until `stop`.
    pub fn start(config: HttpConfig, handle: Handle, stop: Stop) -> Result<Self, HttpError> {
        let addr = config.listen;
        if !addr.ip().is_loopback() {
            return Err(HttpError::NotLoopback(addr));
        }
        let taken = |source| HttpError::Bind { addr, source };
        let listener = std::net::TcpListener::bind(addr).map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        let web = Arc::new(Web {
            handle,
            admin: config.admin,
            lobby: config.lobby,
        });
        let builder = thread::Builder::new().name("http".to_owned());
        let thread = builder.spawn(move || run(listener, web, &stop));
        Ok(Self {
            address,
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

/// How long answers on their way may take after the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// No request of ours is longer.
const MOST_BYTES: usize = 4_096;

fn run(listener: std::net::TcpListener, web: Shared, stop: &Stop) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
            return;
        };
        let serving =
            axum::serve(listener, router(web)).with_graceful_shutdown(until(stop.clone()));
        let ended = until(stop.clone());
        tokio::select! {
            _ended = serving => {}
            () = async { ended.await; tokio::time::sleep(LAST_ANSWERS).await } => {}
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}

async fn until(stop: Stop) {
    while !stop.is_stopped() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

type Route = (&'static str, MethodRouter<Shared>);

fn routes() -> Vec<Route> {
    vec![
        ("/v1/sessions", get(sessions).post(rpc::register)),
        ("/v1/sessions/{session}/relays", post(rpc::offer)),
        ("/v1/clients", get(clients)),
        ("/v1/relays", get(relays)),
        ("/v1/status", get(status)),
        ("/health", get(health)),
        ("/metrics", get(metrics)),
        ("/openapi.json", get(document)),
    ]
}

fn router(web: Shared) -> Router {
    let add = |router: Router<Shared>, (path, handlers): Route| router.route(path, handlers);
    routes()
        .into_iter()
        .fold(Router::new(), add)
        .fallback(async || Failure::no_route())
        .method_not_allowed_fallback(async || Failure::wrong_method())
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&web),
            token::guard,
        ))
        .with_state(web)
}

/// Asks the loop something, and waits for its answer.
async fn ask<T: Send + 'static>(
    web: &Web,
    command: impl FnOnce(Reply<T>) -> Command,
) -> Result<T, Failure> {
    let (sender, answer) = oneshot::channel();
    let reply = Reply::to(move |outcome| drop(sender.send(outcome)));
    web.handle.tell(command(reply));
    let silent = || Failure::busy("the engine does not answer");
    let waited = tokio::time::timeout(Duration::from_secs(5), answer).await;
    waited.map_err(|_| silent())?.map_err(|_| silent())
}

async fn lists(web: &Web) -> Result<Lists, Failure> {
    ask(web, Command::List).await
}

async fn clients(State(web): State<Shared>) -> Result<Json<Vec<ClientRow>>, Failure> {
    let clients = lists(&web).await?.clients;
    Ok(Json(clients.iter().map(ClientRow::of).collect()))
}

async fn relays(State(web): State<Shared>) -> Result<Json<Vec<ClientRow>>, Failure> {
    let clients = lists(&web).await?.clients.into_iter();
    let relays = clients.filter(|client| client.relays);
    Ok(Json(relays.map(|client| ClientRow::of(&client)).collect()))
}

async fn sessions(State(web): State<Shared>) -> Result<Json<Vec<SessionRow>>, Failure> {
    let sessions = lists(&web).await?.sessions;
    Ok(Json(sessions.iter().map(SessionRow::of).collect()))
}

async fn status(State(web): State<Shared>) -> Json<StatusRow> {
    Json(StatusRow::of(&web.handle))
}

/// Well as long as the loop turns: its word is less than five seconds old. A store that fails is told
/// and no reason to end the directory: clients are served, and what waits to be written would be lost.
async fn health(State(web): State<Shared>) -> Response {
    let answer = ask(&web, Command::Ping).await;
    match (answer, web.handle.store_trouble()) {
        (Err(failure), _) => failure.into_response(),
        (Ok(()), None) => "ok\n".into_response(),
        (Ok(()), Some(trouble)) => {
            let (reason, waiting) = (trouble.reason, trouble.waiting);
            format!("degraded: {reason}; {waiting} changes wait\n").into_response()
        }
    }
}

async fn metrics(State(web): State<Shared>) -> Response {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (content_type, metrics::text(&web.handle)).into_response()
}

async fn document() -> Response {
    let content_type = [(header::CONTENT_TYPE, "application/json")];
    (content_type, openapi::text()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_documented_and_every_documented_route_is_there() {
        let document = openapi::document();
        let paths = document["paths"].as_object().unwrap();
        let documented: BTreeSet<&str> = paths.keys().map(String::as_str).collect();
        let there: BTreeSet<&str> = routes().into_iter().map(|(path, _)| path).collect();
        assert_eq!(documented, there);
    }
}
