//! The folder of a stack, which does not outlive it for long.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;
use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

const PREFIX: &str = "product-service-stack-";

/// A folder that goes with its value.
///
/// A program that is killed drops nothing, so the folder's name tells the process it belongs to, and the
/// next one sweeps up after those that have ended.
pub fn folder() -> Result<TempDir> {
    sweep(&std::env::temp_dir());
    let folder = tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        // PostgreSQL and nginx may run as other users, and have folders of their own inside.
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()?;
    Ok(folder)
}

fn sweep(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let owner = owner_of(&entry.file_name().to_string_lossy());
        if owner.is_some_and(|pid| test_kill_process(pid).is_err()) {
            // Another one may be sweeping, too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn owner_of(name: &str) -> Option<Pid> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    Pid::from_raw(pid.parse().ok()?)
}
