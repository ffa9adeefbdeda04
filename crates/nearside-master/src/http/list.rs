//! `GET /servers` and `GET /servers.bin`.

use axum::extract::{Extension, Query, State, rejection::QueryRejection};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_registry::WebFilter;

use super::Shared;
use super::failure::Failure;
use super::pages::{Form, Page};
use super::server::Peer;

pub(super) async fn json(
    state: State<Shared>,
    Extension(peer): Extension<Peer>,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    list(&state, peer, filter, &headers, Form::Json).await
}

pub(super) async fn compact(
    state: State<Shared>,
    Extension(peer): Extension<Peer>,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    list(&state, peer, filter, &headers, Form::Compact).await
}

async fn list(
    web: &Shared,
    Peer(visitor): Peer,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: &HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let Query(filter) = filter.map_err(|error| Failure::bad_request(error.body_text()))?;
    let page = web.pages.get(&web.handle, visitor, filter, form).await?;
    Ok(sent(&page, headers, form))
}

fn sent(page: &Page, headers: &HeaderMap, form: Form) -> Response {
    let content_type = match form {
        Form::Json => "application/json",
        Form::Compact => "application/octet-stream",
    };
    let common = [
        (header::ETAG, page.etag.as_str()),
        (header::CACHE_CONTROL, "public, max-age=1"),
        (header::VARY, "Accept-Encoding"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (header::CONTENT_TYPE, content_type),
    ];
    // `*` means whatever there is (RFC 9110, section 13.1.2).
    let is_known = |tag| names(headers, header::IF_NONE_MATCH, tag);
    if is_known(&page.etag) || is_known("*") {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    if names(headers, header::ACCEPT_ENCODING, "gzip") {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        return (common, encoding, page.gzipped.clone()).into_response();
    }
    (common, page.body.clone()).into_response()
}

/// Whether a header's list has an item, parameters aside.
fn names(headers: &HeaderMap, name: header::HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| {
            item.split(';')
                .next()
                .is_some_and(|item| item.trim() == wanted)
        })
}
