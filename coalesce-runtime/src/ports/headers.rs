//! The request scope: the headers of the request that is being served, carried by a task-local.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

tokio::task_local! {
    static SCOPE: Headers;
}

/// Request headers that can be part of a key. Cheap to clone; names are compared without case.
///
/// The `Debug` form shows names and never values: one of them may be a password.
///
/// ```
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::Headers;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let headers = Headers::new([("X-Tenant-Id", "acme")]);
/// headers.scope(async { /* calls made here see the header */ }).await;
/// # });
/// ```
#[derive(Clone, Default)]
pub struct Headers(Arc<[(Box<str>, Box<str>)]>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

impl Headers {
    /// The headers `(name, value)`, in their order; a name may occur more than once.
    pub fn new<N: AsRef<str>, V: Into<Box<str>>>(
        headers: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let lower = |name: N| name.as_ref().to_ascii_lowercase().into_boxed_str();
        Self(
            headers
                .into_iter()
                .map(|(name, value)| (lower(name), value.into()))
                .collect(),
        )
    }

    /// Runs `future` with these headers as its request scope.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        SCOPE.scope(self, future).await
    }

    /// The request scope of the running task, when there is one.
    ///
    /// A task-local does not cross `tokio::spawn`: take the scope before and open it again inside.
    /// Flights and refreshes started by a coalesced call carry it by themselves.
    pub fn current() -> Option<Self> {
        SCOPE.try_with(Self::clone).ok()
    }

    /// All values of a header, in order; `None` when it is absent. `name` is in lower case.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> Option<impl Iterator<Item = &'a str>> {
        let mut values = self
            .0
            .iter()
            .filter(move |(n, _)| **n == *name)
            .map(|(_, value)| &**value)
            .peekable();
        values.peek().is_some().then_some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_case_and_repeated_values_keep_their_order() {
        let headers = Headers::new([("X-Role", "b"), ("x-tenant", "acme"), ("X-ROLE", "a")]);
        assert_eq!(
            headers.values("x-role").unwrap().collect::<Vec<_>>(),
            ["b", "a"]
        );
        assert!(headers.values("x-other").is_none());
    }

    #[test]
    fn debug_shows_names_and_no_values() {
        let headers = Headers::new([("Authorization", "hunter2")]);
        assert_eq!(format!("{headers:?}"), r#"["authorization"]"#);
    }

    #[tokio::test]
    async fn the_scope_is_seen_inside_and_not_outside() {
        assert!(Headers::current().is_none());
        let seen = Headers::new([("a", "1")])
            .scope(async { Headers::current() })
            .await;
        assert_eq!(
            seen.unwrap().values("a").unwrap().collect::<Vec<_>>(),
            ["1"]
        );
    }
}
