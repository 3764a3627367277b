//! Pods: child processes that call annotated functions when told to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::ledger::Ledger;
use crate::orders::{Affliction, Answer, Burst, Order, PodState, Tally};
use crate::process::signal;
use crate::topology::Topology;

/// A running pod. Dropping it kills the process.
#[derive(Debug)]
pub struct Pod {
    url: String,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

/// The longest that a pod may take to say something. A call that hangs ends a test by this.
const PATIENCE: Duration = Duration::from_secs(90);

impl Pod {
    /// Starts the pod `program` and waits until it is connected, or has given up on that for now.
    pub fn start(program: &str, url: &str, ledger: &Ledger, environment: &[(&str, &str)]) -> Self {
        Self::start_with_log(program, url, ledger, environment, Stdio::inherit())
    }

    /// The same, and what it logs goes to `log`.
    pub fn start_with_log(
        program: &str,
        url: &str,
        ledger: &Ledger,
        environment: &[(&str, &str)],
        log: Stdio,
    ) -> Self {
        let mut child = Command::new(program)
            .arg(url)
            .arg(ledger.path())
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("a pod");
        let input = child.stdin.take().expect("its input");
        let output = lines_of(child.stdout.take().expect("its output"));
        let mut pod = Self {
            url: url.to_owned(),
            child,
            input,
            output,
        };
        assert_eq!(pod.line(), "ready");
        pod
    }

    /// Tells the pod to make calls; [`Pod::answers`] waits for them.
    pub fn begin(&mut self, burst: &Burst) {
        self.order(&Order::Burst(burst.clone()));
    }

    /// Tells the pod to make calls for a while, whose answers go to a file; [`Pod::tally_within`] waits for their end.
    pub fn begin_load(&mut self, burst: &Burst, answers: &Path) {
        self.order(&Order::Load {
            burst: burst.clone(),
            answers: answers.to_owned(),
        });
    }

    /// How many calls there were, when all of a load have been answered, unless that takes too long.
    pub fn tally_within(&mut self, limit: Duration) -> Option<Tally> {
        let line = self.output.recv_timeout(limit).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// The answers of the burst begun last.
    pub fn answers(&mut self) -> Vec<Answer> {
        serde_json::from_str(&self.line()).expect("answers")
    }

    /// What the pod says of itself.
    pub fn state(&mut self) -> PodState {
        self.order(&Order::State);
        serde_json::from_str(&self.line()).expect("a state")
    }

    /// Removes the stored value of a key of `Site::Fresh`.
    pub fn invalidate(&mut self, key: &str) {
        self.order(&Order::Invalidate {
            key: key.to_owned(),
        });
        assert_eq!(self.line(), "invalidated");
    }

    /// Turns the kill switch of everything, in the whole fleet.
    pub fn switch(&mut self, on: bool) {
        assert!(self.turns(on), "the switch is turned");
    }

    /// Turns it if that can be done: whether it was.
    pub fn turns(&mut self, on: bool) -> bool {
        self.order(&Order::Switch { on });
        self.line() == "switched"
    }

    /// Something befalls the pod of itself.
    pub fn suffer(&mut self, affliction: Affliction) {
        self.order(&Order::Suffer(affliction));
    }

    /// Tells the pod to make no more calls of loads, and to end; [`Pod::retired`] waits for that.
    pub fn retire(&mut self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).expect("a short grace");
        self.order(&Order::Retire { grace_ms });
    }

    /// How many calls a pod with so many loads had begun that was told to [retire](Self::retire), when all have been
    /// answered and it has ended.
    pub fn retired(&mut self, loads: usize) -> u64 {
        // In whichever order they come: the tally of each load, and "bye".
        let lines: Vec<_> = (0..=loads).map(|_| self.line()).collect();
        assert!(lines.iter().any(|line| line == "bye"), "{lines:?}");
        self.state().begun
    }

    /// Tells the pod to watch out for a turn of the switch; [`Pod::obeyed`] says when it saw it.
    pub fn watch_for(&mut self, on: bool) {
        self.order(&Order::Obey { on });
    }

    /// When the pod saw what it was told to watch out for, in microseconds since the Unix epoch.
    pub fn obeyed(&mut self) -> u64 {
        self.line().parse().expect("a moment")
    }

    /// Ends the pod in an orderly way.
    pub fn shut_down(mut self) {
        self.begin_shut_down(Duration::from_secs(5));
        assert_eq!(self.line(), "bye");
    }

    /// Tells the pod to end in an orderly way: it says "bye" behind the answers it owes, or before them.
    pub fn begin_shut_down(&mut self, grace: Duration) {
        let grace_ms = u64::try_from(grace.as_millis()).expect("a short grace");
        self.order(&Order::ShutDown { grace_ms });
    }

    /// The answers that the pod owes, and when it said "bye", in whichever order they come.
    pub fn answers_and_bye(&mut self) -> (Vec<Answer>, Instant) {
        let first = self.line();
        if first == "bye" {
            let bye = Instant::now();
            return (self.answers(), bye);
        }
        assert_eq!(self.line(), "bye");
        let answers = serde_json::from_str(&first).expect("answers");
        (answers, Instant::now())
    }

    /// Where it was told that Redis is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id, which also starts the names of its runs.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a machine that goes away does.
    pub fn kill(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("its end");
    }

    /// Sends it a signal.
    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    fn order(&mut self, order: &Order) {
        let line = serde_json::to_string(order).expect("an order");
        writeln!(self.input, "{line}").expect("a pod that listens");
    }

    fn line(&mut self) -> String {
        self.output
            .recv_timeout(PATIENCE)
            .expect("a line of the pod, in time")
    }
}

/// The lines that come from a pod, read as they come: who waits for one can lose patience.
fn lines_of(output: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.signal("CONT");
        // Either may fail only because the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts `count` pods on the same servers.
pub fn fleet(program: &str, count: usize, servers: &impl Topology, ledger: &Ledger) -> Vec<Pod> {
    (0..count)
        .map(|_| Pod::start(program, &servers.url(), ledger, &[]))
        .collect()
}
