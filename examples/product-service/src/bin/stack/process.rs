//! Child processes: each with a log of its own, and ended with the value that stands for it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to end before it is killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// The variables that a child shares with whoever calls this: where programs and files are, and what a panic shows.
const INHERITED: [&str; 6] = [
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "RUST_BACKTRACE",
];

/// What to start, and how it is ended.
pub struct Program {
    name: String,
    command: Vec<String>,
    environment: Vec<(String, String)>,
    folder: Option<PathBuf>,
    /// The signal at which it ends soon and leaves nothing behind.
    end: Signal,
    /// Another user to run as.
    user: Option<&'static str>,
}

impl Program {
    pub fn new(name: impl Into<String>, program: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            command: vec![program.into()],
            environment: Vec::new(),
            folder: None,
            end: Signal::TERM,
            user: None,
        }
    }

    pub fn arguments<T: Into<String>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.command.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub fn variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.environment.push((name.to_owned(), value.into()));
        self
    }

    pub fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub const fn ended_by(mut self, signal: Signal) -> Self {
        self.end = signal;
        self
    }

    pub const fn by_user(mut self, user: Option<&'static str>) -> Self {
        self.user = user;
        self
    }

    /// Runs it to its end, which has to be a good one.
    pub fn run(&self) -> Result<String> {
        let output = self
            .command()
            .output()
            .with_context(|| self.cannot_start())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("{} failed ({}):\n{said}{why}", self.name, output.status);
        }
        Ok(said)
    }

    /// Starts it. What it says goes to a file in `logs`.
    ///
    /// Called from the main thread alone: where `setpriv` ends the process with us, it is the end of the
    /// thread that started it which counts.
    pub fn start(&self, logs: &Path) -> Result<Process> {
        let log = logs.join(format!("{}.log", self.name));
        let file = File::options().create(true).append(true).open(&log)?;
        let child = self
            .command()
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            // Ctrl-C is for us: who is ended when, is decided here.
            .process_group(0)
            .spawn()
            .with_context(|| self.cannot_start())?;
        Ok(Process {
            name: self.name.clone(),
            child,
            log,
            end: self.end,
        })
    }

    fn command(&self) -> Command {
        let mut words = Vec::new();
        if let Some(setpriv) = find("setpriv") {
            words.push(setpriv.display().to_string());
            words.push("--pdeathsig".to_owned());
            words.push(name_of(self.end).to_owned());
            if let Some(user) = self.user {
                words.push(format!("--reuid={user}"));
                words.push(format!("--regid={user}"));
                words.push("--clear-groups".to_owned());
            }
        }
        words.extend(self.command.iter().cloned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // A setting of whoever calls this must not change what it shows: `RATE_LIMIT`, `PGPORT`, `COALESCE_DISABLED`.
        command
            .env_clear()
            .envs(INHERITED.iter().filter_map(|name| {
                let value = std::env::var_os(name)?;
                Some((name, value))
            }));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn cannot_start(&self) -> String {
        format!("{} cannot be started: {}", self.name, self.command[0])
    }
}

/// A running program. Dropping it ends the process.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    end: Signal,
}

impl Process {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Ends it at once, as a crash would.
    pub fn kill(&mut self) {
        // Either may fail only because it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end.
    pub fn ask_to_end(&mut self) {
        self.tell(self.end);
    }

    /// Sends it a signal, if it is still there.
    pub fn tell(&mut self, signal: Signal) {
        // The number of a process that was waited for may be another's.
        if self.has_ended().is_none() {
            let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
            let _ = pid.map(|pid| kill_process(pid, signal));
        }
    }

    /// Waits for the end that was asked for.
    pub async fn ended(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if let Some(status) = self.has_ended() {
                return Some(status);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    /// Waits until `is_up` says so. A process that ends meanwhile, or takes too long, is an error with
    /// the last lines of its log.
    pub async fn comes_up(&mut self, is_up: impl AsyncFn() -> bool) -> Result<()> {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(status) = self.has_ended() {
                bail!(
                    "{} ended at its start ({status}):\n{}",
                    self.name,
                    self.tail()
                );
            }
            if is_up().await {
                return Ok(());
            }
            if Instant::now() > until {
                bail!("{} does not answer:\n{}", self.name, self.tail());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The same, until a GET of `url` is answered by 200.
    pub async fn answers_at(&mut self, http: &reqwest::Client, url: &str) -> Result<()> {
        let asked = async || http.get(url).send().await;
        self.comes_up(async || asked().await.is_ok_and(|answer| answer.status() == 200))
            .await
    }

    /// The last lines of what it said.
    pub fn tail(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.ask_to_end();
        let until = Instant::now() + PATIENCE;
        while self.has_ended().is_none() {
            if Instant::now() > until {
                return self.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Where a program is: on the PATH, or where Debian puts those of administrators.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Where a program is that has to be there.
pub fn need(program: &str) -> Result<String> {
    let found = find(program).with_context(|| {
        format!("{program} is not installed: run `bash examples/product-service/install.sh`")
    })?;
    Ok(found.display().to_string())
}

/// A port of loopback on which nobody listens.
///
/// Below those that the system hands out to clients: one of them, while it connects in vain to a server
/// that is gone, would get that very port and keep the server from coming back.
pub fn free_port() -> io::Result<u16> {
    // Handed out is not yet taken: a server needs a while until it listens.
    static HANDED_OUT: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut last = io::Error::other("no free port");
    for _ in 0..100 {
        let port = fastrand::u16(12_000..32_000);
        let mut handed_out = HANDED_OUT.lock().unwrap_or_else(PoisonError::into_inner);
        if !handed_out.insert(port) {
            continue;
        }
        match std::net::TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn name_of(signal: Signal) -> &'static str {
    match signal {
        Signal::KILL => "KILL",
        Signal::INT => "INT",
        Signal::QUIT => "QUIT",
        _ => "TERM",
    }
}
