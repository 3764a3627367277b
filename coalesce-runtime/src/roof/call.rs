//! Calls of annotated functions: from the key parts to the scene, or past it.

use std::future::Future;
use std::sync::Arc;

use super::body::Scene;
use super::coalescer::Coalescer;
use super::default::default_coalescer;
use super::entry::Entry;
use super::shape::Shape;
use super::site::CallSite;
use crate::flight::context::is_inside;
use crate::ports::headers::Headers;
use crate::words::error::Error;
use crate::words::key::{Key, KeyBuilder, Piece};
use crate::words::key_part::KeyPart;
use crate::words::policy::{MissingHeader, Policy};

/// One call of an annotated function, before it is known what becomes of it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Call {
    site: &'static CallSite,
    path: &'static str,
    key: KeyBuilder,
    coalescer: Option<Coalescer>,
}

/// What becomes of a call whose key is known.
#[derive(Debug)]
pub(crate) enum Route {
    Coalesce,
    Bypass,
}

/// What becomes of a call that returns an `R`.
enum Prepared<R> {
    Coalesce(Scene),
    Bypass,
    Refused(R),
}

/// Where a call would be coalesced.
#[derive(Debug)]
pub(crate) enum Located {
    Here(Coalescer, Scene),
    /// The process has no coalescer: its configuration is wrong.
    Nowhere,
    MissingHeader(Coalescer, Arc<Policy>, Error),
}

impl Call {
    /// A call of the function at `path`.
    pub fn new(site: &'static CallSite, path: &'static str) -> Self {
        Self {
            site,
            path,
            key: KeyBuilder::default(),
            coalescer: None,
        }
    }

    /// The parts of the key, in order.
    pub fn key(mut self, parts: &[&dyn KeyPart]) -> Self {
        for part in parts {
            self.key.part(*part);
        }
        self
    }

    /// The key as a template.
    pub fn template(mut self, pieces: &[Piece<'_>]) -> Self {
        self.key.template(pieces);
        self
    }

    /// Another coalescer than the process-wide one.
    pub fn on(mut self, coalescer: &Coalescer) -> Self {
        self.coalescer = Some(coalescer.clone());
        self
    }

    /// Runs the call with a body that owns what it needs.
    pub async fn run<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static,
    {
        match self.prepare(shape).await {
            Prepared::Coalesce(scene) => scene.detached(shape, body).await,
            Prepared::Bypass => body().await,
            Prepared::Refused(refusal) => refusal,
        }
    }

    /// Runs the call with a body that stays in the caller's task.
    pub async fn run_inline<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R>,
    {
        match self.prepare(shape).await {
            Prepared::Coalesce(scene) => scene.inline(shape, body).await,
            Prepared::Bypass => body().await,
            Prepared::Refused(refusal) => refusal,
        }
    }

    /// The entry that this call would use.
    pub fn entry<'a, R, S, F, Fut>(self, shape: S, body: F) -> Entry<'a, R>
    where
        R: Send + 'static,
        S: Shape<R>,
        F: FnOnce() -> Fut + Send + 'a,
        Fut: Future<Output = R> + Send + 'static,
    {
        Entry::new(self, shape, body)
    }

    async fn prepare<R, S: Shape<R>>(self, shape: S) -> Prepared<R> {
        match self.locate().await {
            Located::Nowhere => Prepared::Bypass,
            Located::MissingHeader(coalescer, policy, error) => {
                let counters = &coalescer.0.core.counters;
                if policy.missing_header == MissingHeader::Bypass {
                    counters.bypassed.up();
                    Prepared::Bypass
                } else {
                    counters.failed.up();
                    // Who cannot say an error runs the body.
                    shape
                        .failure(error)
                        .map_or(Prepared::Bypass, Prepared::Refused)
                }
            }
            Located::Here(coalescer, scene) => match route(&coalescer, &scene.policy, &scene.key) {
                Route::Bypass => Prepared::Bypass,
                Route::Coalesce => Prepared::Coalesce(scene),
            },
        }
    }

    /// The coalescer, the policy and the key of this call.
    pub(crate) async fn locate(self) -> Located {
        let coalescer = match self.coalescer {
            Some(coalescer) => coalescer,
            None => match default_coalescer().await {
                Some(coalescer) => coalescer.clone(),
                None => return Located::Nowhere,
            },
        };
        let policy = coalescer.policy_of(self.site);
        let namespace = policy
            .namespace
            .clone()
            .unwrap_or_else(|| Arc::from(self.path));
        let mut key = self.key;
        match push_headers(&mut key, &policy) {
            Ok(()) => {
                let key = key.finish(namespace, policy.version);
                let core = Arc::clone(&coalescer.0.core);
                Located::Here(coalescer, Scene { core, policy, key })
            }
            Err(header) => {
                let error = Error::MissingHeader { namespace, header };
                Located::MissingHeader(coalescer, policy, error)
            }
        }
    }
}

/// Whether a call of `key` is coalesced, or runs as if the attribute were not there.
pub(crate) fn route(coalescer: &Coalescer, policy: &Policy, key: &Key) -> Route {
    let core = &coalescer.0.core;
    if coalescer.0.disabled
        || !policy.enabled
        || core.is_stopping()
        || is_inside(key)
        || core.switchboard.is_off(key.namespace())
    {
        core.counters.bypassed.up();
        Route::Bypass
    } else {
        Route::Coalesce
    }
}

/// Adds the headers that are part of the key; the name of the first that is missing and must not be.
fn push_headers(key: &mut KeyBuilder, policy: &Policy) -> Result<(), Arc<str>> {
    if policy.header_keys.is_empty() {
        return Ok(());
    }
    let headers = Headers::current().unwrap_or_default();
    for name in &policy.header_keys {
        let values = headers.values(name);
        if values.is_none() && policy.missing_header != MissingHeader::Empty {
            return Err(Arc::clone(name));
        }
        key.header(name, values);
    }
    Ok(())
}

/// The path of the function that a closure was written in: crate, modules, `Self` type and every
/// generic argument.
pub fn path_of<F: Fn()>(_: F) -> &'static str {
    let mut path = std::any::type_name::<F>();
    while let Some(outer) = path.strip_suffix("::{{closure}}") {
        path = outer;
    }
    path
}
