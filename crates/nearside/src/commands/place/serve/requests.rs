//! Bodies and parameters of requests, read within limits.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::Failure;

/// The longest that a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
/// How much of a body that is too large is still read, so that its sender hears the answer and not a
/// broken connection.
const COURTESY: usize = 16 << 20;

/// How large a body may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) bytes: usize,
    /// What to tell whoever sends more.
    pub(super) advice: &'static str,
}

/// The whole body, if it is small enough and comes soon enough.
pub(super) async fn body(body: Body, most: Limit) -> Result<Vec<u8>, Failure> {
    match tokio::time::timeout(ARRIVAL, collect(body, most)).await {
        Ok(bytes) => bytes,
        Err(_) => Err(Failure::too_slow()),
    }
}

async fn collect(body: Body, limit: Limit) -> Result<Vec<u8>, Failure> {
    let most = limit.bytes;
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut total) = (Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let broken = |error| Failure::bad_request(format!("the body broke off: {error}"));
        let chunk = chunk.map_err(broken)?;
        total = total.saturating_add(chunk.len());
        match total {
            fits if fits <= most => bytes.extend_from_slice(&chunk),
            more if more > most.saturating_add(COURTESY) => break,
            _ => bytes = Vec::new(),
        }
    }
    match total <= most {
        true => Ok(bytes),
        false => Err(Failure::too_large(limit)),
    }
}

/// The session that a path names.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let id = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) = id.map_err(|error| Failure::bad_request(error.body_text()))?;
        Ok(Self(id))
    }
}

/// A body as JSON of a known form, which is an object. Readers made for structs also take a list of
/// their fields, in an order that nobody promised.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Failure::bad_request("expected an object, not a list"));
    }
    serde_json::from_slice(bytes).map_err(Failure::bad_request)
}

/// An answer, written where there is time for it.
pub(super) struct Written(Vec<u8>);

impl Written {
    /// A document that was written before.
    pub(super) fn text(json: &str) -> Self {
        Self(json.as_bytes().to_vec())
    }

    pub(super) fn new(answer: &impl Serialize) -> Result<Self, Failure> {
        serde_json::to_vec(answer)
            .map(Self)
            .map_err(Failure::internal)
    }
}

impl IntoResponse for Written {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}
