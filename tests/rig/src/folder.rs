//! Folders for what servers and ledgers write, none of which outlives its test for long.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Once;

use tempfile::TempDir;

const PREFIX: &str = "coalesce-rig-";

/// A folder that goes with its value.
///
/// A test that is killed drops nothing, so its name tells the process it belongs to: the first folder
/// of a process sweeps up after those that have ended.
pub(crate) fn folder() -> TempDir {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| sweep(&std::env::temp_dir()));
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{}-", std::process::id()))
        .tempdir()
        .expect("a folder")
}

fn sweep(place: &Path) {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries {
        let owner = owner_of(&entry.file_name().to_string_lossy());
        if owner.is_some_and(|pid| !lives(pid)) {
            // Another process may be sweeping, too.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn owner_of(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

fn lives(pid: u32) -> bool {
    let asked = Command::new("kill")
        .args(["-0", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
    // Who cannot ask removes nothing.
    asked.map_or(true, |status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_of_processes_that_ended_are_swept_up_and_no_others() {
        let place = tempfile::tempdir().expect("a folder");
        let mut ended = Command::new("true").spawn().expect("a process");
        ended.wait().expect("its end");
        let make = |name: String| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            path
        };
        let left = make(format!("{PREFIX}{}-abc", ended.id()));
        let ours = make(format!("{PREFIX}{}-abc", std::process::id()));
        let foreign = make("coalesce-rig-notes".to_owned());
        sweep(place.path());
        let there = [left, ours, foreign].map(|path| path.exists());
        assert_eq!(there, [false, true, true]);
    }
}
