//! Trace contexts: how a call that follows learns which trace its leader was part of, in whichever process.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::format::traceparent::Traceparent;

/// Knows the trace that the running code is part of, and links it to others.
///
/// An application implements it for its tracing system. It costs no round trip: the context travels with the
/// lock, in 73 more bytes, and with the outcome, in 25. One that panics is as good as none; the call goes on.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::Coalescer;
/// use coalesce::observing::TraceContext;
///
/// struct Traces(&'static str, Arc<Mutex<Vec<String>>>);
///
/// impl TraceContext for Traces {
///     fn current(&self) -> Option<String> {
///         Some(self.0.to_owned()) // With OpenTelemetry: what its propagator injects.
///     }
///     fn linked(&self, traceparent: &str) {
///         self.1.lock().unwrap().push(traceparent.to_owned());
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let linked = Arc::<Mutex<Vec<String>>>::default();
/// let leader = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let traces = Arc::new(Traces(leader, linked.clone()));
/// let coalescer = Coalescer::builder().in_process().trace_context(traces).build().await?;
/// let total = || coalescer.call("shop::total").key("acme").run(|| async {
///     tokio::task::yield_now().await;
///     42
/// });
/// assert_eq!(tokio::join!(total(), total()), (42, 42));
/// assert_eq!(*linked.lock().unwrap(), [leader]);
/// # Ok::<(), coalesce::BuildError>(())
/// # }).unwrap();
/// ```
pub trait TraceContext: Send + Sync + 'static {
    /// The W3C `traceparent` of the running span. It is asked inside the span of a call that is about to ask for a lock,
    /// and inside that of the execution, once for each body whose outcome is shared. Anything but 55 bytes of version 00 is as good as `None`.
    fn current(&self) -> Option<String>;

    /// The running call was answered by the body of that span, or has waited in vain for the leader that asked for its
    /// lock inside it: valid, and in lower case. It is called inside the span of the call, at most once for each wait.
    fn linked(&self, traceparent: &str);
}

/// The application's trace context, if it has any.
#[derive(Clone, Default)]
pub(crate) struct Traces(Option<Arc<dyn TraceContext>>);

impl Traces {
    pub(crate) fn of(context: Arc<dyn TraceContext>) -> Self {
        Self(Some(context))
    }

    /// The running span's context.
    pub(crate) fn current(&self) -> Option<Traceparent> {
        let context = self.0.as_ref()?;
        let text = catch_unwind(AssertUnwindSafe(|| context.current()));
        Traceparent::parse(&text.ok()??)
    }

    /// The call of `span` was answered by that body.
    pub(crate) fn link(&self, leader: Traceparent, span: &tracing::Span) {
        if self.0.is_none() && span.is_disabled() {
            return;
        }
        let text = leader.to_string();
        span.record("leader.traceparent", &*text);
        if let Some(context) = &self.0 {
            // Whether or not it is known elsewhere, the call has its answer.
            let told = || span.in_scope(|| context.linked(&text));
            let _ = catch_unwind(AssertUnwindSafe(told));
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Traces" } else { "none" })
    }
}
