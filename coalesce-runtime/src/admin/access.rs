//! Access: who may ask the admin router.

use std::fmt;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq as _;

use super::answers::refused;

/// Who may ask the admin router. It can turn coalescing off in the whole fleet, so there is no default.
///
/// Its `Debug` form hides the token.
#[derive(Clone)]
pub struct AdminAccess(Option<Arc<str>>);

/// A token that anybody could guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenTooShort;

impl AdminAccess {
    /// The fewest bytes of a token.
    pub const SHORTEST_TOKEN: usize = 16;

    /// Those who say this in a header: `Authorization: Bearer <token>`.
    ///
    /// # Errors
    ///
    /// When it has fewer than 16 bytes: an empty variable of the environment would let everybody in.
    pub fn token(token: impl Into<Arc<str>>) -> Result<Self, TokenTooShort> {
        let token = token.into();
        let long_enough = token.len() >= Self::SHORTEST_TOKEN;
        long_enough
            .then_some(Self(Some(token)))
            .ok_or(TokenTooShort)
    }

    /// Everybody: the router is served on a listener that only operators reach. Browsers of operators reach it too,
    /// and pages from elsewhere are kept out of it.
    pub const fn inner_listener() -> Self {
        Self(None)
    }
}

impl fmt::Debug for AdminAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "AdminAccess(token)",
            None => "AdminAccess(inner listener)",
        })
    }
}

impl fmt::Display for TokenTooShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = AdminAccess::SHORTEST_TOKEN;
        write!(f, "the admin token has fewer than {least} bytes")
    }
}

impl std::error::Error for TokenTooShort {}

/// Lets through who may ask. Compared in constant time: how long a refusal takes tells nothing of the token.
pub(super) async fn guard(
    State(access): State<AdminAccess>,
    request: Request,
    next: Next,
) -> Response {
    let Some(token) = &access.0 else {
        if is_of_another_site(&request) {
            return refused(StatusCode::FORBIDDEN, "asked by a page of another site");
        }
        return next.run(request).await;
    };
    let given = request.headers().get(header::AUTHORIZATION);
    let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    match given {
        None => {
            let how = [(header::WWW_AUTHENTICATE, "Bearer")];
            let refusal = refused(StatusCode::UNAUTHORIZED, "a token is needed");
            (how, refusal).into_response()
        }
        Some(given) if bool::from(given.ct_eq(token.as_bytes())) => next.run(request).await,
        Some(_) => refused(StatusCode::FORBIDDEN, "that is not the token"),
    }
}

/// Browsers say so of their own accord, and no page can keep them from it.
fn is_of_another_site(request: &Request) -> bool {
    let from = request.headers().get("sec-fetch-site");
    from.is_some_and(|from| from != "same-origin" && from != "none")
}
