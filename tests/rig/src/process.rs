//! Server processes: private, on a port of their own, and ended with the value that stands for them.

use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to do when there is no server to start.
const HOW_TO_INSTALL: &str = "neither redis-server nor valkey-server is on the PATH: install one \
    (`apt-get install redis-server`, `dnf install valkey`, `brew install redis`), or run `bash tests/run.sh`, which does";

/// A running server program. Dropping it kills the process, frozen or not.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    frozen: AtomicBool,
    killed: bool,
}

impl Process {
    /// Starts the server program with these arguments.
    pub(crate) fn spawn(arguments: &[OsString]) -> Self {
        let child = command()
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server process");
        Self {
            child,
            frozen: AtomicBool::new(false),
            killed: false,
        }
    }

    /// Its number. `setpriv` becomes the server and keeps it.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is there and goes on, as far as we have anything to do with it.
    pub(crate) fn is_running(&self) -> bool {
        !self.killed && !self.frozen.load(Ordering::SeqCst)
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
        signal(self.child.id(), "STOP");
    }

    pub(crate) fn go_on(&self) {
        // The number of a process that has ended may be another's.
        if self.frozen.swap(false, Ordering::SeqCst) {
            signal(self.child.id(), "CONT");
        }
    }

    pub(crate) fn kill(&mut self) {
        self.go_on();
        self.killed = true;
        // Either may fail only because the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where it exists, `setpriv` ends the server with us even when we are killed.
fn command() -> Command {
    let program = ["redis-server", "valkey-server"]
        .into_iter()
        .find(|program| is_on_path(program));
    let program = program.unwrap_or_else(|| panic!("{HOW_TO_INSTALL}"));
    if is_on_path("setpriv") {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", program]);
        command
    } else {
        Command::new(program)
    }
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(pid.to_string())
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok(), "the command `kill` is missing");
}

/// A port on which nobody listens.
///
/// Below those that the system hands out to clients: one of them, while it connects in vain to a
/// killed server, would get that very port, speak with itself, and keep the server from coming back.
pub fn free_port() -> u16 {
    std::iter::repeat_with(|| fastrand::u16(12_000..32_000))
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("a free port")
}

/// Words of a command line.
pub(crate) fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
