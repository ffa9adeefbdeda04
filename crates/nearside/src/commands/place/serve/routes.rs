//! Which handler answers what. [`super::openapi`] describes the same routes; a test compares them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use nearside_placement::session::Event;

use super::failure::Failure;
use super::requests::Rest;
use super::service::{Service, Shared};
use super::sessions::{Join, Latencies, Leave};
use super::{openapi, sessions, solving, stream};

pub(super) fn router(service: Arc<Service>) -> Router {
    let router = Router::new();
    let router = routes()
        .into_iter()
        .fold(router, |router, (path, handlers)| {
            router.route(path, handlers)
        });
    router
        .fallback(async || Failure::no_route())
        .method_not_allowed_fallback(async || Failure::wrong_method())
        .layer(middleware::from_fn_with_state(Arc::clone(&service), watch))
        .with_state(service)
}

fn routes() -> Vec<(&'static str, MethodRouter<Shared>)> {
    vec![
        ("/v1/solve", post(solving::solve)),
        ("/v1/curve", post(solving::curve)),
        ("/v1/min-delay", post(solving::min_delay)),
        ("/v1/sessions", get(sessions::list).post(sessions::create)),
        (
            "/v1/sessions/{id}",
            get(sessions::show).delete(sessions::remove),
        ),
        ("/v1/sessions/{id}/allocation", get(sessions::allocation)),
        ("/v1/sessions/{id}/join", post(sessions::take::<Join>)),
        ("/v1/sessions/{id}/leave", post(sessions::take::<Leave>)),
        (
            "/v1/sessions/{id}/latencies",
            post(sessions::take::<Latencies>),
        ),
        ("/v1/sessions/{id}/consolidate", post(sessions::consolidate)),
        (
            "/v1/sessions/{id}/events",
            get(stream::events).post(sessions::take::<Event>),
        ),
        ("/v1/sessions/{id}/log", get(sessions::log)),
        ("/health", get(async || "ok\n")),
        ("/metrics", get(metrics)),
        ("/openapi.json", get(document)),
    ]
}

async fn metrics(State(service): State<Shared>) -> Response {
    let content_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4")];
    let text = service
        .metrics
        .text(service.book.len(), service.solving.admitted());
    (content_type, text).into_response()
}

async fn document() -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        openapi::text(),
    )
        .into_response()
}

/// Counts every answer, and answers no web page: whoever visits one should not thereby change or read
/// sessions on this machine. Pages of other origins send `Origin` with all that could change
/// something; a page whose name was made to point here (DNS rebinding) sends that name as `Host`.
async fn watch(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("other", MatchedPath::as_str);
    // Anybody may invent methods; figures should not grow with them.
    let method = match request.method().as_str() {
        known @ ("GET" | "POST" | "DELETE") => known,
        _ => "OTHER",
    };
    let route = format!("{method} {path}");
    let headers = request.headers();
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let host = host.map(|host| String::from_utf8_lossy(host).into_owned());
    let (request, rest) = Rest::of(request);
    let headers = request.headers();
    let response = match host {
        _ if headers.contains_key(header::ORIGIN) => Failure::from_a_web_page().into_response(),
        Some(host) if !service.hosts.include(&host) => Failure::wrong_host(&host).into_response(),
        _ => next.run(request).await,
    };
    service.metrics.request(route, response.status().as_u16());
    rest.read().await;
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
        let there: BTreeSet<&str> = routes().iter().map(|(path, _)| *path).collect();
        assert_eq!(documented, there);
    }
}
