//! Calls, of annotated functions and direct ones: from the key parts to the scene, or past it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::body::Scene;
use super::coalescer::{Coalescer, environment};
use super::default::default_coalescer;
use super::entry::Entry;
use super::need::{Need, Passage, Role};
use super::shape::Shape;
use super::site::CallSite;
use crate::flight::context::is_inside;
use crate::flight::waiter::Waiter;
use crate::ports::event::{BypassReason, CallOutcome};
use crate::ports::headers::Headers;
use crate::ports::ticket::Ticket;
use crate::words::error::Error;
use crate::words::key::{Key, KeyBuilder, Piece};
use crate::words::key_part::KeyPart;
use crate::words::policy::{MissingHeader, Policy};

/// One call, before it is known what becomes of it.
#[derive(Clone, Debug)]
#[must_use]
pub struct Call {
    origin: Origin,
    pub(super) key: KeyBuilder,
    coalescer: Option<Coalescer>,
}

/// Where a call has its namespace and its policy from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// An annotated function, and the path of what was called.
    Site(&'static CallSite, &'static str),
    /// Whoever makes it.
    Direct(Arc<str>, Arc<Policy>),
}

impl Origin {
    fn known_to(self, coalescer: &Coalescer) -> (Arc<str>, Arc<Policy>) {
        let (site, path) = match self {
            Self::Direct(namespace, policy) => return (namespace, policy),
            Self::Site(site, path) => (site, path),
        };
        let policy = coalescer.policy_of(site);
        (namespace_of(site, path, &policy), policy)
    }

    /// The namespace, as far as it can be known where there is no coalescer.
    pub(super) fn namespace(self) -> Arc<str> {
        match self {
            Self::Direct(namespace, _) => namespace,
            Self::Site(site, path) => {
                namespace_of(site, path, &site.policy(&environment, &mut Vec::new()))
            }
        }
    }
}

fn namespace_of(site: &CallSite, path: &str, policy: &Policy) -> Arc<str> {
    let derived = || match site.in_entry {
        Some(entry) => renamed(path, entry, site.function).into(),
        None => path.into(),
    };
    policy.namespace.clone().unwrap_or_else(derived)
}

/// What becomes of a call whose key is known.
#[derive(Debug)]
pub(crate) enum Route {
    Coalesce,
    Bypass(BypassReason),
}

/// Where a call would be coalesced.
#[derive(Debug)]
pub(crate) enum Located {
    Here(Coalescer, Scene),
    /// The process has no coalescer: its configuration is wrong.
    Nowhere(Origin),
    MissingHeader(Coalescer, Arc<Policy>, Arc<str>, Error),
}

impl Call {
    /// A call of the function at `path`.
    pub fn new(site: &'static CallSite, path: &'static str) -> Self {
        Self {
            origin: Origin::Site(site, path),
            key: KeyBuilder::default(),
            coalescer: None,
        }
    }

    /// A call without the attribute.
    pub(crate) fn direct(coalescer: Coalescer, namespace: Arc<str>) -> Self {
        Self {
            origin: Origin::Direct(namespace, Arc::default()),
            key: KeyBuilder::default(),
            coalescer: Some(coalescer),
        }
    }

    /// The same, with the policy that whoever makes it has for it. That of an annotated function is its own.
    pub(crate) fn under(mut self, policy: Arc<Policy>) -> Self {
        if let Origin::Direct(_, own) = &mut self.origin {
            *own = policy;
        }
        self
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
    // The compiler shows the line of a bound that is not met, so the advice stands on it.
    pub async fn run<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        R: Send + 'static, // it comes from another task; with `inline` from the caller's
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R> + Send + 'static, // a task of its own; with `inline` the caller's
    {
        match self.decide(shape, true).await.met(shape, body) {
            Ok(answer) => answer,
            Err(flight) => flight.await,
        }
    }

    /// Runs the call with a body that stays in the caller's task.
    pub async fn run_inline<R, S, F, Fut>(self, shape: S, body: F) -> R
    where
        S: Shape<R>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = R>,
    {
        let need = self.decide(shape, false).await;
        need.met_inline(shape, body).await
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

    /// What the call wants of its body. In a box: it is most of a call's future, and all that users' futures hold.
    fn decide<R, S: Shape<R>>(
        self,
        shape: S,
        takes_stale: bool,
    ) -> Pin<Box<impl Future<Output = Need<R>>>> {
        Box::pin(async move {
            let coalescer = self.coalescer().await;
            let (scene, ticket) = match self.prepared(coalescer, shape) {
                Ok(found) => found,
                Err(need) => return need,
            };
            let Scene { core, policy, key } = &scene;
            let waiter = Waiter::new(core, policy, key.clone(), ticket, takes_stale);
            scene.decide(waiter, shape).await
        })
    }

    /// Where it is coalesced, or what it wants of its body if it is not.
    fn prepared<R, S: Shape<R>>(
        self,
        coalescer: Option<Coalescer>,
        shape: S,
    ) -> Result<(Scene, Ticket), Need<R>> {
        let bypass = |passage| Err(Need::Answer(Box::new(Role::Bypass(passage))));
        match self.locate_on(coalescer) {
            Located::Nowhere(_) => bypass(Passage(None)),
            Located::MissingHeader(coalescer, policy, namespace, error) => {
                let ticket = Ticket::without_key(&coalescer.0.core.observers, &namespace);
                if policy.missing_header == MissingHeader::Bypass {
                    return bypass(Passage::new(ticket, BypassReason::MissingHeader));
                }
                match shape.failure(error) {
                    Some(refusal) => {
                        ticket.close(CallOutcome::Failed);
                        Err(Need::Nothing(refusal))
                    }
                    // Who cannot say an error runs the body.
                    None => bypass(Passage::new(ticket, BypassReason::MissingHeader)),
                }
            }
            Located::Here(coalescer, scene) => {
                let ticket = Ticket::of_call(&scene.core.observers, &scene.key, &scene.policy);
                match route_of_call(&coalescer, &scene.policy, &scene.key) {
                    Route::Bypass(reason) => bypass(Passage::new(ticket, reason)),
                    Route::Coalesce => Ok((scene, ticket)),
                }
            }
        }
    }

    /// The coalescer, the policy and the key of this call.
    pub(crate) async fn locate(self) -> Located {
        let coalescer = self.coalescer().await;
        self.locate_on(coalescer)
    }

    async fn coalescer(&self) -> Option<Coalescer> {
        match &self.coalescer {
            Some(coalescer) => Some(coalescer.clone()),
            None => default_coalescer().await.cloned(),
        }
    }

    fn locate_on(self, coalescer: Option<Coalescer>) -> Located {
        let Some(coalescer) = coalescer else {
            return Located::Nowhere(self.origin);
        };
        let (namespace, policy) = self.origin.known_to(&coalescer);
        let mut key = self.key;
        match push_headers(&mut key, &policy) {
            Ok(()) => {
                let key = key.finish(namespace, policy.version);
                let core = Arc::clone(&coalescer.0.core);
                core.coordinator.takes(policy.max_payload);
                Located::Here(coalescer, Scene { core, policy, key })
            }
            Err(header) => {
                let error = Error::MissingHeader {
                    namespace: Arc::clone(&namespace),
                    header,
                };
                Located::MissingHeader(coalescer, policy, namespace, error)
            }
        }
    }
}

/// The same of a call that nobody asked to be a flight: it may not be worth it.
pub(crate) fn route_of_call(coalescer: &Coalescer, policy: &Policy, key: &Key) -> Route {
    let is_past = || {
        let fresh_ttl = policy.clocks().fresh();
        let judge = &coalescer.0.self_bypass;
        policy.self_bypass && judge.is_past(key.namespace(), fresh_ttl)
    };
    match route(coalescer, policy, key) {
        Route::Coalesce if is_past() => Route::Bypass(BypassReason::NotWorthIt),
        route => route,
    }
}

/// Whether a call of `key` is coalesced, or runs as if the attribute were not there.
pub(crate) fn route(coalescer: &Coalescer, policy: &Policy, key: &Key) -> Route {
    let core = &coalescer.0.core;
    coalescer.0.attend();
    let reason = if coalescer.0.disabled {
        BypassReason::Disabled
    } else if !policy.enabled {
        BypassReason::NotEnabled
    } else if core.is_stopping() {
        BypassReason::ShuttingDown
    } else if is_inside(key) {
        BypassReason::Reentrant
    } else if core.switchboard.is_off(key.namespace()) {
        BypassReason::SwitchedOff
    } else {
        return Route::Coalesce;
    };
    Route::Bypass(reason)
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

/// `path`, which ends with `old` and perhaps generic arguments, with `new` in its place.
fn renamed(path: &str, old: &str, new: &str) -> String {
    let mut depth = 0_usize;
    let mut end = path.len();
    // From behind: what stands between the last pair of angles may hold any path, and `->`.
    for (at, byte) in path.bytes().enumerate().rev() {
        match byte {
            b'>' if !path[..at].ends_with('-') => depth += 1,
            b'<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            end = if byte == b'<' { at } else { path.len() };
            break;
        }
    }
    let (path, arguments) = path.split_at(end);
    match path.strip_suffix(old) {
        Some(module) => format!("{module}{new}{arguments}"),
        None => format!("{path}{arguments}"),
    }
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn an_entry_has_the_name_of_its_function() {
        let renamed = |path| renamed(path, "get_entry", "get");
        assert_eq!(renamed("shop::get_entry"), "shop::get");
        assert_eq!(renamed("shop::get_entry<u8>"), "shop::get<u8>");
        assert_eq!(
            renamed("<get_entry<u8> as T>::get_entry<fn(u8) -> Vec<get_entry>>"),
            "<get_entry<u8> as T>::get<fn(u8) -> Vec<get_entry>>"
        );
    }
}
