//! Sessions over HTTP: what happens to them goes through [`super::book`].

use std::collections::BTreeMap;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_placement::SessionSetup;
use nearside_placement::session::{Event, Report, Settlement};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::book::Live;
use super::failure::Failure;
use super::requests::{self, Written};
use super::service::{Shared, elsewhere};

/// `POST /v1/sessions`
pub(super) async fn create(State(service): State<Shared>, body: Body) -> Result<Response, Failure> {
    let admitted = service.sessions.admit()?;
    let bytes = requests::body(&service, body).await?;
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
pub(super) async fn show(
    State(service): State<Shared>,
    Path(id): Path<String>,
) -> Result<Written, Failure> {
    look(service, id, |live| Written::new(&live.session.view())).await?
}

/// `GET /v1/sessions/{id}/allocation`
pub(super) async fn allocation(
    State(service): State<Shared>,
    Path(id): Path<String>,
) -> Result<Written, Failure> {
    look(service, id, |live| {
        let view = live.session.view();
        let seats = view
            .clients
            .iter()
            .map(|client| (client.name, client.server));
        Written::new(&seats.collect::<BTreeMap<_, _>>())
    })
    .await?
}

/// `GET /v1/sessions/{id}/log`
pub(super) async fn log(
    State(service): State<Shared>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let text = look(service, id, |live| {
        live.session
            .log()
            .lines()
            .fold(String::new(), |text, line| text + &line + "\n")
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response())
}

/// `DELETE /v1/sessions/{id}`
pub(super) async fn remove(
    State(service): State<Shared>,
    Path(id): Path<String>,
) -> Result<StatusCode, Failure> {
    let turn = service.sessions.admit()?.turn().await?;
    elsewhere(move || {
        let _turn = turn;
        service.book.remove(&id)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A player and their ways, of `join` and `latencies`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ways {
    client: String,
    latencies_ms: BTreeMap<String, Option<f64>>,
}

/// The body of `leave`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaver {
    client: String,
}

/// The body of `consolidate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Consolidation {
    max_moves: usize,
    #[serde(default)]
    dry_run: bool,
}

/// `POST /v1/sessions/{id}/join`
pub(super) async fn join(
    State(service): State<Shared>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    let event = |ways: Ways| Event::Join {
        client: ways.client,
        latencies_ms: ways.latencies_ms,
    };
    handle(service, id, body, event).await
}

/// `POST /v1/sessions/{id}/leave`
pub(super) async fn leave(
    State(service): State<Shared>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    let event = |leaver: Leaver| Event::Leave {
        client: leaver.client,
    };
    handle(service, id, body, event).await
}

/// `POST /v1/sessions/{id}/latencies`
pub(super) async fn latencies(
    State(service): State<Shared>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    let event = |ways: Ways| Event::Latencies {
        client: ways.client,
        latencies_ms: ways.latencies_ms,
    };
    handle(service, id, body, event).await
}

/// `POST /v1/sessions/{id}/events`: any event of a log.
pub(super) async fn event(
    State(service): State<Shared>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    handle(service, id, body, |event: Event| event).await
}

/// `POST /v1/sessions/{id}/consolidate`: does it, or says what it would do.
pub(super) async fn consolidate(
    State(service): State<Shared>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, Failure> {
    let admitted = service.sessions.admit()?;
    let bytes = requests::body(&service, body).await?;
    let turn = admitted.turn().await?;
    elsewhere(move || {
        let _turn = turn;
        let Consolidation { max_moves, dry_run } = requests::json(&bytes)?;
        if dry_run {
            let plan = service
                .book
                .look(&id, |live| live.session.plan_consolidation(max_moves))?;
            return Ok(Written::new(&plan)?.into_response());
        }
        let report = service.book.handle(&id, Event::Consolidate { max_moves })?;
        told(&service, &report)
    })
    .await
}

/// Reads a body, makes an event of it, and tells what became of it.
async fn handle<B: DeserializeOwned>(
    service: Shared,
    id: String,
    body: Body,
    event: impl FnOnce(B) -> Event + Send + 'static,
) -> Result<Response, Failure> {
    let admitted = service.sessions.admit()?;
    let bytes = requests::body(&service, body).await?;
    let turn = admitted.turn().await?;
    elsewhere(move || {
        let _turn = turn;
        let event = event(requests::json(&bytes)?);
        let report = service.book.handle(&id, event)?;
        told(&service, &report)
    })
    .await
}

/// A report; one of a refusal is a conflict with how the session is.
fn told(service: &Shared, report: &Report) -> Result<Response, Failure> {
    let (result, status) = match report.settlement {
        Settlement::Kept => ("kept", StatusCode::OK),
        Settlement::Unmet { .. } => ("unmet", StatusCode::OK),
        Settlement::Refused { .. } => ("refused", StatusCode::CONFLICT),
    };
    service.metrics.event(result);
    Ok((status, Written::new(report)?).into_response())
}

async fn look<T: Send + 'static>(
    service: Shared,
    id: String,
    look: impl FnOnce(&Live) -> T + Send + 'static,
) -> Result<T, Failure> {
    let turn = service.sessions.admit()?.turn().await?;
    elsewhere(move || {
        let _turn = turn;
        service.book.look(&id, look)
    })
    .await
}
