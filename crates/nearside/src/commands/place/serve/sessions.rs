//! Sessions over HTTP: what happens to them goes through [`super::book`].

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_placement::SessionSetup;
use nearside_placement::session::{Event, Report, Settlement, latencies_by_server, whole_number};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::book::Hold;
use super::deadline::Deadline;
use super::face::Face;
use super::failure::Failure;
use super::requests::{self, Id, Limit, Written};
use super::service::{Service, Shared, elsewhere};

/// The largest event: a player's ways to 10,000 servers fit.
const EVENT: Limit = Limit {
    bytes: 1 << 20,
    advice: "events are small",
};

/// `POST /v1/sessions`
pub(super) async fn create(State(service): State<Shared>, body: Body) -> Result<Response, Failure> {
    let most = service.max_body;
    let admitted = service.sessions.admit()?;
    let bytes = requests::body(body, most).await?;
    let turn = admitted.turn().await?;
    let id = elsewhere(move || {
        let _turn = turn;
        let setup = SessionSetup::from_json(&bytes).map_err(Failure::bad_request)?;
        service.book.create(setup)
    })
    .await?;
    let place = [(header::LOCATION, format!("/v1/sessions/{id}"))];
    Ok((StatusCode::CREATED, place, Json(json!({ "id": id }))).into_response())
}

/// `GET /v1/sessions`
pub(super) async fn list(State(service): State<Shared>) -> Json<serde_json::Value> {
    Json(json!({ "sessions": service.book.ids() }))
}

/// `GET /v1/sessions/{id}`
pub(super) async fn show(State(service): State<Shared>, Id(id): Id) -> Result<Written, Failure> {
    Ok(Written::text(&look(service, id).await?.view))
}

/// `GET /v1/sessions/{id}/allocation`
pub(super) async fn allocation(
    State(service): State<Shared>,
    Id(id): Id,
) -> Result<Written, Failure> {
    Ok(Written::text(&look(service, id).await?.allocation))
}

/// `GET /v1/sessions/{id}/log`
pub(super) async fn log(State(service): State<Shared>, Id(id): Id) -> Result<Response, Failure> {
    let turn = service.reading.admit()?.turn().await?;
    let text = elsewhere(move || {
        let _turn = turn;
        service.book.log(&id)
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response())
}

/// `DELETE /v1/sessions/{id}`
pub(super) async fn remove(
    State(service): State<Shared>,
    Id(id): Id,
) -> Result<StatusCode, Failure> {
    work(service, &id, Body::empty(), |service, hold, _, _| {
        service.book.remove(&hold)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The body of a request that becomes an event.
pub(super) trait Wish: DeserializeOwned + Send + 'static {
    fn event(self) -> Event;
}

/// A player and their ways.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ways {
    client: String,
    #[serde(deserialize_with = "latencies_by_server")]
    latencies_ms: BTreeMap<String, Option<f64>>,
}

/// The body of `join`.
#[derive(Deserialize)]
pub(super) struct Join(Ways);

/// The body of `latencies`.
#[derive(Deserialize)]
pub(super) struct Latencies(Ways);

/// The body of `leave`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leave {
    client: String,
}

impl Wish for Join {
    fn event(self) -> Event {
        Event::Join {
            client: self.0.client,
            latencies_ms: self.0.latencies_ms,
        }
    }
}

impl Wish for Latencies {
    fn event(self) -> Event {
        Event::Latencies {
            client: self.0.client,
            latencies_ms: self.0.latencies_ms,
        }
    }
}

impl Wish for Leave {
    fn event(self) -> Event {
        Event::Leave {
            client: self.client,
        }
    }
}

/// `events` takes any event of a log.
impl Wish for Event {
    fn event(self) -> Event {
        self
    }
}

/// `POST /v1/sessions/{id}/…`: reads a wish and tells what became of it.
pub(super) async fn take<W: Wish>(
    State(service): State<Shared>,
    Id(id): Id,
    body: Body,
) -> Result<Response, Failure> {
    work(service, &id, body, |service, hold, bytes, deadline| {
        let event = requests::json::<W>(bytes)?.event();
        told(service, &service.book.handle(&hold, &event, deadline)?)
    })
    .await
}

/// The body of `consolidate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Consolidation {
    #[serde(deserialize_with = "whole_number")]
    max_moves: usize,
    #[serde(default)]
    dry_run: bool,
}

/// `POST /v1/sessions/{id}/consolidate`: does it, or says what it would do.
pub(super) async fn consolidate(
    State(service): State<Shared>,
    Id(id): Id,
    body: Body,
) -> Result<Response, Failure> {
    work(service, &id, body, |service, hold, bytes, deadline| {
        let Consolidation { max_moves, dry_run } = requests::json(bytes)?;
        if dry_run {
            let plan = service.book.plan(hold, max_moves, deadline)?;
            return Ok(Written::new(&plan)?.into_response());
        }
        let event = Event::Consolidate { max_moves };
        told(service, &service.book.handle(&hold, &event, deadline)?)
    })
    .await
}

/// A report; one of a refusal is a conflict with how the session is.
fn told(service: &Service, report: &Report) -> Result<Response, Failure> {
    let (result, status) = match report.settlement {
        Settlement::Kept => ("kept", StatusCode::OK),
        Settlement::Unmet { .. } => ("unmet", StatusCode::OK),
        Settlement::Refused { .. } => ("refused", StatusCode::CONFLICT),
    };
    service.metrics.event(result);
    Ok((status, Written::new(report)?).into_response())
}

/// Reads a body and works with it on a session, off the network's thread, until the deadline or as
/// long as somebody waits. First the session's turn, then everybody's: who waits for a slow session
/// keeps no one from another.
async fn work<T: Send + 'static>(
    service: Shared,
    id: &str,
    body: Body,
    job: impl FnOnce(&Service, Hold, &[u8], &Deadline) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let admitted = service.sessions.admit()?;
    let bytes = requests::body(body, EVENT).await?;
    // Before its turn, so that who only looks never queues behind an event.
    wake(&service, id).await?;
    let hold = service.book.queue(id)?.hold().await?;
    let turn = admitted.turn().await?;
    let (deadline, _waiting) = Deadline::start(service.max_time, service.stop.clone());
    elsewhere(move || {
        let _turn = turn;
        let _running = service.metrics.deciding();
        job(&service, hold, &bytes, &deadline)
    })
    .await
}

/// What there is to see of a session: at once, unless it has to be woken first.
async fn look(service: Shared, id: String) -> Result<Face, Failure> {
    wake(&service, &id).await?;
    let face = service.book.face(&id)?;
    face.ok_or_else(|| Failure::no_session(&id))
}

/// Wakes a session that nobody has asked for yet.
pub(super) async fn wake(service: &Shared, id: &str) -> Result<(), Failure> {
    if service.book.is_awake(id)? {
        return Ok(());
    }
    let admitted = service.reading.admit()?;
    let hold = service.book.queue(id)?.hold().await?;
    let turn = admitted.turn().await?;
    let service = Shared::clone(service);
    elsewhere(move || {
        let _turn = turn;
        service.book.show(&hold)
    })
    .await
}
