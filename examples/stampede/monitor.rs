//! The monitor: counts, from outside of the library, what a run asks of Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use crate::wire::Failure;

const DEADLINE: Duration = Duration::from_secs(5);

/// What one run asked of Redis.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Commands that clients sent, by their names.
    pub commands: BTreeMap<String, u64>,
    /// `SET`s of a state, those inside of scripts included.
    pub state_writes: u64,
}

/// Watches the commands of one run.
pub struct Monitor {
    /// `MONITOR` leaves its connection to nothing else: the end is marked by way of this one.
    marker: Line,
    watch: JoinHandle<Result<Traffic, Failure>>,
    end: String,
}

impl Monitor {
    /// Watches from now on for commands that name keys or channels of `run`.
    ///
    /// So connection set-up, `PING`, script loading, the periodic look at the kill switch and other
    /// users of the server are left out: none of them names a key of the run.
    pub async fn start(url: &Url, run: &str) -> Result<Self, Failure> {
        let end = format!("{run}-end");
        let mut monitor = Line::open(url).await?;
        monitor.ask(&["MONITOR"]).await?;
        Ok(Self {
            marker: Line::open(url).await?,
            watch: tokio::spawn(watch(monitor, run.to_owned(), end.clone())),
            end,
        })
    }

    /// What has been seen until now.
    pub async fn stop(mut self) -> Result<Traffic, Failure> {
        self.marker.ask(&["ECHO", &self.end]).await?;
        timeout(DEADLINE, self.watch).await??
    }
}

async fn watch(mut monitor: Line, run: String, end: String) -> Result<Traffic, Failure> {
    let mut traffic = Traffic::default();
    loop {
        let line = monitor.line().await?;
        if line.contains(&end) {
            return Ok(traffic);
        }
        if line.contains(&run) {
            traffic.note(&line);
        }
    }
}

impl Traffic {
    /// Notes a line such as `+1700000000.123456 [0 127.0.0.1:40000] "GET" "…:state:{…}"`.
    fn note(&mut self, line: &str) {
        let Some((source, command)) = line.split_once("] \"") else {
            return;
        };
        let (name, arguments) = command.split_once('"').unwrap_or((command, ""));
        let name = name.to_ascii_uppercase();
        if name == "SET" && arguments.contains(":state:") {
            self.state_writes += 1;
        }
        if !source.ends_with(" lua") {
            *self.commands.entry(name).or_default() += 1;
        }
    }

    pub fn total(&self) -> u64 {
        self.commands.values().sum()
    }
}

/// A plain connection: few words, one after another. The library's client is what is being watched.
pub struct Line(BufReader<TcpStream>);

impl Line {
    /// Connects, signs in where the URL says so, and hears one answer.
    pub async fn open(url: &Url) -> Result<Self, Failure> {
        let host = url.host_str().ok_or("the URL names no host")?;
        let address = (host.trim_matches(['[', ']']), url.port().unwrap_or(6379));
        let stream = timeout(DEADLINE, TcpStream::connect(address)).await??;
        let mut line = Self(BufReader::new(stream));
        if let Some(password) = url.password() {
            let (user, password) = (decoded(url.username()), decoded(password));
            let user = if user.is_empty() { "default" } else { &user };
            line.ask(&["AUTH", user, &password]).await?;
        }
        line.ask(&["PING"]).await?;
        Ok(line)
    }

    async fn ask(&mut self, words: &[&str]) -> Result<(), Failure> {
        let words_of = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request = format!("*{}\r\n{}", words.len(), words_of.collect::<String>());
        self.0.write_all(request.as_bytes()).await?;
        let answer = timeout(DEADLINE, self.line()).await??;
        match answer.strip_prefix('-') {
            Some(refusal) => Err(refusal.trim().into()),
            None => Ok(()),
        }
    }

    async fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.0.read_line(&mut line).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(line)
    }
}

fn decoded(text: &str) -> String {
    // The query of a URL has the same escapes, and a decoder in the same crate.
    let pairs = format!("={}", text.replace('+', "%2B"));
    let mut decoded = url::form_urlencoded::parse(pairs.as_bytes());
    decoded
        .next()
        .map_or_else(String::new, |(_, value)| value.into_owned())
}
