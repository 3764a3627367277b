//! The ledger: every start and end of a body, in one file that all pods append to, outside of the library.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::shop::Stamp;

/// One line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    pub what: What,
    pub pid: u32,
    pub pod: usize,
    /// Microseconds since 1970: all pods are on one machine.
    pub at: u64,
    #[serde(flatten)]
    pub stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    Start,
    End,
}

/// A pod's pen.
pub struct Ledger {
    file: File,
    pod: usize,
    run: String,
    executions: AtomicU64,
}

impl Ledger {
    pub fn open(path: &Path, pod: usize, run: &str) -> io::Result<Self> {
        Ok(Self {
            file: File::options().append(true).create(true).open(path)?,
            pod,
            run: run.to_owned(),
            executions: AtomicU64::new(0),
        })
    }

    /// Notes that a body starts, and gives it its stamp.
    pub fn start(&self, order: u64) -> Stamp {
        let number = self.executions.fetch_add(1, Ordering::Relaxed);
        let stamp = Stamp {
            order,
            run: self.run.clone(),
            execution: format!("{}-{number}", self.pod),
        };
        self.write(What::Start, &stamp);
        stamp
    }

    pub fn end(&self, stamp: &Stamp) {
        self.write(What::End, stamp);
    }

    fn write(&self, what: What, stamp: &Stamp) {
        let line = Line {
            what,
            pid: std::process::id(),
            pod: self.pod,
            at: now(),
            stamp: stamp.clone(),
        };
        // A run whose ledger has a hole would show too few executions: better none.
        if let Err(error) = self.append(&line) {
            panic!("failed to write to the ledger: {error}");
        }
    }

    /// One write per line: in append mode, writes of several processes do not mix.
    fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        (&self.file).write_all(&text)
    }
}

/// Reads the ledger while it grows.
pub struct Reader {
    file: BufReader<File>,
    partial: String,
    pub lines: Vec<Line>,
}

impl Reader {
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        Ok(Self {
            file: BufReader::new(file),
            partial: String::new(),
            lines: Vec::new(),
        })
    }

    /// Takes in what has been written since.
    pub fn catch_up(&mut self) -> io::Result<()> {
        while self.file.read_line(&mut self.partial)? > 0 {
            if !self.partial.ends_with('\n') {
                break;
            }
            self.lines.push(serde_json::from_str(&self.partial)?);
            self.partial.clear();
        }
        Ok(())
    }

    pub fn starts(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| line.what == What::Start)
    }

    /// Bodies that started in `pod` and never ended.
    pub fn unfinished(&self, pod: usize) -> impl Iterator<Item = &Line> {
        let ends = self.lines.iter().filter(|line| line.what == What::End);
        let ended: HashSet<&Stamp> = ends.map(|line| &line.stamp).collect();
        self.starts()
            .filter(move |line| line.pod == pod && !ended.contains(&line.stamp))
    }
}

/// Microseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros().try_into().unwrap_or(u64::MAX))
}
