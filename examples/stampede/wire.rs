//! What parent and pods say to each other: a plan to begin with, then one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::shop::Stamp;

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The parent's word that opens the barrier. It says nothing else; closing the pipe is farewell.
pub const GO: &[u8] = b"go\n";

/// What a pod is told when it is made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub pod: usize,
    /// The namespace of the run, and the nonce in its values.
    pub run: String,
    pub prefix: String,
    pub coalesced: bool,
    pub callers: u64,
    pub keys: u64,
    pub body_ms: u64,
    pub fail: bool,
    pub ledger: PathBuf,
}

/// What a pod says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// Connected, warm, and at the barrier.
    Ready,
    Answer(Answer),
    /// All callers have been answered and nothing is in flight any more.
    Idle {
        takeovers: u64,
    },
}

/// What one caller got.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answer {
    pub asked: u64,
    pub waited_us: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Outcome {
    Value(Stamp),
    /// The error of the body.
    Down(Stamp),
    /// Anything that no body returned.
    Stray(String),
}
