//! Fault: why a question to the coordinator got no usable answer.

use std::fmt;

/// Why the coordinator (Redis) gave no usable answer.
///
/// A fault never carries the server's text: error replies can echo arguments, and arguments are
/// the caller's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// No reply within the operation deadline. The command may or may not have been executed.
    Timeout,
    /// No connection, or it broke while the command was on its way.
    Disconnected,
    /// The server answered with an error: out of memory, read-only, loading…
    Refused,
    /// The server does not let us: a wrong password, or a right that is missing.
    Denied,
    /// The reply was not an answer to the question that was asked.
    Garbled,
    /// The key holds a value of a type this library never writes.
    ForeignType,
    /// Not asked: the last questions failed, and the pause before the next trial is not over.
    Paused,
}

impl Fault {
    /// Every one of them.
    pub const ALL: &'static [Self] = &[
        Self::Timeout,
        Self::Disconnected,
        Self::Refused,
        Self::Denied,
        Self::Garbled,
        Self::ForeignType,
        Self::Paused,
    ];

    /// A stable name for metrics and logs.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Disconnected => "disconnected",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Garbled => "garbled",
            Self::ForeignType => "foreign_type",
            Self::Paused => "paused",
        }
    }

    /// Whether the server did reply, though not with what was asked for.
    pub(crate) const fn is_a_reply(self) -> bool {
        self.is_a_refusal() || matches!(self, Self::Garbled | Self::ForeignType)
    }

    /// Whether the server would not do what it was asked for, whatever the key.
    pub(crate) const fn is_a_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Denied)
    }

    /// Whether the command may have been executed: its answer was lost, which says nothing about it.
    pub(crate) const fn may_have_been_executed(self) -> bool {
        matches!(self, Self::Timeout | Self::Disconnected | Self::Garbled)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no reply within the operation deadline",
            Self::Disconnected => "not connected",
            Self::Refused => "the server refused the command",
            Self::Denied => {
                "the server denied access: the password is wrong, or a right is missing"
            }
            Self::Garbled => "the reply did not belong to the question",
            Self::ForeignType => "the key holds a foreign type",
            Self::Paused => "paused after earlier failures",
        })
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a fault leaves open decides whether a question is asked again and whose trouble it is.
    #[test]
    fn each_fault_says_whether_it_is_a_reply_and_whether_the_command_may_have_been_executed() {
        let table = [
            (Fault::Timeout, "timeout", false, true),
            (Fault::Disconnected, "disconnected", false, true),
            (Fault::Refused, "refused", true, false),
            (Fault::Denied, "denied", true, false),
            (Fault::Garbled, "garbled", true, true),
            (Fault::ForeignType, "foreign_type", true, false),
            (Fault::Paused, "paused", false, false),
        ];
        assert_eq!(Fault::ALL, table.map(|(fault, ..)| fault));
        for (fault, label, is_a_reply, executed) in table {
            assert_eq!(fault.label(), label);
            assert_eq!(fault.is_a_reply(), is_a_reply, "{fault}");
            assert_eq!(fault.may_have_been_executed(), executed, "{fault}");
        }
        let sentences: std::collections::HashSet<_> =
            Fault::ALL.iter().map(Fault::to_string).collect();
        assert_eq!(sentences.len(), table.len());
    }
}
