//! The options of the demo, and which of them do not go together.

use clap::Parser;

/// Callers in many processes want one value at once: first without coalescing, then with it.
///
/// The pods are real processes with a Redis between them: the one at `COALESCE_REDIS_URL`, or a
/// private one for the time of the demo when `redis-server` or `valkey-server` is on the PATH.
/// Without a Redis they are simulated in one process, on the embedded coordinator.
#[derive(Clone, Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
#[command(name = "stampede", about)]
pub struct Options {
    /// Processes of the service
    #[arg(long, default_value_t = 12, value_parser = positive(200))]
    pub pods: u64,

    /// Callers in each of them
    #[arg(long, default_value_t = 50, value_parser = positive(10_000))]
    pub callers: u64,

    /// Keys that the callers spread over
    #[arg(long, default_value_t = 1, value_parser = positive(10_000))]
    pub keys: u64,

    /// How long the body takes, in milliseconds
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=20_000))]
    pub body_ms: u64,

    /// The body fails
    #[arg(long)]
    pub fail: bool,

    /// The leading pod is killed with SIGKILL in the middle of the body
    #[arg(long, conflicts_with = "memory")]
    pub kill: bool,

    /// Use the embedded coordinator even if there is a Redis
    #[arg(long)]
    pub memory: bool,

    /// Print one JSON object, and nothing else, on stdout
    #[arg(long)]
    pub json: bool,

    /// What this process is when it is a pod
    #[arg(long, hide = true)]
    pub pod: Option<String>,
}

fn positive(most: u64) -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=most)
}

/// Below this, callers of a busy machine arrive when the body has ended.
const SHORTEST_OVERLAP_MS: u64 = 100;

impl Options {
    /// Why these options would show nothing, if they would not.
    pub fn refusal(&self) -> Option<String> {
        let needs_overlap = |option| {
            format!(
                "{option} shows what callers get who wait for one body: \
                 give them time with --body-ms {SHORTEST_OVERLAP_MS} or more"
            )
        };
        let too_short = self.body_ms < SHORTEST_OVERLAP_MS;
        match self {
            Self { kill: true, .. } if self.pods < 2 => {
                Some("--kill needs a pod that survives: use --pods 2 or more".to_owned())
            }
            Self { kill: true, .. } if too_short => Some(needs_overlap("--kill")),
            Self { fail: true, .. } if too_short => Some(needs_overlap("--fail")),
            _ => None,
        }
    }

    pub fn all_callers(&self) -> u64 {
        self.pods * self.callers
    }
}
