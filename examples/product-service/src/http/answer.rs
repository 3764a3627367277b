//! Answers that are no product: each problem with its status, in one JSON form.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::catalog::{ReadError, WriteError};

/// Why a request has no better answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    NoSuchRoute,
    NotANumber,
    NoSuchProduct,
    /// The body is not what it should be.
    Body(StatusCode, String),
    TooMany {
        retry_after: u64,
    },
    Unavailable(String),
    NoToken,
    WrongToken,
    Panicked,
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Failed => Self::Panicked,
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let status = match rejection.status() {
            // That a field is wrong is no other mistake than that a bracket is missing.
            StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
            status => status,
        };
        Self::Body(status, rejection.body_text())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let retry_after = match self {
            Self::TooMany { retry_after } => Some(retry_after),
            _ => None,
        };
        let (status, message) = match self {
            Self::NoSuchRoute => (StatusCode::NOT_FOUND, "no such route".to_owned()),
            Self::NotANumber => (StatusCode::BAD_REQUEST, "a product has a number".to_owned()),
            Self::NoSuchProduct => (StatusCode::NOT_FOUND, "no such product".to_owned()),
            Self::Body(status, message) => (status, message),
            Self::TooMany { .. } => (
                StatusCode::TOO_MANY_REQUESTS,
                "too many requests".to_owned(),
            ),
            Self::Unavailable(message) => (StatusCode::SERVICE_UNAVAILABLE, message),
            Self::NoToken => (
                StatusCode::UNAUTHORIZED,
                "this route needs the admin token".to_owned(),
            ),
            Self::WrongToken => (StatusCode::FORBIDDEN, "that is not the token".to_owned()),
            Self::Panicked => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "the request could not be answered".to_owned(),
            ),
        };
        let mut response = (status, Json(json!({ "error": message }))).into_response();
        if let Some(seconds) = retry_after {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
