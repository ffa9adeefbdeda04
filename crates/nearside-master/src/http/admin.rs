//! The operator's side: on loopback, with a token.

use axum::Json;
use axum::body::Body;
use axum::extract::{Query, Request, State, rejection::QueryRejection};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use nearside_registry::{Ban, BanTarget, WebFilter};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::failure::Failure;
use super::pages::current;
use super::register::{MOST_BYTES, body_within};
use super::rows::ServerRow;
use super::{Shared, metrics};
use crate::operator::{BanEntry, OriginStatus, SourceStatus};

/// A token that requests must show.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// `None` if it could be guessed: less than 16 bytes.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16).then(|| Self(text.as_bytes().to_vec()))
    }

    /// Takes as long for a near miss as for any other.
    fn is(&self, shown: &[u8]) -> bool {
        let differences = self.0.iter().zip(shown).map(|(a, b)| a ^ b);
        let different = differences.fold(0, |all, difference| all | difference);
        different == 0 && self.0.len() == shown.len()
    }
}

impl std::fmt::Debug for Token {
    /// Tokens do not belong into logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Lets in who shows the token; `/health` and `/metrics` are open to this machine. A web page that
/// somebody on this machine visits must not act for them.
pub(super) async fn guard(State(web): State<Shared>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        return Failure::from_a_web_page().into_response();
    }
    let open = ["/health", "/metrics", "/openapi.json"].contains(&request.uri().path());
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let welcome =
        shown.is_some_and(|shown| web.token.as_ref().is_some_and(|token| token.is(shown)));
    if open || welcome {
        next.run(request).await
    } else {
        Failure::no_token().into_response()
    }
}

#[derive(Serialize)]
struct Servers<'a> {
    servers: Vec<ServerRow<'a>>,
}

/// As the public list, with the time that is left to each.
pub(super) async fn servers(
    State(web): State<Shared>,
    filter: Result<Query<WebFilter>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(filter) = filter.map_err(|error| Failure::bad_request(error.body_text()))?;
    let listing = current(&web.handle).await?;
    elsewhere(move || {
        let rows = listing.rows.iter();
        let selected = rows.filter(|row| filter.selects(&row.server));
        let servers = selected.map(|row| ServerRow {
            seconds: Some(row.server.expires.since(listing.at).as_secs()),
            ..ServerRow::of(&row.server, web.pages.source(row))
        });
        let servers = servers.collect();
        Ok(Json(Servers { servers }).into_response())
    })
    .await
}

pub(super) async fn bans(State(web): State<Shared>) -> Json<Vec<BanEntry>> {
    Json(web.operator.bans())
}

pub(super) async fn ban(State(web): State<Shared>, body: Body) -> Result<Response, Failure> {
    let bytes = body_within(body, MOST_BYTES, web.limits.arrival).await?;
    let ban: Ban = serde_json::from_slice(&bytes).map_err(Failure::bad_request)?;
    if ban.reason.trim().is_empty() {
        return Err(Failure::bad_request(
            "`reason` is empty: it is what the server's operator is told",
        ));
    }
    elsewhere(move || {
        let added = json!({ "target": ban.target, "reason": ban.reason });
        web.operator.ban(ban)?;
        Ok((StatusCode::CREATED, Json(added)).into_response())
    })
    .await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    target: BanTarget,
}

pub(super) async fn unban(
    State(web): State<Shared>,
    target: Result<Query<Target>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Target { target }) =
        target.map_err(|error| Failure::bad_request(error.body_text()))?;
    elsewhere(move || {
        web.operator.unban(target)?;
        Ok(StatusCode::NO_CONTENT.into_response())
    })
    .await
}

pub(super) async fn sources(State(web): State<Shared>) -> Json<Vec<SourceStatus>> {
    Json(web.operator.sources())
}

pub(super) async fn origins(State(web): State<Shared>) -> Json<OriginStatus> {
    Json(web.operator.origins())
}

pub(super) async fn reload(State(web): State<Shared>) -> Result<Response, Failure> {
    elsewhere(move || {
        let changes = web.operator.reload()?;
        Ok(Json(json!({ "changes": changes })).into_response())
    })
    .await
}

pub(super) async fn metrics(State(web): State<Shared>) -> Response {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    (content_type, metrics::text(&web)).into_response()
}

/// Runs work on a thread where it may take its time.
async fn elsewhere(
    work: impl FnOnce() -> Result<Response, Failure> + Send + 'static,
) -> Result<Response, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        Err(_) => Err(Failure::busy("this request broke; please report it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_taken_and_short_ones_are_refused() {
        assert!(Token::new("too short").is_none());
        let token = Token::new("0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in [
            &b"0123456789abcdeg"[..],
            b"0123456789abcde",
            b"0123456789abcdef0",
            b"",
        ] {
            assert!(!token.is(wrong));
        }
        assert!(!format!("{token:?}").contains("0123"));
    }
}
