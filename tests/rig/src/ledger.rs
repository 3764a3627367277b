//! The ledger: what bodies did, written by them to a file outside Redis and read by the test.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::folder::folder;

/// One line of the ledger.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    run: String,
    key: String,
    at: u64,
    starts: bool,
}

/// What else a line may be: a process stood still.
#[derive(Debug, Serialize, Deserialize)]
struct Standstill {
    pid: u32,
    from: u64,
    to: u64,
}

/// And another: a question of a process to Redis had no usable answer.
#[derive(Debug, Serialize, Deserialize)]
struct InVain {
    pid: u32,
    in_vain: u64,
}

/// And one more: what is unusual about a run, said by its own process.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    noted: String,
    note: Note,
}

/// And the last: some callers of a process went away.
#[derive(Debug, Serialize, Deserialize)]
struct Departure {
    pid: u32,
    departed: u64,
    until: u64,
}

/// What may be unusual about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Note {
    /// Its call went past the coordinator, which the kill switch had turned off.
    PastSwitch,
    /// Its call came when its process was ending.
    PastEnd,
    /// It panicked.
    Panicked,
    /// It was dropped with its caller.
    Dropped,
}

/// One execution of a body.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name, unique among all pods.
    pub name: String,
    /// The key it was for.
    pub key: String,
    /// When it started, in microseconds since the Unix epoch.
    pub started: u64,
    /// When it ended, unless its process was killed before.
    pub ended: Option<u64>,
    /// What is unusual about it.
    pub notes: Vec<Note>,
}

impl Run {
    /// Whether its call went past the coordinator, and it was nobody's but its caller's.
    pub fn is_bypass(&self) -> bool {
        self.has(Note::PastSwitch) || self.has(Note::PastEnd)
    }

    pub(crate) fn has(&self, note: Note) -> bool {
        self.notes.contains(&note)
    }
}

/// A ledger, seen from the test.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    _folder: TempDir,
}

impl Default for Ledger {
    fn default() -> Self {
        let folder = folder();
        let path = folder.path().join("ledger.jsonl");
        File::create(&path).expect("a ledger");
        Self {
            path,
            _folder: folder,
        }
    }
}

impl Ledger {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every run, in the order of their starts.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = BTreeMap::new();
        for line in self.lines::<Line>() {
            if line.starts {
                let run = Run {
                    name: line.run.clone(),
                    key: line.key,
                    started: line.at,
                    ended: None,
                    notes: Vec::new(),
                };
                runs.insert(line.run, run);
            } else if let Some(run) = runs.get_mut(&line.run) {
                run.ended = Some(line.at);
            }
        }
        for Noted { noted, note } in self.lines() {
            if let Some(run) = runs.get_mut(&noted) {
                run.notes.push(note);
            }
        }
        let mut runs: Vec<_> = runs.into_values().collect();
        runs.sort_by_key(|run| run.started);
        runs
    }

    /// When processes stood still, by their own account.
    pub fn standstills(&self) -> Vec<(u32, RangeInclusive<u64>)> {
        let stood = |Standstill { pid, from, to }| (pid, from..=to);
        self.lines().into_iter().map(stood).collect()
    }

    /// When processes asked Redis in vain, by their own account.
    pub fn in_vain(&self) -> Vec<(u32, u64)> {
        let asked = |InVain { pid, in_vain }| (pid, in_vain);
        self.lines().into_iter().map(asked).collect()
    }

    /// When callers of processes went away, by their own account.
    pub fn departures(&self) -> Vec<(u32, RangeInclusive<u64>)> {
        let left = |it: Departure| (it.pid, it.departed..=it.until);
        self.lines().into_iter().map(left).collect()
    }

    /// The lines of one kind.
    fn lines<T: DeserializeOwned>(&self) -> Vec<T> {
        let text = std::fs::read_to_string(&self.path).expect("the ledger");
        let lines = text.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// The names of runs that have begun lately and not ended: whoever holds them leads now.
    pub fn going_on(&self) -> Vec<String> {
        const LATELY: u64 = 1 << 15;
        let mut file = File::open(&self.path).expect("the ledger");
        let length = file.metadata().expect("its length").len();
        let mut text = String::new();
        file.seek(SeekFrom::Start(length.saturating_sub(LATELY)))
            .and_then(|_| file.read_to_string(&mut text))
            .expect("the end of the ledger");
        let mut open = BTreeSet::new();
        // The first line may be the rest of one.
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok())
        {
            if line.starts {
                open.insert(line.run);
            } else {
                open.remove(&line.run);
            }
        }
        open.into_iter().collect()
    }

    /// The most runs of one key that overlapped in time.
    pub fn most_at_once(&self) -> usize {
        let runs = self.runs();
        let keys: BTreeSet<_> = runs.iter().map(|run| &run.key).collect();
        let at = |key: &String, moment: u64| {
            let overlaps = |run: &&Run| {
                run.key == *key && run.started <= moment && run.ended.is_none_or(|end| moment < end)
            };
            runs.iter().filter(overlaps).count()
        };
        keys.into_iter()
            .flat_map(|key| {
                runs.iter()
                    .filter(move |run| run.key == *key)
                    .map(move |run| (key, run.started))
            })
            .map(|(key, moment)| at(key, moment))
            .max()
            .unwrap_or(0)
    }

    /// Writes a line, from a pod.
    pub fn write(path: &Path, run: &str, key: &str, starts: bool) {
        let line = Line {
            run: run.to_owned(),
            key: key.to_owned(),
            at: now_micros(),
            starts,
        };
        append(path, &line);
    }

    /// Writes, from a pod, what is unusual about one of its runs.
    pub(crate) fn write_note(path: &Path, run: &str, note: Note) {
        let noted = run.to_owned();
        append(path, &Noted { noted, note });
    }

    /// Writes, from a pod, that some of its callers go away, from that moment until now.
    pub(crate) fn write_departure(path: &Path, departed: u64) {
        let (pid, until) = (std::process::id(), now_micros());
        append(
            path,
            &Departure {
                pid,
                departed,
                until,
            },
        );
    }

    /// Whether a text of a ledger tells of one run only, which has not ended.
    pub(crate) fn has_one_run(text: &str) -> bool {
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Line>(line).ok());
        lines.count() == 1
    }

    /// Writes, from a pod, that this process stood still.
    pub(crate) fn write_standstill(path: &Path, from: u64, to: u64) {
        // Behind the end of its test there is no ledger any more.
        if path.exists() {
            let pid = std::process::id();
            append(path, &Standstill { pid, from, to });
        }
    }

    /// Writes, from a pod, that this process asked Redis in vain.
    pub(crate) fn write_in_vain(path: &Path, in_vain: u64) {
        if path.exists() {
            let pid = std::process::id();
            append(path, &InVain { pid, in_vain });
        }
    }
}

/// One `write` of an appending file is not torn.
fn append(path: &Path, line: &impl Serialize) {
    let mut text = serde_json::to_string(line).expect("a line of the ledger");
    text.push('\n');
    let mut file = OpenOptions::new()
        .append(true)
        .open(path)
        .expect("the ledger");
    file.write_all(text.as_bytes()).expect("room for a line");
}

/// Now, in microseconds since the Unix epoch: one machine's clock for all its processes.
pub fn now_micros() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock behind 1970");
    u64::try_from(since.as_micros()).expect("a clock before the year 586,000")
}
