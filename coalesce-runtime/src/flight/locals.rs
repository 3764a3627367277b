//! Task-locals of the application that travel: their values are taken where a flight starts, and set where its body runs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::LocalKey;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The task-locals that were registered.
#[derive(Clone, Default)]
pub(crate) struct Locals(Vec<Arc<dyn Local>>);

/// A task-local of any type.
trait Local: Send + Sync {
    /// Its value here, if it is set.
    fn value(&self) -> Option<Box<dyn Value>>;
}

/// A value of a task-local.
trait Value: Send {
    fn around(self: Box<Self>, work: Work) -> Work;
}

struct Held<T: 'static> {
    key: &'static LocalKey<T>,
    value: T,
}

impl Locals {
    pub(crate) fn register<T: Clone + Send + 'static>(&mut self, key: &'static LocalKey<T>) {
        self.0.push(Arc::new(key));
    }

    /// The body with the values that are set here.
    pub(crate) fn around<R: Send + 'static>(
        &self,
        body: Pin<Box<dyn Future<Output = R> + Send>>,
    ) -> Pin<Box<dyn Future<Output = R> + Send>> {
        let mut values = self.0.iter().filter_map(|local| local.value()).peekable();
        if values.peek().is_none() {
            return body;
        }
        let (result, returned) = oneshot::channel();
        let work: Work = Box::pin(async move {
            // Who dropped the receiver has dropped this as well.
            let _ = result.send(body.await);
        });
        let work = values.fold(work, |work, value| value.around(work));
        Box::pin(async move {
            work.await;
            match returned.await {
                Ok(value) => value,
                Err(_) => unreachable!("the work has ended, and sent its result"),
            }
        })
    }
}

impl<T: Clone + Send + 'static> Local for &'static LocalKey<T> {
    fn value(&self) -> Option<Box<dyn Value>> {
        let value = self.try_with(Clone::clone).ok()?;
        Some(Box::new(Held { key: *self, value }))
    }
}

impl<T: Send + 'static> Value for Held<T> {
    fn around(self: Box<Self>, work: Work) -> Work {
        Box::pin(self.key.scope(self.value, work))
    }
}

impl fmt::Debug for Locals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} task-locals", self.0.len())
    }
}
