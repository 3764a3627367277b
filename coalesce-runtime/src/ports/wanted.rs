//! Spans that somebody wants. Most calls have none, and a call's future is to stay small.

use std::ops::Deref;

use tracing::Span;

/// A span as wide as a pointer; on the heap where somebody wants it, and nothing where nobody does.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Option<Box<Span>>);

static UNWANTED: Span = Span::none();

impl From<Span> for Wanted {
    fn from(span: Span) -> Self {
        Self((!span.is_disabled()).then(|| Box::new(span)))
    }
}

impl Deref for Wanted {
    type Target = Span;

    fn deref(&self) -> &Span {
        self.0.as_deref().unwrap_or(&UNWANTED)
    }
}
