//! A private Redis server on a free loopback port.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::resp::{Connection, Value};

/// What to do when there is no server to start.
const HOW_TO_INSTALL: &str = "neither redis-server nor valkey-server is on the PATH: install one \
    (`apt-get install redis-server`, `dnf install valkey`, `brew install redis`), or run `bash tests/run.sh`, which does";

/// A running server. Dropping it kills the process and removes its folder.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl RedisServer {
    /// Starts a server with default settings and no persistence.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further options, such as `["--maxmemory", "3mb"]`.
    pub fn start_with(options: &[&str]) -> Self {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        // The port that was free a moment ago may be taken by the time the server binds it.
        for _ in 0..5 {
            let port = free_port();
            let folder = tempfile::tempdir().expect("a folder for the server");
            let child = spawn(port, &folder, &options);
            let mut server = Self {
                child,
                port,
                folder,
                options: options.clone(),
            };
            if server.is_up() {
                return server;
            }
        }
        panic!("no redis server came up in five attempts");
    }

    /// The URL of its database 0.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Its port on loopback.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// A connection of the test's own.
    pub fn connection(&self) -> Connection {
        Connection::open(self.port).expect("a connection to the private server")
    }

    /// Asks one command on a new connection.
    pub fn command(&self, words: &[&str]) -> Value {
        self.connection()
            .command(words)
            .expect("a reply of the private server")
    }

    /// Forgets the statistics.
    pub fn reset_stats(&self) {
        self.command(&["CONFIG", "RESETSTAT"]);
    }

    /// How often each command has been executed, by clients and by scripts together, since the last
    /// reset; the test's own commands are left out.
    pub fn command_stats(&self) -> BTreeMap<String, u64> {
        let report = self.command(&["INFO", "commandstats"]).text();
        report
            .lines()
            .filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(":calls="))
            .map(|(name, rest)| {
                (
                    name.to_owned(),
                    rest.split(',').next().unwrap_or("0").parse().unwrap_or(0),
                )
            })
            .filter(|(name, _)| !["info", "config|resetstat"].contains(&name.as_str()))
            .collect()
    }

    /// Every key that never expires. There must be none but the kill switch, which is left out.
    pub fn immortal_keys(&self) -> Vec<String> {
        let mut connection = self.connection();
        let keys = connection.command(&["KEYS", "*"]).expect("keys").list();
        keys.iter()
            .map(Value::text)
            .filter(|key| !key.ends_with(":switch"))
            .filter(|key| {
                connection
                    .command(&["PTTL", key])
                    .expect("a time to live")
                    .number()
                    == -1
            })
            .collect()
    }

    /// How many channels have a subscriber.
    pub fn channels(&self) -> usize {
        self.command(&["PUBSUB", "CHANNELS"]).list().len()
    }

    /// Stops the process where it stands; `go_on` lets it run again.
    pub fn freeze(&self) {
        signal(self.child.id(), "STOP");
    }

    /// Lets a frozen process go on.
    pub fn go_on(&self) {
        signal(self.child.id(), "CONT");
    }

    /// Kills the process. Nothing is left of its data.
    pub fn kill(&mut self) {
        self.go_on();
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }

    /// Starts a killed server again on the same port, empty.
    pub fn restart(&mut self) {
        self.child = spawn(self.port, &self.folder, &self.options);
        assert!(self.is_up(), "the private server did not come up again");
    }

    /// Whether it answers, within ten seconds and unless it has ended.
    fn is_up(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && matches!(self.child.try_wait(), Ok(None)) {
            let answer = Connection::open(self.port)
                .and_then(|mut connection| connection.command(&["PING"]));
            if answer.is_ok_and(|answer| answer == Value::Text(b"PONG".to_vec())) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.go_on();
        // Either may fail only because the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its number").port()
}

fn spawn(port: u16, folder: &TempDir, options: &[String]) -> Child {
    let program = ["redis-server", "valkey-server"]
        .into_iter()
        .find(|program| is_on_path(program));
    let program = program.unwrap_or_else(|| panic!("{HOW_TO_INSTALL}"));
    // Where it exists, `setpriv` ends the server with us even when we are killed.
    let mut command = if is_on_path("setpriv") {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", program]);
        command
    } else {
        Command::new(program)
    };
    command
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        .args(["--enable-debug-command", "yes", "--dir"])
        .arg(folder.path())
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a server process")
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
