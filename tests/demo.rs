//! The demo, held to its figures: counts exactly, times with slack for a busy machine.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// What a run with coalescing must show.
struct Promise {
    executions: u64,
    answered: u64,
    errors: u64,
    state_writes: u64,
    takeovers: u64,
    most_commands: u64,
    longest_wait_ms: u64,
}

const SHARED: Promise = Promise {
    executions: 1,
    answered: 600,
    errors: 0,
    state_writes: 1,
    takeovers: 0,
    most_commands: 80,
    longest_wait_ms: 200 + 5 * 100,
};

#[test]
fn twelve_pods_share_one_execution() {
    let run = json(&demo(&[]));
    expect(&run["coalesced"], "redis", &SHARED);
    expect_baseline(&run["baseline"], "redis", 0);
}

#[test]
fn five_keys_are_five_executions() {
    let run = json(&demo(&["--keys", "5"]));
    let promise = Promise {
        executions: 5,
        state_writes: 5,
        most_commands: 5 * 80,
        ..SHARED
    };
    expect(&run["coalesced"], "redis", &promise);
}

#[test]
fn one_failure_reaches_every_caller() {
    let run = json(&demo(&["--fail"]));
    let promise = Promise {
        errors: 600,
        longest_wait_ms: 200 + 5 * 150,
        ..SHARED
    };
    expect(&run["coalesced"], "redis", &promise);
    expect_baseline(&run["baseline"], "redis", 600);
}

#[test]
fn a_killed_leader_is_replaced_once() {
    let run = json(&demo(&["--kill"]));
    let lease_and_a_second_ms = 4_000;
    let promise = Promise {
        executions: 2,
        answered: 550,
        takeovers: 1,
        // Followers poll until the lease ends.
        most_commands: 200,
        longest_wait_ms: 100 + lease_and_a_second_ms + 200 + 5 * 100,
        ..SHARED
    };
    expect(&run["coalesced"], "redis", &promise);
    assert_eq!(run["baseline"]["answered"], 550);
}

#[test]
fn without_a_redis_pods_are_simulated_and_the_first_line_says_so() {
    let _turn = turn();
    let output = command(&["--json"]).env("PATH", "").output().unwrap();
    let run = json(&output);
    expect(&run["coalesced"], "memory", &SHARED);
    expect_baseline(&run["baseline"], "memory", 0);
    assert_eq!(run["coalesced"]["redis_commands"], 0);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("Backend: memory"), "{said}");
}

#[test]
fn memory_can_be_asked_for() {
    let run = json(&demo(&["--memory", "--fail", "--keys", "3"]));
    let promise = Promise {
        executions: 3,
        errors: 600,
        state_writes: 3,
        ..SHARED
    };
    expect(&run["coalesced"], "memory", &promise);
}

#[test]
fn a_given_redis_is_used_with_its_password() {
    let redis = Redis::start("p@ss:w/rd %");
    let _turn = turn();
    let url = format!("redis://:p%40ss%3Aw%2Frd%20%25@127.0.0.1:{}", redis.port);
    let output = command(&["--json"])
        .env("COALESCE_REDIS_URL", url)
        .output()
        .unwrap();
    expect(&json(&output)["coalesced"], "redis", &SHARED);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("COALESCE_REDIS_URL") && !said.contains("p%40ss"));
}

#[test]
fn people_get_the_backend_and_a_table() {
    let _turn = turn();
    let output = command(&["--pods", "2", "--callers", "3"])
        .output()
        .unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("Backend: redis"), "{said}");
    let row = |name: &str| {
        let line = said.lines().find(|line| line.contains(name)).unwrap();
        let cells: Vec<_> = line.split(['│', '┆']).map(str::trim).collect();
        (cells[2].to_owned(), cells[3].to_owned())
    };
    assert_eq!(row("executions"), ("6".to_owned(), "1".to_owned()));
    let all = "6 of 6".to_owned();
    assert_eq!(row("callers answered"), (all.clone(), all));
}

#[test]
fn what_would_show_nothing_is_refused_in_a_sentence() {
    for (arguments, sentence) in [
        (&["--kill", "--pods", "1"][..], "needs a pod that survives"),
        (&["--fail", "--body-ms", "5"], "--body-ms 100 or more"),
        (&["--kill", "--memory"], "cannot be used with"),
        (&["--pods", "0"], "0 is not in 1..=200"),
    ] {
        let output = command(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(sentence), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_no_server_behind() {
    let _turn = turn();
    let mut demo = command(&["--pods", "2", "--body-ms", "10000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut stdout = BufReader::new(demo.stdout.take().unwrap());
    stdout.read_line(&mut said).unwrap();
    let port = said.split_once("127.0.0.1:").unwrap().1;
    let port: u16 = port.split(')').next().unwrap().parse().unwrap();
    assert!(is_open(port));
    let told = Command::new("kill").arg(demo.id().to_string()).status();
    assert!(told.unwrap().success());
    assert_eq!(demo.wait().unwrap().code(), Some(130));
    // Its pods have this pipe, too: it ends when the last of them has gone.
    stdout.read_to_string(&mut said).unwrap();
    assert!(!is_open(port));
}

/// The figures of a run with coalescing.
fn expect(run: &Value, backend: &str, promise: &Promise) {
    let shown = serde_json::to_string_pretty(run).unwrap();
    assert_eq!(run["backend"], backend);
    assert_eq!((&run["pods"], &run["callers"]), (&12.into(), &600.into()));
    assert_eq!(run["executions"], promise.executions, "{shown}");
    assert_eq!(run["answered"], promise.answered, "{shown}");
    assert_eq!(run["errors"], promise.errors, "{shown}");
    assert_eq!(run["wrong_values"], 0, "{shown}");
    assert_eq!(run["state_writes"], promise.state_writes, "{shown}");
    assert_eq!(run["takeovers"], promise.takeovers, "{shown}");
    let number = |name: &str| run[name].as_u64().unwrap();
    assert!(number("redis_commands") <= promise.most_commands, "{shown}");
    assert!(number("wait_max_ms") <= promise.longest_wait_ms, "{shown}");
    assert!(number("wait_p50_ms") >= 190, "{shown}");
    let waits = ["wait_p50_ms", "wait_p99_ms", "wait_max_ms"].map(number);
    assert!(waits.is_sorted(), "{shown}");
}

/// Without coalescing every caller runs the body, and Redis hears nothing.
fn expect_baseline(run: &Value, backend: &str, errors: u64) {
    assert_eq!(run["backend"], backend);
    assert_eq!(run["executions"], 600);
    assert_eq!(run["answered"], 600);
    assert_eq!(run["errors"], errors);
    assert_eq!(run["wrong_values"], 0);
    assert_eq!(run["state_writes"], 0);
    assert_eq!(run["redis_commands"], 0);
}

/// The demo with `--json`, alone on the machine.
fn demo(arguments: &[&str]) -> Output {
    let _turn = turn();
    command(arguments).arg("--json").output().unwrap()
}

/// One demo at a time: two of them would measure each other.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(arguments)
        .env_remove("COALESCE_REDIS_URL")
        .env_remove("COALESCE_DISABLED");
    command
}

/// Cargo builds the examples with the tests, and puts them beside.
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let binary = profile.join("examples").join("stampede");
    let binary = binary.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        binary.exists(),
        "{} is not there: `cargo test` builds it, `cargo test --test demo` alone does not",
        binary.display()
    );
    binary
}

/// The one JSON object on stdout of a demo that kept its promises.
fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// A server with a password, stopped when dropped.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    fn start(password: &str) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let start = |program: &str| {
            Command::new(program)
                .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
                .args(["--save", "", "--requirepass", password])
                .stdout(Stdio::null())
                .spawn()
        };
        let child = start("redis-server")
            .or_else(|_| start("valkey-server"))
            .expect("this test starts a server of its own: install redis-server or valkey-server");
        let redis = Self { child, port };
        for _ in 0..500 {
            if is_open(port) {
                return redis;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not answer on port {port}");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
