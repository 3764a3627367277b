//! The error a caller can meet, and the problems found when a coalescer is built.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::fault::Fault;

/// What kept a coalesced call from an outcome of the body.
///
/// A function that returns `Result<T, E>` receives it through `E: From<coalesce::Error>`; in a
/// function that returns a plain value the body runs instead. It names the namespace and never an
/// argument or header value, except for what the body's own error says of itself, which [`Failed`](Self::Failed) hands on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The caller followed a flight for `wait_timeout` without seeing its outcome.
    WaitTimeout {
        /// The call site's namespace.
        namespace: Arc<str>,
        /// The limit that was reached.
        limit: Duration,
    },
    /// The flight this caller followed returned an error whose type cannot cross between callers.
    Failed {
        /// The call site's namespace.
        namespace: Arc<str>,
        /// The error's own message, when it has one.
        message: Option<Arc<str>>,
    },
    /// Flight after flight ended without an outcome: the body panics.
    Abandoned {
        /// The call site's namespace.
        namespace: Arc<str>,
    },
    /// Redis could not be asked, and the call site says `on_redis_error = "fail"`.
    Unavailable {
        /// The call site's namespace.
        namespace: Arc<str>,
        /// Why there was no answer.
        fault: Fault,
    },
    /// A header that is part of the key is absent, and the call site says `missing_header = "error"`.
    MissingHeader {
        /// The call site's namespace.
        namespace: Arc<str>,
        /// The header's name, in lower case.
        header: Arc<str>,
    },
    /// The process has no coalescer, because its configuration is wrong: what an entry was to change is as it was,
    /// and other processes go on serving it. Calls run their bodies and never meet this.
    NotConfigured {
        /// The call site's namespace.
        namespace: Arc<str>,
    },
}

impl Error {
    /// A stable name for metrics and logs.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::WaitTimeout { .. } => "wait_timeout",
            Self::Failed { .. } => "failed",
            Self::Abandoned { .. } => "abandoned",
            Self::Unavailable { .. } => "unavailable",
            Self::MissingHeader { .. } => "missing_header",
            Self::NotConfigured { .. } => "not_configured",
        }
    }

    /// The namespace of the call site.
    pub fn namespace(&self) -> &str {
        match self {
            Self::WaitTimeout { namespace, .. }
            | Self::Failed { namespace, .. }
            | Self::Abandoned { namespace }
            | Self::Unavailable { namespace, .. }
            | Self::MissingHeader { namespace, .. }
            | Self::NotConfigured { namespace } => namespace,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitTimeout { namespace, limit } => {
                write!(
                    f,
                    "no outcome of {namespace} within the wait timeout of {limit:?}"
                )
            }
            Self::Failed {
                namespace,
                message: Some(message),
            } => {
                write!(f, "the shared call to {namespace} failed: {message}")
            }
            Self::Failed {
                namespace,
                message: None,
            } => {
                write!(f, "the shared call to {namespace} failed")
            }
            Self::Abandoned { namespace } => {
                write!(f, "the shared call to {namespace} was abandoned repeatedly")
            }
            Self::Unavailable { namespace, fault } => {
                write!(f, "the coordinator of {namespace} is unavailable: {fault}")
            }
            Self::MissingHeader { namespace, header } => {
                write!(f, "{namespace} needs the request header {header}")
            }
            Self::NotConfigured { namespace } => {
                write!(
                    f,
                    "nothing was done about {namespace}: no coalescer could be built, and the log says why"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unavailable { fault, .. } => Some(fault),
            _ => None,
        }
    }
}

/// Everything that is wrong with a coalescer's configuration, found in one go when it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    problems: Vec<Problem>,
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it was written: `file:line`, or the builder's method.
    pub place: String,
    /// The option it concerns.
    pub option: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl BuildError {
    pub(crate) const fn of(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// Each problem found.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} problem(s) in the coalescer's configuration",
            self.problems.len()
        )?;
        for problem in &self.problems {
            write!(
                f,
                "\n  {}: {}: {}",
                problem.place, problem.option, problem.message
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    /// Labels stand in metrics and logs, sentences in what an application shows.
    #[test]
    fn each_error_has_its_label_its_sentence_and_the_namespace() {
        let namespace: Arc<str> = "shop::get".into();
        let failed = |message: Option<&str>| Error::Failed {
            namespace: namespace.clone(),
            message: message.map(Into::into),
        };
        let errors = [
            Error::WaitTimeout {
                namespace: namespace.clone(),
                limit: Duration::from_millis(1_500),
            },
            failed(Some("no such order")),
            failed(None),
            Error::Abandoned {
                namespace: namespace.clone(),
            },
            Error::Unavailable {
                namespace: namespace.clone(),
                fault: Fault::Timeout,
            },
            Error::MissingHeader {
                namespace: namespace.clone(),
                header: "x-tenant".into(),
            },
            Error::NotConfigured {
                namespace: namespace.clone(),
            },
        ];
        let said = errors.each_ref().map(|error| {
            assert_eq!(error.namespace(), &*namespace);
            format!("{}: {error}", error.label())
        });
        assert_eq!(
            said,
            [
                "wait_timeout: no outcome of shop::get within the wait timeout of 1.5s",
                "failed: the shared call to shop::get failed: no such order",
                "failed: the shared call to shop::get failed",
                "abandoned: the shared call to shop::get was abandoned repeatedly",
                "unavailable: the coordinator of shop::get is unavailable: no reply within the operation deadline",
                "missing_header: shop::get needs the request header x-tenant",
                "not_configured: nothing was done about shop::get: no coalescer could be built, and the log says why",
            ]
        );
        let sources = errors.each_ref().map(|error| error.source().is_some());
        assert_eq!(sources, [false, false, false, false, true, false, false]);
    }

    #[test]
    fn everything_that_is_wrong_with_a_configuration_is_said_at_once() {
        let [one, other] = ["fresh_ttl", "redis"].map(|option| Problem {
            place: "shop.rs:7".to_owned(),
            option: option.to_owned(),
            message: "is wrong".to_owned(),
        });
        let error = BuildError::of(vec![one.clone(), other.clone()]);
        assert_eq!(error.problems(), [one, other]);
        assert_eq!(
            error.to_string(),
            "2 problem(s) in the coalescer's configuration\
             \n  shop.rs:7: fresh_ttl: is wrong\n  shop.rs:7: redis: is wrong"
        );
    }
}
