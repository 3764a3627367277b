//! How a stack ends: by Ctrl-C, by a server that cannot start, and by being killed itself.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, and so does what it is built with"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A stack that is up. Dropped by a test that fails, it ends as well.
struct Up {
    child: Child,
    /// Everything that it has started, and what these have started.
    servers: BTreeSet<u32>,
}

impl Up {
    fn new() -> Self {
        let child = stack(&["up"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut this = Self {
            child,
            servers: BTreeSet::new(),
        };
        let said = BufReader::new(this.child.stdout.take().unwrap());
        let up = said
            .lines()
            .map_while(Result::ok)
            .any(|line| line.starts_with("Ctrl-C"));
        assert!(up, "it did not come up");
        this.servers = below(this.child.id());
        // Redis, PostgreSQL, three replicas, nginx, Prometheus, and the processes of the second and the last but one.
        assert!(this.servers.len() > 7, "{} processes", this.servers.len());
        assert!(folder_of(this.child.id()).is_some());
        this
    }

    fn end(mut self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
        self.child.wait().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while self.servers.iter().any(|&pid| lives(pid)) {
            assert!(Instant::now() < end, "{:?} live", self.servers);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It takes its servers with it. Either may fail only because it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ctrl_c_ends_every_server_and_leaves_no_folder() {
    let up = Up::new();
    let pid = up.child.id();
    up.end(Signal::INT);
    assert_eq!(folder_of(pid), None);
}

#[test]
fn servers_end_with_a_stack_that_is_killed_and_the_next_one_sweeps_up() {
    let up = Up::new();
    let pid = up.child.id();
    up.end(Signal::KILL);
    let next = refused();
    assert!(!next.status.success());
    assert_eq!(folder_of(pid), None);
}

#[test]
fn a_replica_that_cannot_start_ends_the_others_and_its_log_is_shown() {
    let output = refused();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    // They start at the same time, and any of them may be the first to end.
    assert!(said.contains("stack: replica-"), "{said}");
    assert!(said.contains(" ended at its start"), "{said}");
    assert!(said.contains("FRESH_TTL"), "{said}");
    assert!(output.stdout.is_empty());
}

/// A stack whose replicas do not understand what they are told.
fn refused() -> Output {
    let child = stack(&["up", "--set", "FRESH_TTL=soon"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    // Whoever reads the environment of a process sees the folder of its stack.
    assert_eq!(folder_of(pid), None);
    assert_eq!(of_folder(pid), Vec::<PathBuf>::new());
    output
}

fn stack(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stack"));
    command.args(arguments);
    command
}

fn folder_of(pid: u32) -> Option<PathBuf> {
    let prefix = format!("product-service-stack-{pid}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with(&prefix)
    })
}

/// The processes whose command line names the folder of this stack.
fn of_folder(pid: u32) -> Vec<PathBuf> {
    let name = format!("product-service-stack-{pid}-");
    let names_it = |path: &PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&name)
    };
    processes().filter(names_it).collect()
}

/// Every process below this one.
fn below(pid: u32) -> BTreeSet<u32> {
    let parents: Vec<_> = processes()
        .filter_map(|path| parent_and_state(&path))
        .collect();
    let mut all = BTreeSet::new();
    let mut grown = true;
    while grown {
        let above = |parent: &u32| *parent == pid || all.contains(parent);
        let found: Vec<_> = parents
            .iter()
            .filter(|(_, parent, _)| above(parent))
            .map(|(child, ..)| *child)
            .collect();
        let before = all.len();
        all.extend(found);
        grown = all.len() > before;
    }
    all
}

/// One that has ended may still wait to be asked for its status, which its new parent may never do.
fn lives(pid: u32) -> bool {
    parent_and_state(Path::new(&format!("/proc/{pid}"))).is_some_and(|(_, _, state)| state != 'Z')
}

fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let is_number = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_string_lossy()
            .parse::<u32>()
            .is_ok()
    };
    entries.map(|entry| entry.path()).filter(is_number)
}

/// Its number, its parent's, and what it does.
fn parent_and_state(process: &Path) -> Option<(u32, u32, char)> {
    let pid = process.file_name()?.to_str()?.parse().ok()?;
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name before it may hold anything.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((pid, words.next()?.parse().ok()?, state))
}
