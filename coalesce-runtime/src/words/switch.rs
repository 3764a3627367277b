//! The kill switch: what it can say, and about what.

use std::fmt;
use std::sync::Arc;

use once_cell::sync::Lazy;

use super::clock::ServerTime;
use super::key::Key;
use super::key_text::{escape, plain_in_part, push_namespace, unescape};

/// What a switch is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every call site that has no position of its own.
    Everything,
    /// The call sites of one namespace.
    Namespace(Arc<str>),
}

impl Scope {
    /// The scope of one namespace.
    pub fn namespace(namespace: impl Into<Arc<str>>) -> Self {
        Self::Namespace(namespace.into())
    }

    /// The field that stands for it. `~` is escaped in namespaces, so none is mistaken for everything.
    pub(crate) fn field(&self) -> String {
        match self {
            Self::Everything => "~all".to_owned(),
            Self::Namespace(namespace) => field_of(namespace),
        }
    }
}

/// The field that stands for a namespace.
pub(crate) fn field_of(namespace: &str) -> String {
    let mut field = String::with_capacity(namespace.len());
    push_namespace(namespace, None, &mut field);
    field
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("everything"),
            Self::Namespace(namespace) => f.write_str(namespace),
        }
    }
}

/// Where a switch stands, since whose decision and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Whether calls are coalesced.
    pub on: bool,
    /// When the position ends by itself, on the coordinator's clock. [`Coalescer::position`](crate::Coalescer::position)
    /// has it no more from then on.
    pub until: Option<ServerTime>,
    /// Who decided.
    pub author: String,
    /// Why.
    pub reason: String,
}

/// What came of turning a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a switch for a namespace that nobody has is turned, and changes nothing"]
pub struct Turned {
    /// The position that stood there.
    pub replaced: Option<Position>,
    /// Whether any process has such a namespace: a call site of its program, or one that has been called. `false`
    /// where none has said so within an hour, or where that cannot be read; the position is set all the same. Who
    /// has just been called for the first time is known to the others within ten seconds.
    pub known: bool,
}

/// The first word of every position: what else stands there is not a position.
const MARK: &str = "co1";

impl Position {
    /// Off until somebody says otherwise.
    pub fn off() -> Self {
        Self {
            on: false,
            until: None,
            author: String::new(),
            reason: String::new(),
        }
    }

    /// On, whatever the position of everything is.
    pub fn on() -> Self {
        Self {
            on: true,
            ..Self::off()
        }
    }

    /// The same position, which ends by itself at a moment on the coordinator's clock.
    #[must_use]
    pub fn until(self, end: ServerTime) -> Self {
        Self {
            until: Some(end),
            ..self
        }
    }

    /// The same position, with a reason and its author for those who look at the switch.
    #[must_use]
    pub fn because(self, author: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            author: author.into(),
            reason: reason.into(),
            ..self
        }
    }

    /// Whether it still counts at `now`.
    pub(crate) fn holds_at(&self, now: ServerTime) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// `co1 off 1795989275635856 ada too%20slow`; `0` for no end.
    pub(crate) fn encode(&self) -> String {
        let until = self.until.map_or(0, ServerTime::as_micros);
        let mut text = format!("{MARK} {} {until} ", if self.on { "on" } else { "off" });
        escape(&self.author, plain_in_part, &mut text);
        text.push(' ');
        escape(&self.reason, plain_in_part, &mut text);
        text
    }

    /// Reads what [`Position::encode`] wrote; author and reason may be missing, for those who write by hand.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        if words.next() != Some(MARK) {
            return None;
        }
        let on = match words.next() {
            Some("on") => true,
            Some("off") => false,
            _ => return None,
        };
        let until = match words.next().unwrap_or("0").parse().ok()? {
            0 => None,
            micros => Some(ServerTime::from_micros(micros)),
        };
        let mut text = || unescape(words.next().unwrap_or_default());
        Some(Self {
            on,
            until,
            author: text()?,
            reason: text()?,
        })
    }
}

/// The pseudo key whose messages tell of changes to the switch.
pub(crate) fn switch_key() -> &'static Key {
    static KEY: Lazy<Key> = Lazy::new(|| Key::new("coalesce:switch", &[]));
    &KEY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written() {
        let position = Position {
            until: Some(ServerTime::from_micros(7)),
            ..Position::off().because("ada", "too slow: 100 % of calls")
        };
        assert_eq!(Position::decode(&position.encode()), Some(position));
        assert_eq!(
            Position::decode(&Position::on().encode()),
            Some(Position::on())
        );
    }

    #[test]
    fn what_is_said_of_a_position_is_kept() {
        let end = ServerTime::from_micros(7);
        let position = Position::on().until(end).because("ada", "too slow");
        assert_eq!(position.encode(), "co1 on 7 ada too%20slow");
        assert_eq!((position.on, position.until), (true, Some(end)));
        assert_eq!(Position::off().encode(), "co1 off 0  ");
    }

    #[test]
    fn a_position_may_be_written_by_hand_and_anything_else_is_none() {
        assert_eq!(Position::decode("co1 off"), Some(Position::off()));
        for text in [
            "",
            "off",
            "co2 off",
            "co1 perhaps",
            "co1 off soon",
            "co1 off 0 %zz",
        ] {
            assert_eq!(Position::decode(text), None, "{text}");
        }
    }

    #[test]
    fn no_namespace_is_mistaken_for_everything() {
        assert_ne!(Scope::namespace("~all").field(), Scope::Everything.field());
        assert_eq!(Scope::namespace("shop::get").field(), "shop::get");
        assert_eq!(Scope::namespace("shop::get").to_string(), "shop::get");
        assert_eq!(Scope::Everything.to_string(), "everything");
    }

    #[test]
    fn a_position_ends_by_itself() {
        let until = ServerTime::from_micros(10);
        let position = Position {
            until: Some(until),
            ..Position::off()
        };
        assert!(position.holds_at(ServerTime::from_micros(9)));
        assert!(!position.holds_at(until));
    }
}
