//! `GET /servers` and `GET /servers.bin`.

use axum::extract::{Query, State, rejection::QueryRejection};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_registry::WebFilter;

use super::Shared;
use super::failure::Failure;
use super::pages::{Form, Page};

pub(super) async fn json(
    state: State<Shared>,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    list(&state, filter, &headers, Form::Json).await
}

pub(super) async fn compact(
    state: State<Shared>,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    list(&state, filter, &headers, Form::Compact).await
}

async fn list(
    web: &Shared,
    filter: Result<Query<WebFilter>, QueryRejection>,
    headers: &HeaderMap,
    form: Form,
) -> Result<Response, Failure> {
    let Query(filter) = filter.map_err(|error| Failure::bad_request(error.body_text()))?;
    let page = web.pages.get(&web.handle, filter, form).await?;
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
    if names(headers, header::IF_NONE_MATCH, &page.etag) {
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
