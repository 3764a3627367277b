//! A private server per test, a plain connection to ask it what happened, and what most tests need.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, Envelope, FinishAsk, Seen, ServerTime, Status, Token,
};
use coalesce_runtime::{Key, RedisCoordinator, RedisSettings};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(15);

static DIRECTORIES: AtomicU32 = AtomicU32::new(0);

/// A `redis-server` of this test alone. It dies with this value.
pub(crate) struct Server {
    pub(crate) port: u16,
    child: Child,
    directory: PathBuf,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_at(free_port(), &[])
    }

    pub(crate) fn start_at(port: u16, more: &[&str]) -> Self {
        let number = DIRECTORIES.fetch_add(1, Ordering::Relaxed);
        let name = format!("coalesce-redis-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--enable-debug-command", "yes", "--dir"])
            .arg(&directory)
            .args(more)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "redis-server cannot be started ({error}). These tests run against a real server: \
                     install one, for example with `apt-get install redis-server` or `brew install redis`"
                )
            });
        let server = Self {
            port,
            child,
            directory,
        };
        eventually("the server answers", || {
            Plain::open(port).is_some_and(|mut plain| plain.ask(&["PING"]) == "PONG")
        });
        server
    }

    /// The port on which nodes of a cluster talk to each other.
    pub(crate) fn bus(&self) -> u64 {
        self.ask(&["CONFIG", "GET", "cluster-port"])
            .lines()
            .last()
            .and_then(|port| port.parse().ok())
            .expect("a node of a cluster")
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn coordinator(&self) -> RedisCoordinator {
        RedisCoordinator::connect(self.settings()).await.unwrap()
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        RedisSettings::new(self.url())
    }

    pub(crate) fn plain(&self) -> Plain {
        Plain::open(self.port).expect("the server is there")
    }

    /// Asks one thing on a connection of its own.
    pub(crate) fn ask(&self, words: &[&str]) -> String {
        self.plain().ask(words)
    }

    /// One number of INFO.
    pub(crate) fn info(&self, section: &str, field: &str) -> u64 {
        let info = self.ask(&["INFO", section]);
        let line = info.lines().find_map(|line| line.strip_prefix(field));
        let digits: String = line
            .unwrap_or(":0")
            .trim_start_matches([':', '='])
            .trim_start_matches("calls=")
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap_or(0)
    }

    /// How often a command was called since the last CONFIG RESETSTAT.
    pub(crate) fn calls(&self, command: &str) -> u64 {
        self.info("commandstats", &format!("cmdstat_{command}"))
    }

    /// Stops the process as a machine that hangs would.
    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A frozen process does not die.
        self.thaw();
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.directory).ok();
    }
}

/// A port that nobody has, below those that the system gives to whoever asks for any: a server that comes back finds
/// it as free as it was, and not taken by a connection, its own client's attempt to reach it included.
pub(crate) fn free_port() -> u16 {
    let tries = std::iter::repeat_with(|| fastrand::u16(10_000..32_000));
    let mut free = tries.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().unwrap()
}

/// A connection that speaks the old protocol, for questions that are not under test.
pub(crate) struct Plain(BufReader<TcpStream>);

impl Plain {
    pub(crate) fn open(port: u16) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Some(Self(BufReader::new(stream)))
    }

    /// The answer as text: an error with its `-`, the parts of a list in lines, `nil` for nothing.
    pub(crate) fn ask(&mut self, words: &[&str]) -> String {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        String::from_utf8_lossy(&self.ask_raw(&words)).into_owned()
    }

    pub(crate) fn ask_raw(&mut self, words: &[&[u8]]) -> Vec<u8> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request).ok();
        self.answer()
    }

    fn answer(&mut self) -> Vec<u8> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok();
        let (kind, rest) = line.trim_end().split_at(line.len().min(1));
        match (kind, rest.parse::<i64>()) {
            ("$" | "*", Ok(-1)) => b"nil".to_vec(),
            ("$", Ok(length)) => {
                let mut bytes = vec![0; usize::try_from(length).unwrap() + 2];
                self.0.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                bytes
            }
            ("*", Ok(parts)) => (0..parts)
                .map(|_| self.answer())
                .collect::<Vec<_>>()
                .join(&b'\n'),
            ("-", _) => line.trim_end().as_bytes().to_vec(),
            _ => rest.as_bytes().to_vec(),
        }
    }
}

/// Waits until something holds. There is a limit, and reaching it is a failure.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        std::thread::sleep(5 * MS);
    }
}

/// The same where tasks have to run in the meantime.
pub(crate) async fn soon(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < PATIENCE, "in vain: {what}");
        tokio::time::sleep(5 * MS).await;
    }
    started.elapsed()
}

pub(crate) fn key(number: u32) -> Key {
    Key::new("shop::get_order", &[&number])
}

pub(crate) fn lock(number: u32) -> String {
    format!("coalesce:lock:{{shop::get_order:{number}}}")
}

pub(crate) fn state(number: u32) -> String {
    format!("coalesce:state:{{shop::get_order:{number}}}")
}

pub(crate) fn token(byte: u8) -> Token {
    Token::from_bytes([byte; 16])
}

pub(crate) fn begin(token: Token) -> BeginAsk {
    BeginAsk {
        token,
        lease: 3 * SECOND,
        seen: Some(Seen::NOTHING),
        following: None,
        trace: None,
    }
}

pub(crate) fn envelope(status: Status, token: Token, payload: &[u8]) -> Envelope {
    Envelope::new(status, 1, token, 20 * MS, payload.to_vec().into())
}

pub(crate) fn finish(envelope: Envelope) -> FinishAsk {
    FinishAsk {
        envelope,
        ended_ago: Duration::ZERO,
        life: 60 * SECOND,
        seen: Seen::NOTHING,
        retake_until: ServerTime::default(),
        began: None,
        spare_value: None,
    }
}

pub(crate) const LEAD: BeginAnswer = BeginAnswer::Lead {
    seen: Seen::NOTHING,
};
