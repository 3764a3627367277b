//! Chosen task-locals of the application: what the caller has of them, the body has as well.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::LocalKey;

/// Work in a task of its own, without a type of its own.
type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task-local that is to be taken along.
trait Local: Send + Sync {
    /// The value of the running task; `None` where it has none.
    fn taken(&self) -> Option<Box<dyn Opening>>;
}

/// A value on its way.
trait Opening: Send {
    /// The work with this value as the task-local's.
    fn around(self: Box<Self>, work: Work) -> Work;
}

struct Chosen<T: 'static>(&'static LocalKey<T>);

struct Value<T: 'static>(&'static LocalKey<T>, T);

impl<T: Clone + Send + 'static> Local for Chosen<T> {
    fn taken(&self) -> Option<Box<dyn Opening>> {
        let value = self.0.try_with(T::clone).ok()?;
        Some(Box::new(Value(self.0, value)))
    }
}

impl<T: Send + 'static> Opening for Value<T> {
    fn around(self: Box<Self>, work: Work) -> Work {
        let Self(local, value) = *self;
        Box::pin(local.scope(value, work))
    }
}

/// The task-locals that an application has chosen.
#[derive(Clone, Default)]
pub(crate) struct Locals(Arc<[Arc<dyn Local>]>);

impl Locals {
    /// These, and one more.
    pub(crate) fn and<T: Clone + Send + 'static>(&self, local: &'static LocalKey<T>) -> Self {
        let chosen: Arc<dyn Local> = Arc::new(Chosen(local));
        Self(self.0.iter().cloned().chain([chosen]).collect())
    }

    /// Their values in the running task.
    pub(crate) fn taken(&self) -> Taken {
        Taken(self.0.iter().filter_map(|local| local.taken()).collect())
    }
}

impl fmt::Debug for Locals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} task-locals", self.0.len())
    }
}

/// Values of task-locals, taken where the flight starts and opened again where the body runs.
pub(crate) struct Taken(Vec<Box<dyn Opening>>);

impl Taken {
    /// Runs `work` with them.
    pub(crate) async fn around<T: Send + 'static>(
        self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        if self.0.is_empty() {
            return work.await;
        }
        let (say, mut said) = oneshot::channel();
        let work: Work = Box::pin(async move { drop(say.send(work.await)) });
        let around = |work, value: Box<dyn Opening>| value.around(work);
        self.0.into_iter().fold(work, around).await;
        match said.try_recv() {
            Ok(value) => value,
            Err(_) => unreachable!("the work has ended, and its value was said"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    tokio::task_local! {
        static NUMBER: u8;
        static WORD: &'static str;
    }

    fn seen() -> (Option<u8>, Option<&'static str>) {
        (NUMBER.try_with(|it| *it).ok(), WORD.try_with(|it| *it).ok())
    }

    #[tokio::test]
    async fn what_the_caller_has_goes_into_another_task_and_what_it_has_not_does_not() {
        let both = Locals::default().and(&NUMBER).and(&WORD);
        let here = |locals: Locals| async move {
            let work = locals.taken().around(async { seen() });
            tokio::spawn(work).await.unwrap()
        };
        let inside = NUMBER.scope(7, WORD.scope("w", here(both.clone()))).await;
        assert_eq!(inside, (Some(7), Some("w")));
        assert_eq!(NUMBER.scope(7, here(both)).await, (Some(7), None));
        let none = NUMBER.scope(7, here(Locals::default())).await;
        assert_eq!(none, (None, None));
    }
}
