//! What travels from the caller into a flight: the request scope, the tracing span, and the keys it is inside of.

use std::future::Future;
use std::sync::Arc;

use tracing::Instrument as _;

use crate::ports::headers::Headers;
use crate::words::key::Key;

tokio::task_local! {
    static INSIDE: Option<Arc<Inside>>;
}

/// The keys of the flights that the running code is part of, innermost first.
#[derive(Debug)]
struct Inside {
    key: Key,
    outer: Option<Arc<Inside>>,
}

/// Whether the running code is part of a flight of `key`.
///
/// Such a call must run through: it would wait for itself.
pub(crate) fn is_inside(key: &Key) -> bool {
    INSIDE
        .try_with(|innermost| {
            let mut next = innermost.as_ref();
            while let Some(inside) = next {
                if inside.key == *key {
                    return true;
                }
                next = inside.outer.as_ref();
            }
            false
        })
        .unwrap_or(false)
}

/// A caller's surroundings, taken where the flight starts and opened again where the body runs.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    inside: Arc<Inside>,
    headers: Option<Headers>,
    span: tracing::Span,
}

impl Context {
    /// The caller's surroundings, one flight deeper.
    pub(crate) fn of_flight(key: &Key) -> Self {
        let outer = INSIDE.try_with(Clone::clone).ok().flatten();
        let inside = Arc::new(Inside {
            key: key.clone(),
            outer,
        });
        Self {
            inside,
            headers: Headers::current(),
            span: tracing::Span::current(),
        }
    }

    /// Runs `body` inside them.
    pub(crate) async fn run<F: Future>(self, body: F) -> F::Output {
        let body = INSIDE.scope(Some(self.inside), body).instrument(self.span);
        match self.headers {
            Some(headers) => headers.scope(body).await,
            None => body.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flight_knows_every_key_it_is_inside_of_and_no_other() {
        let (outer, inner, other) = (Key::new("a", &[]), Key::new("b", &[]), Key::new("c", &[]));
        assert!(!is_inside(&outer));
        Context::of_flight(&outer)
            .run(async {
                Context::of_flight(&inner)
                    .run(async {
                        assert!(is_inside(&outer) && is_inside(&inner) && !is_inside(&other));
                    })
                    .await;
                assert!(!is_inside(&inner));
            })
            .await;
    }

    #[tokio::test]
    async fn the_request_scope_travels_into_a_spawned_body() {
        let headers = Headers::new([("x-tenant", "acme")]);
        let context = headers
            .scope(async { Context::of_flight(&Key::new("a", &[])) })
            .await;
        let seen = tokio::spawn(context.run(async { Headers::current().is_some() })).await;
        assert!(seen.unwrap());
    }
}
