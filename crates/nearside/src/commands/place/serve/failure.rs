//! What a client is told when there is no answer: a status and a sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_placement::session::OutOfTime;
use serde_json::json;

use super::requests::Limit;

/// A refusal over HTTP.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    error: String,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "errors are handed over by map_err"
)]
impl Failure {
    fn new(status: StatusCode, error: impl ToString) -> Self {
        Self {
            status,
            error: error.to_string(),
        }
    }

    /// The request makes no sense; the sentence says where.
    pub(super) fn bad_request(error: impl ToString) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn no_session(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no session `{id}`"))
    }

    pub(super) fn no_route() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "there is nothing here; /openapi.json says what there is",
        )
    }

    pub(super) fn wrong_method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "not with this method; /openapi.json says with which",
        )
    }

    pub(super) fn too_large(most: Limit) -> Self {
        let Limit { bytes, advice } = most;
        let error = format!("larger than {bytes} bytes ({advice})");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    }

    pub(super) fn too_slow() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request did not arrive in time",
        )
    }

    /// Try again later.
    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    /// The deadline has come before an event was decided.
    pub(super) fn out_of_time(error: OutOfTime) -> Self {
        let error = format!("{error} (--max-time, steps of the set-up)");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }

    /// A limit that waiting does not lift.
    pub(super) fn limit(why: impl ToString) -> Self {
        Self::new(StatusCode::CONFLICT, why)
    }

    pub(super) fn from_a_web_page() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "requests of web pages (with an Origin header) are not answered",
        )
    }

    pub(super) fn wrong_host(host: &str) -> Self {
        let error = format!("this is not `{host}` (--host allows a name)");
        Self::new(StatusCode::FORBIDDEN, error)
    }

    /// The store does not take it; nothing has changed.
    pub(super) fn store(error: impl ToString) -> Self {
        let error = format!("the store failed: {}", error.to_string());
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// A fault of ours.
    pub(super) fn internal(error: impl ToString) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.error }))).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let soon = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, soon);
        }
        response
    }
}
