//! What a client is told when there is no answer: a status and a sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use nearside_tunnel::messages::Refusal;
use serde_json::json;

/// A refusal over HTTP.
#[derive(Debug)]
pub(super) struct Failure {
    status: StatusCode,
    error: String,
}

impl Failure {
    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        let error = error.into();
        Self { status, error }
    }

    /// The request makes no sense; the sentence says where.
    pub(super) fn bad_request(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn no_route() -> Self {
        let error = "there is nothing here; /openapi.json says what there is";
        Self::new(StatusCode::NOT_FOUND, error)
    }

    pub(super) fn wrong_method() -> Self {
        let error = "not with this method; /openapi.json says with which";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, error)
    }

    /// Try again later.
    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    pub(super) fn from_a_web_page() -> Self {
        let error = "requests of web pages (with an Origin header) are not answered";
        Self::new(StatusCode::FORBIDDEN, error)
    }

    pub(super) fn no_token() -> Self {
        let error = "send `Authorization: Bearer` and a token that this directory knows for this";
        Self::new(StatusCode::UNAUTHORIZED, error)
    }

    /// What is asked about is not known; the sentence says what that is.
    pub(super) fn unless_known(refusal: Refusal, unknown: impl Into<String>) -> Self {
        match refusal {
            Refusal::Unknown => Self::new(StatusCode::NOT_FOUND, unknown),
            other => other.into(),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::Unknown | Refusal::NotJoined => StatusCode::NOT_FOUND,
            Refusal::TooMany | Refusal::Full => StatusCode::TOO_MANY_REQUESTS,
            Refusal::Token | Refusal::RelayToken | Refusal::ExitToken => StatusCode::FORBIDDEN,
        };
        Self::new(status, refusal.to_string())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.error }))).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}
