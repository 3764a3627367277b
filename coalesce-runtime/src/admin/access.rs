//! Access: who may ask the admin router.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq as _;

use super::answers::refused;

/// Who may ask the admin router. It can turn coalescing off in the whole fleet, so there is no default.
///
/// Its `Debug` form hides the token.
#[derive(Clone)]
pub struct AdminAccess(Access);

#[derive(Clone)]
enum Access {
    Token(Arc<str>),
    /// By these names, besides addresses and `localhost`.
    Inner(Vec<Arc<str>>),
}

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
            .then_some(Self(Access::Token(token)))
            .ok_or(TokenTooShort)
    }

    /// Everybody: the router is served on a listener that only operators reach. Browsers of operators reach it too,
    /// and pages from elsewhere are kept out of it: a request that names another site in `Sec-Fetch-Site` or `Origin`
    /// is answered with 403, and so is one whose `Host` is neither an IP address nor `localhost`. A name could be made
    /// to point here by whoever owns it; those that are yours are given to
    /// [`inner_listener_named`](Self::inner_listener_named).
    pub const fn inner_listener() -> Self {
        Self(Access::Inner(Vec::new()))
    }

    /// As [`inner_listener`](Self::inner_listener), and asked by these host names too, such as `pod-3.shop.internal`:
    /// without a port, and in whatever case.
    ///
    /// ```
    /// # extern crate coalesce_runtime as coalesce;
    /// # use coalesce::admin::AdminAccess;
    /// let access = AdminAccess::inner_listener_named(["pod-3.shop.internal"]);
    /// # drop(access);
    /// ```
    pub fn inner_listener_named(names: impl IntoIterator<Item: Into<Arc<str>>>) -> Self {
        Self(Access::Inner(names.into_iter().map(Into::into).collect()))
    }
}

impl fmt::Debug for AdminAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Access::Token(_) => "AdminAccess(token)",
            Access::Inner(_) => "AdminAccess(inner listener)",
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
    let token = match &access.0 {
        Access::Token(token) => token,
        Access::Inner(names) => {
            return match stranger(&request, names) {
                Some(why) => refused(StatusCode::FORBIDDEN, why),
                None => next.run(request).await,
            };
        }
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

/// Why a request may be that of a page from elsewhere. Browsers say all of this of their own accord, and no page can
/// keep them from it.
fn stranger(request: &Request, names: &[Arc<str>]) -> Option<&'static str> {
    const ANOTHER_SITE: &str = "asked by a page of another site";
    let from = request.headers().get("sec-fetch-site");
    if from.is_some_and(|from| from != "same-origin" && from != "none") {
        return Some(ANOTHER_SITE);
    }
    // Plain HTTP from anywhere but the own machine comes without that header, and a foreign name that points here makes
    // a foreign script one of this site: its name is what gives it away.
    let Some(host) = host(request).filter(|host| is_ours(host.host(), names)) else {
        return Some("asked by a name that is not known to be this listener's");
    };
    let origin = request.headers().get(header::ORIGIN)?;
    let origin = Uri::try_from(origin.as_bytes()).ok();
    let same = origin.is_some_and(|origin| origin.authority() == Some(&host));
    (!same).then_some(ANOTHER_SITE)
}

/// Whom the request is for: HTTP/2 says so in the URI.
fn host(request: &Request) -> Option<Authority> {
    match request.headers().get(header::HOST) {
        Some(host) => Authority::try_from(host.as_bytes()).ok(),
        None => request.uri().authority().cloned(),
    }
}

fn is_ours(host: &str, names: &[Arc<str>]) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    address.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || names.iter().any(|name| host.eq_ignore_ascii_case(name))
}
