//! `GET /v1/sessions/{id}/events`: what happens to a session, as server-sent events. A stream that
//! comes back with `Last-Event-ID`, or is too slow, gets what it has missed, or the whole view instead.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::{Either, select};
use futures_util::stream::{self, Stream};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::face::{Subscription, Told};
use super::failure::Failure;
use super::requests::Id;
use super::service::{Shared, elsewhere};
use super::sessions;

/// Silence after which a comment is sent, so that dead connections are noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn events(
    State(service): State<Shared>,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = Arc::clone(&service.streams).try_acquire_owned();
    let place = place.map_err(|_| Failure::busy("too many streams are open"))?;
    let seen = last_seen(&headers)?;
    service.metrics.stream_opened();
    let subscription = subscribe(Shared::clone(&service), id.clone(), seen).await?;
    let told = Listener::new(subscription, service, id, place).stream();
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(told).keep_alive(keep_alive).into_response())
}

/// Off the network's thread and in turn, since a view may be long.
async fn subscribe(
    service: Shared,
    id: String,
    seen: Option<u64>,
) -> Result<Subscription, Failure> {
    sessions::wake(&service, &id).await?;
    let turn = service.reading.admit()?.turn().await?;
    elsewhere(move || {
        let _turn = turn;
        service.book.subscribe(&id, seen)
    })
    .await
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    let number = number.ok_or_else(|| Failure::bad_request("Last-Event-ID: not a number"))?;
    Ok(Some(number))
}

/// Some reports were lost on a slow stream.
struct TooSlow;

/// One stream: what it still has to say, and where more comes from.
struct Listener {
    first: VecDeque<Event>,
    reports: broadcast::Receiver<Arc<Told>>,
    ending: watch::Receiver<bool>,
    service: Shared,
    id: String,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    fn new(
        subscription: Subscription,
        service: Shared,
        id: String,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let mut listener = Self {
            first: VecDeque::new(),
            reports: subscription.reports.resubscribe(),
            ending: service.ending.clone(),
            service,
            id,
            _place: place,
        };
        listener.start(subscription);
        listener
    }

    fn start(&mut self, subscription: Subscription) {
        let view = subscription.view.iter().map(|told| event("view", told));
        let missed = subscription.missed.iter().map(|told| event("report", told));
        self.first = view.chain(missed).collect();
        self.reports = subscription.reports;
    }

    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, |mut listener| async move {
            let event = listener.next().await?;
            Some((Ok(event), listener))
        })
    }

    /// What happens next; `None` when the session or the service ends.
    async fn hear(&mut self) -> Option<Result<Arc<Told>, TooSlow>> {
        let over = pin!(self.ending.wait_for(|ending| *ending));
        match select(pin!(self.reports.recv()), over).await {
            Either::Left((Ok(told), _)) => Some(Ok(told)),
            Either::Left((Err(RecvError::Lagged(_)), _)) => Some(Err(TooSlow)),
            Either::Left((Err(RecvError::Closed), _)) | Either::Right(_) => None,
        }
    }

    /// `None` when the session or the service ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.first.pop_front() {
                return Some(event);
            }
            if let Ok(told) = self.hear().await? {
                return Some(event("report", &told));
            }
            // Once more from how the session is.
            let again = subscribe(Shared::clone(&self.service), self.id.clone(), None);
            self.start(again.await.ok()?);
        }
    }
}

fn event(kind: &str, told: &Told) -> Event {
    let event = Event::default().event(kind);
    event.id(told.number.to_string()).data(&told.text)
}
