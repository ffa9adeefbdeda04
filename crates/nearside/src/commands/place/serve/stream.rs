//! `GET /v1/sessions/{id}/events`: what happens to a session, as server-sent events. A stream that
//! comes back with `Last-Event-ID` gets what it has missed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::{Either, select};
use futures_util::stream::{self, Stream};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::book::{Subscription, Told};
use super::failure::Failure;
use super::service::{Shared, elsewhere};

/// Silence after which a comment is sent, so that dead connections are noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn events(
    State(service): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let place = Arc::clone(&service.streams).try_acquire_owned();
    let place = place.map_err(|_| Failure::busy("too many streams are open"))?;
    let seen = last_seen(&headers)?;
    let ending = service.ending.clone();
    service.metrics.stream_opened();
    let subscription = elsewhere(move || service.book.subscribe(&id, seen)).await?;
    let told = Listener::new(subscription, ending, place).stream();
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(told).keep_alive(keep_alive).into_response())
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    let number = number.ok_or_else(|| Failure::bad_request("Last-Event-ID: not a number"))?;
    Ok(Some(number))
}

/// One stream: what it still has to say, and where more comes from.
struct Listener {
    first: VecDeque<Event>,
    reports: broadcast::Receiver<Arc<Told>>,
    ending: watch::Receiver<bool>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    fn new(
        subscription: Subscription,
        ending: watch::Receiver<bool>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let view = subscription.view.into_iter();
        let view = view.map(|text| Event::default().event("view").data(text));
        let missed = subscription.missed.iter().map(|told| report(told));
        Self {
            first: view.chain(missed).collect(),
            reports: subscription.reports,
            ending,
            _place: place,
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(self, |mut listener| async move {
            let event = listener.next().await?;
            Some((Ok(event), listener))
        })
    }

    /// `None` when the session or the service ends.
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.first.pop_front() {
            return Some(event);
        }
        let over = pin!(self.ending.wait_for(|ending| *ending));
        match select(pin!(self.reports.recv()), over).await {
            Either::Left((Ok(told), _)) => Some(report(&told)),
            Either::Left((Err(RecvError::Lagged(missed)), _)) => {
                Some(Event::default().event("lagged").data(missed.to_string()))
            }
            Either::Left((Err(RecvError::Closed), _)) | Either::Right(_) => None,
        }
    }
}

fn report(told: &Told) -> Event {
    let event = Event::default().event("report");
    event.id(told.number.to_string()).data(&told.text)
}
