//! How far a chaos is: counted from the files that pods write, a few lines at a time.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::faults::Fault;
use super::nemesis::Nemesis;
use super::stage::Stage;

/// What can be said while it goes on.
#[derive(Debug, Default)]
pub struct Progress {
    /// Faults so far.
    pub faults: u64,
    /// The last of them.
    pub last: Option<Fault>,
    /// Calls answered.
    pub calls: u64,
    /// Runs begun and ended, together.
    pub runs: u64,
    /// For how long calls are still made.
    pub left: Duration,
    /// Whether only the verdict is missing.
    pub ending: bool,
    read: HashMap<PathBuf, u64>,
}

impl Progress {
    pub(super) fn look(&mut self, stage: &Stage, nemesis: &Nemesis) {
        self.faults = nemesis.done.values().sum();
        self.last = nemesis.last;
        self.left = stage.left();
        for (_, _, file) in &stage.files {
            self.calls += self.new_lines(file);
        }
        self.runs += self.new_lines(stage.ledger.path());
    }

    fn new_lines(&mut self, path: &Path) -> u64 {
        let read = self.read.entry(path.to_owned()).or_default();
        let mut bytes = Vec::new();
        // A pod that has only just started has no file yet.
        let found = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(*read))?;
            file.read_to_end(&mut bytes)
        });
        *read += found.unwrap_or(0) as u64;
        let lines = bytes.split(|byte| *byte == b'\n').count();
        (lines - 1) as u64
    }
}
