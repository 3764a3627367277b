//! The builder's company: who is told what happens, and what a flight takes along from its caller.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::LocalKey;

use super::builder::CoalescerBuilder;
use crate::ports::observer::Observer;
use crate::ports::trace::{TraceContext, Traces};

impl CoalescerBuilder {
    /// Another observer that is told what happens, beside the books behind
    /// [`snapshot`](crate::Coalescer::snapshot).
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.0.push(observer);
        self
    }

    /// Links calls to the trace of the body that answered them, in whichever process that ran. Default: none;
    /// the spans of this process are there in any case.
    pub fn trace_context(mut self, context: Arc<dyn TraceContext>) -> Self {
        self.traces = Traces::of(context);
        self
    }

    /// Takes the value of a task-local of the application along into flights and refreshes, as the request scope and
    /// the tracing span are. Once for each; no round trip. Default: none.
    ///
    /// The body sees what the call that runs it has, or has started a refresh with. Its followers get the outcome
    /// all the same: what decides the outcome belongs in the key.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Coalescer;
    ///
    /// tokio::task_local! {
    ///     static REQUEST: u64;
    /// }
    ///
    /// let coalescer = Coalescer::builder().in_process().carry_task_local(&REQUEST).build().await?;
    /// let call = coalescer.call("shop::total").run(|| async { REQUEST.get() });
    /// assert_eq!(REQUEST.scope(42, call).await, 42);
    /// # Ok::<(), coalesce::BuildError>(())
    /// # }).unwrap();
    /// ```
    pub fn carry_task_local<T>(mut self, local: &'static LocalKey<T>) -> Self
    where
        T: Clone + Send + 'static,
    {
        self.locals = self.locals.and(local);
        self
    }

    /// Logs every `pause` what the advisor says of each namespace with a hundred calls or more, at the level
    /// of information. From a second to a day. Default: never; [`snapshot`](crate::Coalescer::snapshot) has it at any time.
    pub const fn advise_every(mut self, pause: Duration) -> Self {
        self.advise_every = Some(pause);
        self
    }

    /// Tells the `metrics` facade what happens, under the names that
    /// [docs/metrics.md](https://github.com/coalesce-rs/coalesce/blob/main/docs/metrics.md) lists.
    ///
    /// Install the recorder of your exporter first: what is counted before goes nowhere. An event costs a
    /// look-up and an addition, and no round trip.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::Coalescer;
    ///
    /// let exporter = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    /// let scrape = exporter.handle();
    /// metrics::set_global_recorder(exporter)?;
    ///
    /// let coalescer = Coalescer::builder().in_process().metrics().build().await?;
    /// coalescer.call("shop::total").key("acme").run(|| async { 42 }).await;
    /// let led = r#"coalesce_calls_total{namespace="shop::total",outcome="led"} 1"#;
    /// assert!(scrape.render().contains(led));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "metrics")]
    pub fn metrics(mut self) -> Self {
        self.shows_gauges = true;
        self.observer(Arc::new(crate::metrics::Recorded::new()))
    }
}
