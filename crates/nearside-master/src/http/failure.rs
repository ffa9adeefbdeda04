//! What a client is told when there is no answer: a status and a sentence.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::operator::OperatorError;

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
    pub(super) fn new(status: StatusCode, error: impl ToString) -> Self {
        Self {
            status,
            error: error.to_string(),
        }
    }

    /// The request makes no sense; the sentence says where.
    pub(super) fn bad_request(error: impl ToString) -> Self {
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

    pub(super) fn too_large(most: usize) -> Self {
        let error = format!("the body is larger than {most} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, error)
    }

    pub(super) fn too_slow() -> Self {
        let error = "the request did not arrive in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, error)
    }

    /// Try again later.
    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    /// The visitor's network had its share of what filtered lists may take.
    pub(super) fn share_spent() -> Self {
        let error = "your network has had its share of filtered lists; the list without a filter is \
                     always there";
        Self::new(StatusCode::TOO_MANY_REQUESTS, error)
    }

    pub(super) fn from_a_web_page() -> Self {
        let error = "requests of web pages (with an Origin header) are not answered";
        Self::new(StatusCode::FORBIDDEN, error)
    }

    pub(super) fn no_token() -> Self {
        let error = "send `Authorization: Bearer` and the token of this master's operator";
        Self::new(StatusCode::UNAUTHORIZED, error)
    }
}

impl From<OperatorError> for Failure {
    fn from(error: OperatorError) -> Self {
        let status = match error {
            OperatorError::NotThere(_) => StatusCode::NOT_FOUND,
            OperatorError::Elsewhere(_) => StatusCode::CONFLICT,
            OperatorError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error)
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
            StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}
