//! What travels from the caller into a flight: the request scope, the tracing span, and the keys it is inside of.

use std::future::Future;
use std::sync::Arc;

use tracing::{Instrument as _, Span};

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
    span: Span,
}

impl Context {
    /// The caller's surroundings, one flight deeper, and inside `span` where somebody wants that.
    pub(crate) fn of_flight(key: &Key, span: &Span) -> Self {
        let outer = INSIDE.try_with(Clone::clone).ok().flatten();
        Self::inside_of(key, outer, span)
    }

    /// The same for a refresh, which is part of no flight: nobody waits for it.
    pub(crate) fn of_refresh(key: &Key, span: &Span) -> Self {
        Self::inside_of(key, None, span)
    }

    fn inside_of(key: &Key, outer: Option<Arc<Inside>>, span: &Span) -> Self {
        let key = key.clone();
        Self {
            inside: Arc::new(Inside { key, outer }),
            headers: Headers::current(),
            span: if span.is_disabled() {
                Span::current()
            } else {
                span.clone()
            },
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

/// Carries the caller's surroundings into a task of its own: the request scope, and the flights it is part of.
///
/// They are taken when this is called, not when the future is polled: call it where the caller's surroundings are. The
/// tracing span is not taken, nor is what [`carry_task_local`](crate::CoalescerBuilder::carry_task_local) names:
/// those are the application's to take along. No round trip.
///
/// Both are local to a task. Without this, work that a body spawns has no headers, and where it reaches the body's own
/// key it waits for the very flight it is part of, until `wait_timeout`. What is part of no flight may be spawned
/// without.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::{Coalescer, carry};
///
/// let coalescer = Coalescer::builder().in_process().build().await?;
/// let inner = coalescer.clone();
/// let total: u64 = coalescer
///     .call("shop::total")
///     .run(move || async move {
///         // The same key again: it runs through, because the task knows where it is.
///         let part = inner.call("shop::total").run(|| async { 42_u64 });
///         tokio::spawn(carry(part)).await.unwrap_or_default()
///     })
///     .await;
/// assert_eq!(total, 42);
/// # Ok::<(), coalesce::BuildError>(())
/// # }).unwrap();
/// ```
pub fn carry<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let inside = INSIDE.try_with(Clone::clone).ok().flatten();
    let headers = Headers::current();
    async move {
        let work = INSIDE.scope(inside, work);
        match headers {
            Some(headers) => headers.scope(work).await,
            None => work.await,
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
        Context::of_flight(&outer, &Span::none())
            .run(async {
                Context::of_flight(&inner, &Span::none())
                    .run(async {
                        assert!(is_inside(&outer) && is_inside(&inner) && !is_inside(&other));
                    })
                    .await;
                assert!(!is_inside(&inner));
            })
            .await;
    }

    #[tokio::test]
    async fn what_is_carried_into_a_task_knows_where_it_comes_from_and_other_tasks_do_not() {
        let key = Key::new("a", &[]);
        let headers = Headers::new([("x-tenant", "acme")]);
        let body = {
            let key = key.clone();
            async move {
                let knows =
                    |key: Key| async move { (is_inside(&key), Headers::current().is_some()) };
                let carried = tokio::spawn(carry(knows(key.clone()))).await;
                let plain = tokio::spawn(knows(key)).await;
                (carried.unwrap(), plain.unwrap())
            }
        };
        let known = headers
            .scope(Context::of_flight(&key, &Span::none()).run(body))
            .await;
        assert_eq!(known, ((true, true), (false, false)));
    }

    #[tokio::test]
    async fn the_request_scope_travels_into_a_spawned_body() {
        let headers = Headers::new([("x-tenant", "acme")]);
        let context = headers
            .scope(async { Context::of_flight(&Key::new("a", &[]), &Span::none()) })
            .await;
        let seen = tokio::spawn(context.run(async { Headers::current().is_some() })).await;
        assert!(seen.unwrap());
    }
}
