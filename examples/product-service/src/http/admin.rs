//! The admin routes: faults and limits at run time, and what the library shows, for whoever has the token.

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use coalesce::admin::{AdminAccess, router};
use subtle::ConstantTimeEq as _;

use super::answer::Problem;
use super::{Replica, Shared};
use crate::faults::{Faults, FaultsNow, FaultsWanted};
use crate::limiter::Limit;

/// A request that had the token. A handler that takes one cannot be reached without.
pub(super) struct Admin;

impl FromRequestParts<Arc<Replica>> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        replica: &Arc<Replica>,
    ) -> Result<Self, Self::Rejection> {
        // Where nobody has a token there is nothing to find.
        let token = replica.config.admin_token.as_ref();
        let token = token.ok_or(Problem::NoSuchRoute)?;
        let given = parts.headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        // Compared in a time that says nothing about how much of it was right.
        match given.map(|given| bool::from(given.ct_eq(token.as_bytes()))) {
            None => Err(Problem::NoToken),
            Some(false) => Err(Problem::WrongToken),
            Some(true) => Ok(Self),
        }
    }
}

/// The library's own page, numbers and kill switch, below `/admin/coalesce`.
pub(super) fn coalescing(replica: &Replica) -> Router {
    let token = replica.config.admin_token.as_deref();
    // The configuration refuses a token that is too short for it.
    match token.and_then(|token| AdminAccess::token(token).ok()) {
        None => Router::new(),
        Some(access) => {
            let coalescer = replica.coalescer.clone();
            Router::new().nest("/admin/coalesce", router(coalescer, access))
        }
    }
}

pub(super) async fn faults(
    _: Admin,
    State(replica): Shared,
    wanted: Result<Json<FaultsWanted>, JsonRejection>,
) -> Result<Json<FaultsNow>, Problem> {
    let Json(wanted) = wanted?;
    let longest = Faults::LONGEST_DELAY.as_millis();
    if wanted
        .database_delay_ms
        .is_some_and(|delay| u128::from(delay) > longest)
    {
        let message = format!("database_delay_ms is at most {longest}");
        return Err(Problem::Body(StatusCode::BAD_REQUEST, message));
    }
    replica.faults.change(wanted);
    let now = replica.faults.now();
    tracing::info!(?now, "faults changed");
    Ok(Json(now))
}

pub(super) async fn limit(
    _: Admin,
    State(replica): Shared,
    limit: Result<Json<Limit>, JsonRejection>,
) -> Result<Json<Limit>, Problem> {
    let Json(limit) = limit?;
    let wrong = |rule: &str| Problem::Body(StatusCode::BAD_REQUEST, rule.to_owned());
    limit.check().map_err(wrong)?;
    replica.limiter.set_limit(limit);
    tracing::info!(?limit, "limit changed");
    Ok(Json(limit))
}
