//! The admin router: what the person on call sees of one process over HTTP, and the switch.

mod access;
mod answers;
mod sites;

use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post, put};
use serde::Deserialize;
use serde_json::json;

pub use self::access::AdminAccess;
use self::answers::{Health, SwitchState, refused, silent};
use self::sites::Site;
use crate::engine::ask::ReplaceAsk;
use crate::roof::coalescer::Coalescer;
use crate::words::key::Key;
use crate::words::switch::{Position, Scope};

/// The page: one file, nothing is loaded from elsewhere.
const PAGE: &str = include_str!("page.html");

/// What a browser may do with the page: run its own script, ask its own server, and nothing else.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                           connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                           frame-ancestors 'none'";

/// A router with what one process knows, to be nested where the application likes.
///
/// | request | answer |
/// |---|---|
/// | `GET /` | a page that shows all of it, live; it asks for the token |
/// | `GET /snapshot` | the [`Snapshot`](crate::Snapshot) |
/// | `GET /health` | how the coalescer is, see [`Health`](crate::Health) |
/// | `GET /call-sites` | each annotated function, and what is configured for it |
/// | `GET /switch` | every position of the kill switch |
/// | `PUT /switch`, `PUT /switch/{namespace}` | turns it: `{"on": false, "for_seconds": 600, "author": "ada", "reason": "slow"}`, all but `on` optional |
/// | `DELETE /switch`, `DELETE /switch/{namespace}` | takes the position away |
/// | `POST /invalidate` | removes a stored value: `{"namespace": "shop::get", "key": "acme:42", "version": 3}`, the key as it stands in Redis, `version` where the call site has one |
///
/// An invalidation answers `{"was_stored": true, "fenced": false}`: whether anything was stored for the key, and whether a
/// flight in progress was fenced. Where both are `false` there was nothing to remove: look at the namespace, the key and
/// the version again, or nobody has called since the last value ended.
///
/// A `PUT` for a namespace that nobody has is refused with 404, and turned with `?force=true`. 503: Redis gave no
/// answer. What asks for a token answers 401 without one and 403 to a wrong one. Only what turns and invalidates costs
/// round trips, two or three.
///
/// ```
/// use coalesce_runtime::Coalescer;
/// use coalesce_runtime::admin::{AdminAccess, router};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let coalescer = Coalescer::builder().in_process().build().await?;
/// let token = "a long text that nobody guesses";
/// let app: axum::Router =
///     axum::Router::new().nest("/coalesce", router(coalescer, AdminAccess::token(token)?));
/// # drop(app);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub fn router(coalescer: Coalescer, access: AdminAccess) -> Router {
    let asked = Router::new()
        .route("/snapshot", get(snapshot))
        .route("/health", get(health))
        .route("/call-sites", get(call_sites))
        .route("/switch", get(switch).put(turn_all).delete(clear_all))
        .route("/switch/{namespace}", put(turn_one).delete(clear_one))
        .route("/invalidate", post(invalidate))
        .with_state(coalescer)
        .layer(from_fn_with_state(access, access::guard));
    // The page holds nothing; what it shows it asks for, with the token that it is given.
    asked.route("/", get(page))
}

async fn page() -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, PAGE_POLICY)];
    (policy, Html(PAGE)).into_response()
}

async fn snapshot(State(coalescer): State<Coalescer>) -> Response {
    Json(coalescer.snapshot()).into_response()
}

async fn health(State(coalescer): State<Coalescer>) -> Json<Health> {
    Json(Health::of(&coalescer))
}

async fn call_sites(State(coalescer): State<Coalescer>) -> Json<Vec<Site>> {
    Json(coalescer.call_sites().iter().map(Site::of).collect())
}

async fn switch(State(coalescer): State<Coalescer>) -> Json<SwitchState> {
    Json(SwitchState::of(&coalescer))
}

/// How the switch is to stand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    on: bool,
    for_seconds: Option<f64>,
    #[serde(default)]
    author: String,
    #[serde(default)]
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
struct Force {
    #[serde(default)]
    force: bool,
}

async fn turn_all(State(coalescer): State<Coalescer>, Json(wish): Json<Wish>) -> Response {
    turn(&coalescer, &Scope::Everything, wish).await
}

async fn turn_one(
    State(coalescer): State<Coalescer>,
    Path(namespace): Path<String>,
    Query(Force { force }): Query<Force>,
    Json(wish): Json<Wish>,
) -> Response {
    if !force {
        match coalescer.knows(&namespace).await {
            Ok(true) => {}
            Ok(false) => {
                return refused(
                    StatusCode::NOT_FOUND,
                    "no process has such a namespace: nothing was turned",
                );
            }
            Err(fault) => return silent(fault),
        }
    }
    turn(&coalescer, &Scope::namespace(namespace), wish).await
}

async fn turn(coalescer: &Coalescer, scope: &Scope, wish: Wish) -> Response {
    let position = if wish.on {
        Position::on()
    } else {
        Position::off()
    };
    let mut position = position.because(wish.author, wish.reason);
    if let Some(seconds) = wish.for_seconds {
        match Duration::try_from_secs_f64(seconds) {
            Ok(span) if !span.is_zero() => position = position.until(coalescer.moment_in(span)),
            _ => {
                return refused(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "for_seconds is a number above 0",
                );
            }
        }
    }
    match coalescer.switch(scope, &position).await {
        Ok(turned) => {
            let known = turned.known;
            Json(json!({ "known": known, "switch": SwitchState::of(coalescer) })).into_response()
        }
        Err(fault) => silent(fault),
    }
}

async fn clear_all(State(coalescer): State<Coalescer>) -> Response {
    clear(&coalescer, &Scope::Everything).await
}

async fn clear_one(State(coalescer): State<Coalescer>, Path(namespace): Path<String>) -> Response {
    clear(&coalescer, &Scope::namespace(namespace)).await
}

async fn clear(coalescer: &Coalescer, scope: &Scope) -> Response {
    match coalescer.clear_switch(scope).await {
        Ok(Some(_)) => Json(json!({ "switch": SwitchState::of(coalescer) })).into_response(),
        Ok(None) => refused(StatusCode::NOT_FOUND, "there is no such position"),
        Err(fault) => silent(fault),
    }
}

/// Whose stored value is to go.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stale {
    namespace: String,
    #[serde(default)]
    key: String,
    version: Option<u32>,
}

async fn invalidate(State(coalescer): State<Coalescer>, Json(stale): Json<Stale>) -> Response {
    let Some(key) = Key::of_text(&stale.namespace, stale.version, &stale.key) else {
        return refused(
            StatusCode::UNPROCESSABLE_ENTITY,
            "a key is written as it stands in Redis: visible ASCII, anything else as %XX",
        );
    };
    let was_stored = match coalescer.is_stored(&key).await {
        Ok(was_stored) => was_stored,
        Err(fault) => return silent(fault),
    };
    match coalescer.replace(&key, &ReplaceAsk::invalidation()).await {
        Ok(fenced) => Json(json!({ "was_stored": was_stored, "fenced": fenced })).into_response(),
        Err(fault) => silent(fault),
    }
}
