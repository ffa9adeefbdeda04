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
    let is_known = |tag| tag == "*" || opaque(tag) == opaque(&page.etag);
    if items(headers, header::IF_NONE_MATCH).any(is_known) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    if items(headers, header::ACCEPT_ENCODING).any(is_gzip) {
        let encoding = [(header::CONTENT_ENCODING, "gzip")];
        return (common, encoding, page.gzipped.clone()).into_response();
    }
    (common, page.body.clone()).into_response()
}

/// The items of a header that is a list.
fn items(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// A tag without its weakness: for `If-None-Match` that makes no difference (RFC 9110, section
/// 13.1.2).
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Whether an item wants gzip. A weight of 0 means never (RFC 9110, section 12.4.2).
fn is_gzip(item: &str) -> bool {
    let mut parts = item.split(';').map(str::trim);
    let is_named = parts
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let weight = |part: &str| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().parse::<f32>();
        name.trim().eq_ignore_ascii_case("q").then_some(value)
    };
    is_named && !parts.filter_map(weight).any(|weight| weight == Ok(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_names_it_and_not_to_who_names_it_with_a_weight_of_nothing() {
        for wanted in ["gzip", "GZIP", "gzip;q=0.5", "gzip; Q=1.000", "gzip;q=odd"] {
            assert!(is_gzip(wanted), "{wanted}");
        }
        for unwanted in ["gzip;q=0", "gzip ; q=0.000", "br", "", "gzipped"] {
            assert!(!is_gzip(unwanted), "{unwanted}");
        }
    }
}
