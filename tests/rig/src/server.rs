//! A private Redis server on a free loopback port.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::folder::folder;
use crate::process::{Process, free_port, words};
use crate::resp::{Connection, Value};

/// A running server. Dropping it kills the process and removes its folder.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    port: u16,
    folder: TempDir,
    /// What it is told at every start.
    line: Line,
}

#[derive(Clone, Debug)]
enum Line {
    /// Further options of a server that holds data.
    Server(Vec<String>),
    /// The configuration of a sentinel, which needs a file that it can write to. Its first lines are added.
    Sentinel(String),
}

impl RedisServer {
    /// Starts a server with default settings and no persistence.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further options, such as `["--maxmemory", "3mb"]`.
    pub fn start_with(options: &[&str]) -> Self {
        Self::launch(|| Line::Server(options.iter().map(|&option| option.to_owned()).collect()))
    }

    /// Starts a server on this port, which must be free: one that appears late, or comes back.
    pub fn start_at(port: u16) -> Self {
        let mut server = Self::spawn(port, Line::Server(Vec::new()));
        assert!(server.comes_up(), "no redis server came up on port {port}");
        server
    }

    /// Starts a node of a cluster, which knows nobody yet.
    pub fn start_node() -> Self {
        Self::launch(|| {
            // The default would be its port and 10,000.
            let bus = free_port().to_string();
            let cluster = ["--cluster-enabled", "yes", "--cluster-port", &bus];
            let times = ["--cluster-node-timeout", "2000"];
            let sync = ["--repl-diskless-sync-delay", "0"];
            let options = [&cluster[..], &times, &sync].concat();
            Line::Server(options.into_iter().map(str::to_owned).collect())
        })
    }

    /// Starts a sentinel with this configuration.
    pub(crate) fn start_sentinel(configuration: &str) -> Self {
        Self::launch(|| Line::Sentinel(configuration.to_owned()))
    }

    fn launch(line: impl Fn() -> Line) -> Self {
        // The port that was free a moment ago may be taken by the time the server binds it.
        for _ in 0..5 {
            let mut server = Self::spawn(free_port(), line());
            if server.comes_up() {
                return server;
            }
        }
        panic!("no redis server came up in five attempts");
    }

    fn spawn(port: u16, line: Line) -> Self {
        let folder = folder();
        if let Line::Sentinel(configuration) = &line {
            let head = format!(
                "port {port}\nbind 127.0.0.1\ndir {}\n",
                folder.path().display()
            );
            std::fs::write(folder.path().join("sentinel.conf"), head + configuration)
                .expect("a configuration");
        }
        Self {
            process: line.spawn(port, &folder),
            port,
            folder,
            line,
        }
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

    /// The same, with the reply as one reads it: see [`Value::bytes`].
    pub fn ask(&self, words: &[&str]) -> String {
        String::from_utf8_lossy(&self.command(words).bytes()).into_owned()
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

    /// How often one command has been executed, since the last reset.
    pub fn calls(&self, command: &str) -> u64 {
        self.command_stats().get(command).copied().unwrap_or(0)
    }

    /// How many errors with this code it has answered with, since the last reset.
    pub fn errors(&self, code: &str) -> u64 {
        let count = self.info("errorstats", &format!("errorstat_{code}"));
        let count = count.as_deref().and_then(|it| it.strip_prefix("count="));
        count.map_or(0, |digits| digits.parse().expect("a number"))
    }

    /// How many connections it has taken since the last reset, the one that asks included.
    pub fn connections_taken(&self) -> u64 {
        let taken = self.info("stats", "total_connections_received");
        taken.map_or(0, |digits| digits.parse().expect("a number"))
    }

    /// How many clients are connected, but for the one that asks and for other servers.
    pub fn clients(&self) -> usize {
        let of_type = |kind| self.ask(&["CLIENT", "LIST", "TYPE", kind]).lines().count();
        of_type("normal") + of_type("pubsub") - 1
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

    /// A number that a section of INFO holds, if it does.
    pub fn info(&self, section: &str, field: &str) -> Option<String> {
        let report = self.command(&["INFO", section]).text();
        let value = |line: &str| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned());
        report.lines().find_map(value)
    }

    /// Stops the process where it stands; `go_on` lets it run again.
    pub fn freeze(&self) {
        self.process.freeze();
    }

    /// Lets a frozen process go on.
    pub fn go_on(&self) {
        self.process.go_on();
    }

    /// Kills the process. Nothing is left of its data.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts a killed server again on the same port, empty.
    pub fn restart(&mut self) {
        self.process = self.line.spawn(self.port, &self.folder);
        assert!(self.comes_up(), "the private server did not come up again");
    }

    /// The same on another port, as a machine comes back that has been given another address.
    pub fn restart_elsewhere(&mut self) {
        self.port = free_port();
        self.restart();
    }

    /// Whether it has been neither killed nor frozen.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// Whether it answers, within ten seconds and unless it has ended.
    ///
    /// It, and not another server that was given the same free port and was faster.
    fn comes_up(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        let itself = format!("process_id:{}\r", self.process.id());
        while Instant::now() < end && !self.process.has_ended() {
            let answer = Connection::open(self.port).and_then(|mut connection| {
                let pong = connection.command(&["PING"])?;
                let about = connection.command(&["INFO", "server"])?;
                Ok(pong == Value::Text(b"PONG".to_vec()) && about.text().contains(&itself))
            });
            if answer.unwrap_or(false) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Line {
    fn spawn(&self, port: u16, folder: &TempDir) -> Process {
        let place = folder.path().as_os_str().to_owned();
        let arguments = match self {
            Self::Server(options) => {
                let port = port.to_string();
                let mut line = words(&["--port", &port, "--bind", "127.0.0.1"]);
                line.extend(words(&["--save", "", "--appendonly", "no"]));
                line.extend(words(&["--enable-debug-command", "yes", "--dir"]));
                line.push(place);
                line.extend(options.iter().map(Into::into));
                line
            }
            Self::Sentinel(_) => {
                let file = folder.path().join("sentinel.conf");
                vec![file.into(), "--sentinel".into()]
            }
        };
        Process::spawn(&arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_whose_port_another_has_is_not_taken_for_that_one() {
        let first = RedisServer::start();
        let mut second = RedisServer::spawn(first.port, Line::Server(Vec::new()));
        assert!(!second.comes_up());
        assert_eq!(first.command(&["PING"]), Value::Text(b"PONG".to_vec()));
    }
}
