//! The Redis of the demo: the one that is given, a private one for the time of the demo, or none.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};
use tokio::time::sleep;
use url::Url;

use crate::monitor::Line;
use crate::wire::Failure;

const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// How long a private server may take to answer.
const STARTED: Duration = Duration::from_secs(5);

/// How long it may take to be gone.
const STOPPED: Duration = Duration::from_secs(2);

pub struct Server {
    pub url: Url,
    /// What it is, for people.
    pub title: String,
    /// A private server, which ends with this value.
    child: Option<Child>,
}

impl Server {
    /// The server to use, if there is one.
    pub async fn find(directory: &Path) -> Result<Option<Self>, Failure> {
        match std::env::var("COALESCE_REDIS_URL") {
            Ok(url) if !url.trim().is_empty() => Self::given(url.trim()).await.map(Some),
            _ => Self::private(directory).await,
        }
    }

    async fn given(text: &str) -> Result<Self, Failure> {
        // The URL may hold a password: no message repeats it.
        let url = Url::parse(text).map_err(|_| "COALESCE_REDIS_URL is not a URL")?;
        if is_plain(&url) {
            let reached = Line::open(&url).await;
            reached.map_err(|error| format!("no Redis at COALESCE_REDIS_URL: {error}"))?;
        }
        let host = url.host_str().unwrap_or_default();
        Ok(Self {
            title: format!("the Redis of COALESCE_REDIS_URL on {host}"),
            url,
            child: None,
        })
    }

    async fn private(directory: &Path) -> Result<Option<Self>, Failure> {
        for program in PROGRAMS {
            // Somebody else may take the free port before the server does.
            for _ in 0..3 {
                match start(program, directory).await? {
                    Start::Runs(server) => return Ok(Some(*server)),
                    Start::NoSuchProgram => break,
                    Start::Ended => {}
                }
            }
        }
        Ok(None)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else {
            return;
        };
        // It has gone already if this fails.
        let _ = child.start_kill();
        // Nothing of the demo is left when the demo ends, whichever way it ends.
        let patience = Instant::now() + STOPPED;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether commands can be counted there: `MONITOR` shows those of one server, on a plain connection.
pub fn is_plain(url: &Url) -> bool {
    url.scheme() == "redis"
}

enum Start {
    Runs(Box<Server>),
    NoSuchProgram,
    Ended,
}

async fn start(program: &str, directory: &Path) -> Result<Start, Failure> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let spawned = Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = match spawned {
        Ok(child) => child,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Start::NoSuchProgram),
        Err(error) => return Err(format!("failed to start {program}: {error}").into()),
    };
    let server = Server {
        url: Url::parse(&format!("redis://127.0.0.1:{port}"))?,
        title: format!("a private {program} on 127.0.0.1:{port}"),
        child: Some(child),
    };
    wait_for(server).await
}

async fn wait_for(mut server: Server) -> Result<Start, Failure> {
    let patience = Instant::now() + STARTED;
    loop {
        if let Some(child) = &mut server.child
            && child.try_wait()?.is_some()
        {
            return Ok(Start::Ended);
        }
        match Line::open(&server.url).await {
            Ok(_) => return Ok(Start::Runs(Box::new(server))),
            Err(error) if Instant::now() > patience => {
                return Err(format!("{} does not answer: {error}", server.title).into());
            }
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}
