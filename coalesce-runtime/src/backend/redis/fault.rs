//! Errors of the client as faults: the kind and the first word decide, and no text is carried on.

use fred::error::{Error, ErrorKind};

use crate::words::fault::Fault;

/// Why there is no answer.
pub(super) fn fault_of(error: &Error) -> Fault {
    match error.kind() {
        ErrorKind::Timeout => Fault::Timeout,
        ErrorKind::IO | ErrorKind::Canceled | ErrorKind::Backpressure => Fault::Disconnected,
        // Older servers put the code of an error behind "ERR Error running script".
        _ if error.details().contains("WRONGTYPE") => Fault::ForeignType,
        _ if is_denial(error.details()) => Fault::Denied,
        _ if is_servers_text(error.details()) => Fault::Refused,
        ErrorKind::Parse | ErrorKind::NotFound => Fault::Garbled,
        _ => Fault::Disconnected,
    }
}

/// Whether the server does not know the script: flushed, restarted, or a replica that was promoted.
pub(super) fn is_unknown_script(error: &Error) -> bool {
    error.details().starts_with("NOSCRIPT")
}

/// What the server says to a stranger, and to a user who may not do that. From within a script it uses other words:
/// those of servers before 7.2, and those of servers since. RENEW tells them by the same.
fn is_denial(text: &str) -> bool {
    let says = |code| text.starts_with(code);
    let within = |words| text.contains(words);
    says("WRONGPASS ")
        || says("NOAUTH ")
        || says("NOPERM ")
        || within("The user executing the script can't ")
        || within("ACL failure in script: ")
}

/// The server's errors start with a code in capitals, the client's own with a word.
fn is_servers_text(text: &str) -> bool {
    let code = text.split(' ').next().unwrap_or_default();
    code.len() > 1 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: ErrorKind, text: &'static str) -> Fault {
        fault_of(&Error::new(kind, text))
    }

    #[test]
    fn what_the_server_says_is_a_refusal() {
        for text in [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "READONLY You can't write against a read only replica.",
            "ERR unknown command",
            "BUSY Redis is busy running a script.",
            "LOADING Redis is loading the dataset in memory",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "NOREPLICAS Not enough good replicas to write.",
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
        ] {
            assert_eq!(fault(ErrorKind::Unknown, text), Fault::Refused, "{text}");
        }
        let down = "CLUSTERDOWN The cluster is down";
        assert_eq!(fault(ErrorKind::Cluster, down), Fault::Refused);
    }

    #[test]
    fn who_may_not_is_told_so() {
        for (kind, text) in [
            (ErrorKind::Auth, "WRONGPASS invalid username-password pair"),
            (ErrorKind::Auth, "NOAUTH Authentication required."),
            (ErrorKind::Unknown, "NOPERM this user has no permissions"),
            (
                ErrorKind::Unknown,
                "ERR Error running script (call to f_0): @user_script:1: @user_script: 1: \
                 The user executing the script can't access at least one of the keys",
            ),
            (
                ErrorKind::Unknown,
                "ERR The user executing the script can't run this command script: 0, on @user_script:1.",
            ),
            (
                ErrorKind::Unknown,
                "ERR ACL failure in script: User app has no permissions script: 0, on @user_script:1.",
            ),
        ] {
            assert_eq!(fault(kind, text), Fault::Denied, "{text}");
        }
    }

    #[test]
    fn a_foreign_type_is_recognised_inside_and_outside_scripts() {
        let plain = "WRONGTYPE Operation against a key holding the wrong kind of value";
        let old = "ERR Error running script (call to f_0): @user_script:1: WRONGTYPE Operation";
        assert_eq!(fault(ErrorKind::InvalidArgument, plain), Fault::ForeignType);
        assert_eq!(fault(ErrorKind::Unknown, old), Fault::ForeignType);
    }

    #[test]
    fn what_the_client_says_is_a_lost_connection_or_a_lost_time() {
        assert_eq!(
            fault(ErrorKind::Timeout, "Request timed out."),
            Fault::Timeout
        );
        for (kind, text) in [
            (ErrorKind::IO, "Connection Closed"),
            (ErrorKind::IO, "EOF in the middle of a reply"),
            (ErrorKind::Canceled, "Connection closed unexpectedly."),
            (ErrorKind::Backpressure, ""),
            (ErrorKind::Unknown, "Too many failed write attempts."),
            (ErrorKind::Unknown, "channel closed"),
            (ErrorKind::Unknown, "A task is gone"),
            (ErrorKind::Protocol, "bytes remaining on stream"),
        ] {
            assert_eq!(fault(kind, text), Fault::Disconnected, "{text}");
        }
    }

    #[test]
    fn what_the_client_cannot_read_is_garbled() {
        for kind in [ErrorKind::Parse, ErrorKind::NotFound] {
            assert_eq!(fault(kind, "Expected a bulk string."), Fault::Garbled);
        }
    }

    #[test]
    fn an_unknown_script_is_told_from_other_refusals() {
        let no_script = Error::new(ErrorKind::Unknown, "NOSCRIPT No matching script.");
        assert!(is_unknown_script(&no_script));
        assert!(!is_unknown_script(&Error::new(ErrorKind::Unknown, "OOM")));
    }
}
