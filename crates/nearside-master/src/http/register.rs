//! `POST /servers`: registration with proof of the UDP port (`docs/wire/master-http.md`).

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_registry::{Claim, ClaimAnswer, Claimed, Family, Refusal};
use nearside_types::ServerAddr;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::Shared;
use super::failure::Failure;
use super::rows::FactsRow;
use super::server::Peer;
use crate::command::{Command, Reply};

/// The largest body.
pub(super) const MOST_BYTES: usize = 8 << 10;

/// What a game server says of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Registration {
    address: Option<ServerAddr>,
    port: Option<u16>,
    challenge: Option<String>,
    family: Family,
    #[serde(flatten)]
    facts: FactsRow<'static>,
    /// Keys that mean nothing, which `deny_unknown_fields` cannot find beside `flatten`.
    #[serde(flatten)]
    unknown: BTreeMap<String, IgnoredAny>,
}

/// What it is told.
#[derive(Debug, Serialize)]
struct Answer {
    state: &'static str,
    address: ServerAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
}

pub(super) async fn register(
    State(web): State<Shared>,
    Extension(Peer(peer)): Extension<Peer>,
    body: Body,
) -> Result<Response, Failure> {
    let bytes = body_within(body, MOST_BYTES, web.limits.arrival).await?;
    let registration: Registration =
        serde_json::from_slice(&bytes).map_err(Failure::bad_request)?;
    let claim = registration.claim(peer, bytes.len())?;
    let addr = claim.addr;
    let (sender, receiver) = oneshot::channel();
    let reply = Reply::to(move |claimed: Claimed| {
        // Who asked may have gone.
        let _gone = sender.send(claimed);
    });
    web.handle.tell(Command::Claim(Box::new(claim), reply));
    let claimed = receiver.await;
    let claimed = claimed.map_err(|_| Failure::busy("the master is ending"))?;
    Ok(told(addr, &claimed))
}

impl Registration {
    fn claim(self, peer: std::net::IpAddr, bytes: usize) -> Result<Claim, Failure> {
        if let Some(key) = self.unknown.keys().next() {
            return Err(Failure::bad_request(format!("unknown key `{key}`")));
        }
        let addr = match (self.address, self.port) {
            (Some(_), Some(_)) => Err("`address` and `port` both say where: leave one of them out"),
            (Some(addr), None) => Ok(addr),
            (None, Some(port)) => ServerAddr::new(peer, port)
                .ok_or("`port` is 0: write the one that players connect to, 1 to 65535"),
            (None, None) => {
                Err("`address` or `port` is missing: where do players reach the server?")
            }
        };
        let addr = addr.map_err(Failure::bad_request)?;
        if self.facts.game.is_empty() && self.family != Family::Quake3 {
            return Err(Failure::bad_request("`game` is missing"));
        }
        Ok(Claim {
            addr,
            family: self.family,
            facts: self.facts.facts(),
            challenge: self.challenge,
            requester: peer,
            bytes,
        })
    }
}

fn told(address: ServerAddr, claimed: &Claimed) -> Response {
    let (status, state) = match &claimed.answer {
        ClaimAnswer::Registered(_) => (StatusCode::OK, "registered"),
        ClaimAnswer::Challenged => (StatusCode::ACCEPTED, "challenged"),
        ClaimAnswer::Asked => (StatusCode::ACCEPTED, "asked"),
        ClaimAnswer::Refused(_) => (StatusCode::FORBIDDEN, "refused"),
        ClaimAnswer::Busy => (StatusCode::TOO_MANY_REQUESTS, "busy"),
    };
    let answer = Answer {
        state,
        address,
        seconds: match &claimed.answer {
            ClaimAnswer::Registered(until) => Some(until.since(claimed.at).as_secs()),
            _ => None,
        },
        error: match &claimed.answer {
            ClaimAnswer::Refused(refusal) => Some(refusal.to_string()),
            ClaimAnswer::Busy => {
                Some("this network has had its share of challenges; come again later".to_owned())
            }
            _ => None,
        },
        earlier: claimed.earlier.as_ref().map(Refusal::to_string),
    };
    let mut response = (status, Json(answer)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let later = axum::http::HeaderValue::from_static("10");
        response.headers_mut().insert(header::RETRY_AFTER, later);
    }
    response
}

/// A whole body, if it is small enough and comes soon enough.
pub(super) async fn body_within(
    body: Body,
    most: usize,
    arrival: Duration,
) -> Result<Bytes, Failure> {
    match tokio::time::timeout(arrival, axum::body::to_bytes(body, most)).await {
        Err(_) => Err(Failure::too_slow()),
        Ok(Err(_)) => Err(Failure::too_large(most)),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}
