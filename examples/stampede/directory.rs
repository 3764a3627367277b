//! A directory for the time of the demo, and a text that no other demo has.

use std::io;
use std::path::{Path, PathBuf};

use crate::ledger::now;

/// Removed when dropped.
pub struct Directory {
    path: PathBuf,
    nonce: String,
}

impl Directory {
    pub fn make() -> io::Result<Self> {
        let nonce = format!("stampede-{:x}-{:x}", std::process::id(), now());
        let path = std::env::temp_dir().join(&nonce);
        // Fails if it is there: then it is not ours.
        std::fs::create_dir(&path)?;
        Ok(Self { path, nonce })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Made of the process and the time: good for names, not for secrets.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What is left is a few lines in the system's place for what may be left.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
