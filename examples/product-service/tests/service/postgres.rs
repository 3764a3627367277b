//! A private PostgreSQL on a free loopback port, shared by the tests that run at the same time.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What to do when there is no server to start.
const HOW_TO_INSTALL: &str = "there is no PostgreSQL: neither `initdb` and `postgres` on the PATH nor \
    /usr/lib/postgresql/*/bin. Install it (`apt-get install postgresql`, `dnf install postgresql-server`, \
    `brew install postgresql@17`), or run `bash tests/run.sh`, which does";

/// A running server. Dropping it ends the process and removes its folder.
pub(crate) struct Postgres {
    port: u16,
    databases: AtomicU32,
    /// Dropped to end the server.
    life: Option<mpsc::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Postgres {
    /// The server of the tests that run now. The last of them ends it.
    pub(crate) fn shared() -> Arc<Self> {
        static RUNNING: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        // A test that failed to start one is no reason for the next not to try.
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.upgrade().unwrap_or_else(|| {
            let started = Arc::new(Self::start());
            *running = Arc::downgrade(&started);
            started
        })
    }

    /// A server of a test's own.
    pub(crate) fn start() -> Self {
        let programs = programs();
        let user = user();
        let folder = folder(user);
        let data = folder.path().join("data");
        let made = as_user(user, &programs.join("initdb"))
            .args(["--auth=trust", "--username=postgres", "--no-sync", "-D"])
            .arg(&data)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("initdb");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb: {said}");
        // The port that was free a moment ago may be taken by the time the server binds it.
        for _ in 0..5 {
            let port = free_port();
            let mut command = as_user(user, &programs.join("postgres"));
            command.arg("-D").arg(&data).arg("-k").arg(folder.path());
            command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
            for setting in ["fsync=off", "full_page_writes=off", "max_connections=200"] {
                command.args(["-c", setting]);
            }
            command.current_dir(folder.path());
            command.stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(Stdio::null());
            if let Some((life, keeper)) = keep(command, data.join("postmaster.pid")) {
                return Self {
                    port,
                    databases: AtomicU32::new(0),
                    life: Some(life),
                    keeper: Some(keeper),
                    _folder: folder,
                };
            }
        }
        panic!("no PostgreSQL came up in five attempts");
    }

    /// Its port on loopback.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a new and empty database.
    pub(crate) async fn new_database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut administrator = self.connection("postgres").await;
        let create = format!("CREATE DATABASE {name}");
        sqlx::query(&create)
            .execute(&mut administrator)
            .await
            .expect("a database");
        self.url(&name)
    }

    async fn connection(&self, database: &str) -> sqlx::PgConnection {
        use sqlx::Connection as _;
        let url = self.url(database);
        sqlx::PgConnection::connect(&url)
            .await
            .expect("a connection to the private server")
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.life.take());
        if let Some(keeper) = self.keeper.take() {
            // One that has panicked has nothing left to end.
            let _ = keeper.join();
        }
    }
}

/// Runs the server in a thread of its own: `setpriv` ends the server with the thread that started it, and
/// that of a test may be gone before its server.
fn keep(mut command: Command, state: PathBuf) -> Option<(mpsc::Sender<()>, JoinHandle<()>)> {
    let (life, ended) = mpsc::channel::<()>();
    let (came, comes) = mpsc::channel();
    let keeper = std::thread::spawn(move || {
        let mut server = Server(command.spawn().expect("a server process"));
        came.send(server.comes_up(&state)).expect("the test waits");
        // An error is what it waits for: the other end is gone.
        let _ = ended.recv();
    });
    match comes.recv() {
        Ok(true) => Some((life, keeper)),
        _ => None,
    }
}

struct Server(Child);

impl Server {
    /// It listens before it lets anybody in, so it is not asked: the eighth line of this file says how far it is.
    fn comes_up(&mut self, state: &Path) -> bool {
        let end = Instant::now() + Duration::from_secs(30);
        while Instant::now() < end && matches!(self.0.try_wait(), Ok(None)) {
            let written = fs::read_to_string(state).unwrap_or_default();
            if written
                .lines()
                .nth(7)
                .is_some_and(|line| line.trim() == "ready")
            {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An immediate end that takes its own children with it, which a kill would not.
        let pid = self.0.id().to_string();
        let _ = Command::new("kill").args(["-QUIT", &pid]).status();
        let _ = self.0.wait();
    }
}

/// Where `initdb` and `postgres` are.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let installed = installed.flatten().map(|entry| entry.path().join("bin"));
    let mut folders: Vec<_> = std::env::split_paths(&path).chain(installed).collect();
    folders.retain(|folder| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
    });
    folders.pop().unwrap_or_else(|| panic!("{HOW_TO_INSTALL}"))
}

/// PostgreSQL refuses to run as root, so root hands it to somebody else.
fn user() -> Option<&'static str> {
    if id(&["-u"]).expect("this user") != "0" {
        return None;
    }
    let user = USERS.into_iter().find(|name| id(&["-u", name]).is_some());
    Some(user.expect("a user other than root"))
}

/// Whom root may hand it to: its package's own user, or the one that every system has.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// What `id` says, if it knows the name.
fn id(arguments: &[&str]) -> Option<String> {
    let said = Command::new("id").args(arguments).output().expect("id");
    let number = String::from_utf8_lossy(&said.stdout).trim().to_owned();
    said.status.success().then_some(number)
}

#[test]
fn root_can_hand_the_server_to_each_of_the_users() {
    let users = match user() {
        None => vec![None],
        Some(_) => USERS
            .into_iter()
            .filter(|name| id(&["-u", name]).is_some())
            .map(Some)
            .collect(),
    };
    for user in users {
        let said = as_user(user, Path::new("id")).arg("-u").output().unwrap();
        let expected = id(&["-u"].into_iter().chain(user).collect::<Vec<_>>());
        let number = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        assert_eq!(Some(number), expected, "{user:?}: {said:?}");
    }
}

/// A command of this user, which ends when we do, where the system can do that.
fn as_user(user: Option<&str>, program: &Path) -> Command {
    let is_there = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    if !is_there("setpriv") {
        assert_eq!(
            user, None,
            "PostgreSQL does not run as root, and there is no setpriv"
        );
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    if let Some(user) = user {
        // Its group may have another name: `nogroup` is that of `nobody`.
        let group = id(&["-g", user]).expect("a group");
        command.args(["--reuid", user, "--regid", &group, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT"]).arg(program);
    command
}

/// A folder that belongs to this user.
fn folder(user: Option<&str>) -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("product-service-")
        .tempdir()
        .expect("a folder");
    if let Some(user) = user {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("rights");
        let given = Command::new("chown").arg(user).arg(folder.path()).status();
        assert!(given.is_ok_and(|status| status.success()), "chown");
    }
    folder
}

/// A port on which nobody listens, below those that the system hands out to clients.
fn free_port() -> u16 {
    std::iter::repeat_with(|| fastrand::u16(12_000..32_000))
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("a free port")
}
