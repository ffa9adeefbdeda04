//! Bodies and parameters of requests, read within limits.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::{FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::Failure;

/// The longest that a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);
/// How much of a body that nobody wants is still read.
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
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let broken = |error| Failure::bad_request(format!("the body broke off: {error}"));
        let chunk = chunk.map_err(broken)?;
        if chunk.len() > most - bytes.len() {
            return Err(Failure::too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// A body of which an early answer may leave something unread.
pub(super) struct Rest(Arc<Mutex<Unread>>);

struct Unread {
    chunks: BodyDataStream,
    /// Whether its sender waits to be asked for it, and has not been.
    withheld: bool,
}

impl Rest {
    /// The request as handlers see it, and what they will not have read of it.
    pub(super) fn of(request: Request) -> (Request, Self) {
        let (parts, body) = request.into_parts();
        let unread = Arc::new(Mutex::new(Unread {
            chunks: body.into_data_stream(),
            withheld: parts.headers.contains_key(header::EXPECT),
        }));
        let shared = Arc::clone(&unread);
        let body = stream::poll_fn(move |context| {
            let mut unread = lock(&shared);
            unread.withheld = false;
            unread.chunks.poll_next_unpin(context)
        });
        let request = Request::from_parts(parts, Body::from_stream(body));
        (request, Self(unread))
    }

    /// Reads on for a while, so that the sender hears the answer and not a broken connection.
    pub(super) async fn read(self) {
        if lock(&self.0).withheld {
            return;
        }
        let mut total = 0_usize;
        let mut chunks = stream::poll_fn(|context| lock(&self.0).chunks.poll_next_unpin(context));
        let reading = async {
            while let Some(Ok(chunk)) = chunks.next().await {
                total = total.saturating_add(chunk.len());
                if total > COURTESY {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ARRIVAL, reading).await;
    }
}

/// Held for the length of a poll, which nobody breaks.
fn lock(unread: &Mutex<Unread>) -> MutexGuard<'_, Unread> {
    unread.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What a query asks for: parameters that handlers take by name.
pub(super) struct Parameters {
    given: BTreeMap<String, String>,
    /// Names that were looked for.
    known: Vec<&'static str>,
}

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let query = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) =
            query.map_err(|_| Failure::bad_request("the query is not of the form ?name=value"))?;
        let mut given = BTreeMap::new();
        for (name, value) in pairs {
            let twice = format!("{}: it is there twice", name.escape_debug());
            if given.insert(name, value).is_some() {
                return Err(Failure::bad_request(twice));
            }
        }
        let known = Vec::new();
        Ok(Self { given, known })
    }
}

impl Parameters {
    /// A word.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        self.given.remove(name)
    }

    /// A number; `expected` says which.
    pub(super) fn take<T: FromStr>(
        &mut self,
        name: &'static str,
        expected: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let wrong = |_| {
            let text = text.escape_debug();
            Failure::bad_request(format!("{name}: `{text}` is not {expected}"))
        };
        text.parse().map(Some).map_err(wrong)
    }

    /// All have been taken.
    pub(super) fn nothing_else(self) -> Result<(), Failure> {
        let Some(stranger) = self.given.keys().next() else {
            return Ok(());
        };
        let (stranger, known) = (stranger.escape_debug(), self.known.join(", "));
        Err(Failure::bad_request(format!(
            "there is no parameter `{stranger}` here, but {known}"
        )))
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
