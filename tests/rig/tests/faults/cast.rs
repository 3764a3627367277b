//! The cast of a scene: its pods, and what they call.

use std::process::Stdio;
use std::time::Duration;

use coalesce_rig::{Burst, Ledger, Pod, Site};

pub(crate) const POD: &str = env!("CARGO_BIN_EXE_pod");

/// Pods of scenes give up a subscription a second behind its last listener, so that each scene can see all of them go.
/// Those of a chaos take the default of ten.
pub(crate) const LINGER: (&str, &str) = ("RIG_LINGER", "1000");

/// A pod of a scene.
pub(crate) fn pod(url: &str, ledger: &Ledger) -> Pod {
    Pod::start(POD, url, ledger, &[LINGER])
}

/// So many of them.
pub(crate) fn fleet(count: usize, url: &str, ledger: &Ledger) -> Vec<Pod> {
    (0..count).map(|_| pod(url, ledger)).collect()
}

/// A pod that logs into this file.
pub(crate) fn logged_pod(url: &str, ledger: &Ledger, log: &std::path::Path) -> Pod {
    let log = std::fs::File::create(log).expect("a log");
    Pod::start_with_log(POD, url, ledger, &[LINGER], Stdio::from(log))
}

/// Calls of a few keys, back to back, for so long: a run of each is going on at nearly every moment.
pub(crate) fn load(lasts: Duration) -> Burst {
    Burst {
        keys: ["x", "y", "z"].map(str::to_owned).to_vec(),
        lasts_ms: Some(u64::try_from(lasts.as_millis()).expect("a short load")),
        body_ms: 20,
        ..Burst::of(Site::InFlight, 6)
    }
}

/// Lets time pass while a load is on: the fault takes that long, nothing is waited for.
pub(crate) fn meanwhile(span: Duration) {
    std::thread::sleep(span);
}
