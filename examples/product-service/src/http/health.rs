//! The routes for whoever watches over the process: whether it lives, and whether it is of use.

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::StatusCode;

use super::Shared;
use crate::config::OnRedisError;

/// The process answers. It says nothing about what it depends on: a restart mends none of that.
pub(super) async fn lives() -> &'static str {
    "ok\n"
}

/// Requests are welcome: it is not about to end, and the database answers. So does Redis, unless reads go on without it.
pub(super) async fn ready(State(replica): Shared) -> (StatusCode, &'static str) {
    let unready = |reason| (StatusCode::SERVICE_UNAVAILABLE, reason);
    if replica.draining.load(Ordering::Relaxed) {
        return unready("draining\n");
    }
    let needs_redis = replica.config.on_redis_error == OnRedisError::Fail;
    if needs_redis && !replica.coalescer.health().connected {
        return unready("no connection to redis\n");
    }
    if !replica.catalog.database_answers().await {
        return unready("the database gives no answer\n");
    }
    (StatusCode::OK, "ready\n")
}
