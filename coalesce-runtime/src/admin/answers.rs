//! Answers of the admin router, as JSON.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;

use crate::roof::coalescer::Coalescer;
use crate::words::clock::ServerTime;
use crate::words::fault::Fault;
use crate::words::switch::Position;

/// How a coalescer is.
#[derive(Debug, Serialize)]
pub(super) struct Health {
    backend: &'static str,
    connected: bool,
    subscribed: bool,
    breaker: &'static str,
    last_fault: Option<LastFault>,
    misrouted: u64,
    in_flight: usize,
    waiters: usize,
    capped: u64,
    stopping: bool,
}

#[derive(Debug, Serialize)]
struct LastFault {
    kind: &'static str,
    seconds_ago: f64,
}

impl Health {
    pub(super) fn of(coalescer: &Coalescer) -> Self {
        let health = coalescer.health();
        Self {
            backend: health.backend,
            connected: health.connected,
            subscribed: health.subscribed,
            breaker: health.breaker.label(),
            last_fault: health.last_fault.map(|last| LastFault {
                kind: last.fault.label(),
                seconds_ago: last.ago.as_secs_f64(),
            }),
            misrouted: health.misrouted,
            in_flight: health.in_flight,
            waiters: health.waiters,
            capped: health.capped,
            stopping: health.stopping,
        }
    }
}

/// Every position, as this process knows them.
#[derive(Debug, Serialize)]
pub(super) struct SwitchState {
    everything: Option<Stands>,
    namespaces: BTreeMap<String, Stands>,
    /// Whether the environment has switched this process off.
    process_disabled: bool,
}

#[derive(Debug, Serialize)]
struct Stands {
    on: bool,
    holds: bool,
    seconds_left: Option<f64>,
    author: String,
    reason: String,
}

impl SwitchState {
    pub(super) fn of(coalescer: &Coalescer) -> Self {
        let now = coalescer.moment_in(std::time::Duration::ZERO);
        let (everything, namespaces) = coalescer.stored_positions();
        Self {
            everything: everything.map(|position| stands(position, now)),
            namespaces: namespaces
                .into_iter()
                .map(|(namespace, position)| (namespace, stands(position, now)))
                .collect(),
            process_disabled: coalescer.0.disabled,
        }
    }
}

fn stands(position: Position, now: ServerTime) -> Stands {
    Stands {
        on: position.on,
        holds: position.holds_at(now),
        seconds_left: position.until.map(|end| now.until(end).as_secs_f64()),
        author: position.author,
        reason: position.reason,
    }
}

/// Why a request was not done.
pub(super) fn refused(code: StatusCode, why: &str) -> Response {
    (code, Json(json!({ "error": why }))).into_response()
}

/// Redis gave no answer.
pub(super) fn silent(fault: Fault) -> Response {
    let why = format!("no usable answer: {fault}; it may have been done all the same");
    refused(StatusCode::SERVICE_UNAVAILABLE, &why)
}
