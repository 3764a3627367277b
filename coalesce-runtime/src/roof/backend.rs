//! Backends: where a coalescer gets its coordinator from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::builder::problem;
use super::coalescer::environment;
use crate::backend::memory::MemoryCoordinator;
use crate::backend::redis::{RedisCoordinator, RedisSettings};
use crate::ports::coordinator::Coordinator;
use crate::words::error::Problem;

/// The environment variable that names the Redis to use when the builder names none.
const URL_VARIABLE: &str = "COALESCE_REDIS_URL";

/// What coalesces calls.
#[derive(Default)]
pub(super) enum Backend {
    #[default]
    FromEnvironment,
    InProcess,
    Redis(String),
    Given(Arc<dyn Coordinator>),
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FromEnvironment => "FromEnvironment",
            Self::InProcess => "InProcess",
            // The URL holds a password.
            Self::Redis(_) => "Redis",
            Self::Given(_) => "Given",
        })
    }
}

impl Backend {
    /// What the builder cannot be told beside this backend.
    pub(super) fn problems(&self, beside: &[(&str, bool)]) -> Vec<Problem> {
        let Self::Given(_) = self else {
            return Vec::new();
        };
        let said = beside.iter().filter(|(_, is_said)| *is_said);
        said.map(|(option, _)| {
            let why = "a coordinator that is brought along has its own: say it where that is made";
            problem(option, why.to_owned())
        })
        .collect()
    }

    /// The coordinator; `None`: there is none, and why is among the problems, or they are reason enough.
    pub(super) async fn coordinate(
        &self,
        prefix: Option<&str>,
        deadline: Duration,
        problems: &mut Vec<Problem>,
    ) -> Option<Arc<dyn Coordinator>> {
        let url = match self {
            Self::Given(coordinator) => return Some(Arc::clone(coordinator)),
            Self::InProcess => return Some(Arc::new(MemoryCoordinator::new())),
            Self::Redis(url) => url.clone(),
            Self::FromEnvironment => match environment(URL_VARIABLE) {
                Some(url) => url,
                None => {
                    tracing::warn!(
                        "no Redis is configured ({URL_VARIABLE} is not set): calls are coalesced within this process only"
                    );
                    return Some(Arc::new(MemoryCoordinator::new()));
                }
            },
        };
        if !problems.is_empty() {
            // A program that will not start has no use for a connection.
            return None;
        }
        let mut settings = RedisSettings::new(url).deadline(deadline);
        if let Some(prefix) = prefix {
            settings = settings.prefix(prefix);
        }
        match RedisCoordinator::connect(settings).await {
            Ok(coordinator) => Some(Arc::new(coordinator)),
            Err(wrong) => {
                problems.push(problem("redis", wrong.to_string()));
                None
            }
        }
    }
}
