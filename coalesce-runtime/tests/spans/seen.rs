//! A subscriber that remembers every span: its name, its place and its fields.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// One span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    pub name: &'static str,
    /// The number of the span it is inside of.
    pub parent: Option<u64>,
    pub number: u64,
    pub fields: BTreeMap<&'static str, String>,
    pub open: bool,
}

impl Span {
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |value| value)
    }
}

/// All that was told.
#[derive(Clone, Default)]
pub struct Seen {
    spans: Arc<Mutex<Vec<Span>>>,
    lines: Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>,
}

impl Seen {
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap().clone()
    }

    pub fn named(&self, name: &str) -> Vec<Span> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == name);
        spans
    }

    /// The only span of that name.
    pub fn only(&self, name: &str) -> Span {
        let spans = self.named(name);
        assert_eq!(spans.len(), 1, "{spans:?}");
        spans[0].clone()
    }

    /// The lines with this text.
    pub fn lines(&self, text: &str) -> Vec<BTreeMap<&'static str, String>> {
        let mut lines = self.lines.lock().unwrap().clone();
        lines.retain(|line| line["message"] == text);
        lines
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Span)) {
        let mut spans = self.spans.lock().unwrap();
        // Numbers are used again.
        let found = spans.iter_mut().rfind(|span| span.number == id.into_u64());
        change(found.unwrap());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).unwrap().parent();
        let mut span = Span {
            name: attributes.metadata().name(),
            parent: parent.map(|parent| parent.id().into_u64()),
            number: id.into_u64(),
            fields: BTreeMap::new(),
            open: true,
        };
        attributes.record(&mut Fields(&mut span.fields));
        self.spans.lock().unwrap().push(span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        self.change(id, |span| values.record(&mut Fields(&mut span.fields)));
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut line = BTreeMap::new();
        event.record(&mut Fields(&mut line));
        self.lines.lock().unwrap().push(line);
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        self.change(&id, |span| span.open = false);
    }
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
