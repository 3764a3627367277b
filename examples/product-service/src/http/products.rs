//! The routes of products: read and limited, written and not.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::answer::Problem;
use crate::catalog::ReadError;
use crate::config::RateBy;
use crate::limiter::{Decision, client_of};
use crate::product::{Changes, Product, number};

pub(super) async fn read(
    State(replica): Shared,
    Path(id): Path<String>,
) -> Result<Json<Product>, Problem> {
    let id = number(&id).ok_or(Problem::NotANumber)?;
    // Before it waits: a client that goes away has been counted, here as by the library.
    replica.requests.fetch_add(1, Ordering::Relaxed);
    let read = replica.catalog.product(id).await;
    if matches!(read, Err(ReadError::Cache | ReadError::Failed)) {
        replica.requests.fetch_sub(1, Ordering::Relaxed);
    }
    match read? {
        Some(product) => Ok(Json(product)),
        None => {
            replica.not_found.fetch_add(1, Ordering::Relaxed);
            Err(Problem::NoSuchProduct)
        }
    }
}

pub(super) async fn write(
    State(replica): Shared,
    Path(id): Path<String>,
    changes: Result<Json<Changes>, JsonRejection>,
) -> Result<Json<Product>, Problem> {
    let id = number(&id).ok_or(Problem::NotANumber)?;
    let Json(changes) = changes?;
    let wrong = |rule: &str| Problem::Body(axum::http::StatusCode::BAD_REQUEST, rule.to_owned());
    changes.check().map_err(wrong)?;
    let written = replica.catalog.write(id, changes).await?;
    written.map(Json).ok_or(Problem::NoSuchProduct)
}

/// Lets a request through, or answers 429 before any work is done for it.
pub(super) async fn limited(
    State(replica): Shared,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let config = &replica.config;
    let client = match config.rate_by {
        RateBy::Global => None,
        RateBy::Client => Some(client_of(
            peer.ip(),
            request.headers(),
            config.trusted_proxy,
        )),
    };
    match replica.limiter.decide(client).await {
        Decision::Allowed | Decision::FailedOpen => next.run(request).await,
        Decision::Rejected { retry_after } => Problem::TooMany { retry_after }.into_response(),
    }
}
