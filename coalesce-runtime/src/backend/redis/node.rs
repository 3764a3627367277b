//! One server: its lines, its clock, and who listens there. Everything that one server's trouble can touch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::interfaces::ClientLike as _;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::breaker::Breaker;
use super::client::Line;
use super::clock::Clock;
use super::health::Vitals;
use super::keeper::{Task, keep};
use super::lookout::look_out;
use super::probe::Probe;
use super::profile::Profile;
use super::redirect::{Setback, Turn};
use super::replies::Said;
use super::script::{Call, Script};
use super::slots::Place;
use super::subscriber::Subscriber;
use crate::ports::health::BreakerState;
use crate::words::clock::{Instant, now};

/// Events a line keeps for those who are slow to take them, and messages on the line that listens.
const ROOM: [usize; 2] = [32, 1_024];

/// Between two looks whether a connection is there.
pub(super) const ARRIVAL: Duration = Duration::from_millis(2);

/// For so long a server is new: questions to it wait for its connections.
const NEW: Duration = Duration::from_millis(500);

/// One server.
///
/// There are three lines, because whatever is slow or paused on one connection blocks all behind it:
/// one that only reads, one for scripts, one that only listens.
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) reads: Arc<Line>,
    pub(super) scripts: Arc<Line>,
    pub(super) subscriber: Arc<Subscriber>,
    pub(super) clock: Arc<Clock>,
    /// Rings when the server takes no writes, and when a line has been made again.
    doubt: Arc<Notify>,
    since: Instant,
    /// Dropping them drops the connections.
    keepers: Mutex<Vec<Task>>,
}

impl Node {
    /// A server that is being connected to.
    pub(super) fn start(
        place: Place,
        profile: &Profile,
        vitals: &Arc<Vitals>,
        linger: Duration,
    ) -> Self {
        let [room, messages] = ROOM;
        let line = |room| Arc::new(Line::new(profile.clone(), Arc::clone(vitals), room));
        let node = Self {
            place,
            reads: line(room),
            scripts: line(room),
            subscriber: Arc::new(Subscriber::new(line(messages), linger)),
            clock: Arc::default(),
            doubt: Arc::default(),
            since: now(),
            keepers: Mutex::default(),
        };
        *node.keepers() = node.started();
        node
    }

    /// The tasks that keep the lines connected, on the runtime of the moment.
    fn started(&self) -> Vec<Task> {
        let (clock, subscriber) = (Some(Arc::clone(&self.clock)), Arc::clone(&self.subscriber));
        let lines = [&self.scripts, &self.reads, &self.subscriber.line].map(Arc::clone);
        vec![
            look_out(Arc::clone(&self.doubt), lines),
            self.keep_up(&self.reads, clock, |_| Vec::new()),
            self.keep_up(&self.scripts, None, |_| Vec::new()),
            self.keep_up(&self.subscriber.line, None, move |client| {
                subscriber.man(client)
            }),
        ]
    }

    /// Keeps a line connected and probed, with more tasks for each of its clients.
    fn keep_up(
        &self,
        line: &Arc<Line>,
        clock: Option<Arc<Clock>>,
        crew: impl Fn(&Client) -> Vec<Task> + Send + 'static,
    ) -> Task {
        let (probed, doubt) = (Arc::clone(line), Arc::clone(&self.doubt));
        keep(Arc::clone(line), move |client| {
            let mut tasks = crew(client);
            let (line, doubt) = (Arc::clone(&probed), Arc::clone(&doubt));
            tasks.push(Probe::new(line, client.clone(), clock.clone(), doubt).spawn());
            tasks
        })
    }

    /// Starts the keepers again when they went away with their runtime; they never end by themselves.
    pub(super) fn revive(&self) -> bool {
        // Whoever holds it is at it, or closes.
        let Ok(mut keepers) = self.keepers.try_lock() else {
            return false;
        };
        let gone = keepers.first().is_some_and(|keeper| !keeper.is_running());
        if gone {
            self.lines().into_iter().for_each(Line::replace_client);
            *keepers = self.started();
        }
        gone
    }

    fn lines(&self) -> [&Line; 3] {
        [&self.reads, &self.scripts, &self.subscriber.line]
    }

    fn keepers(&self) -> MutexGuard<'_, Vec<Task>> {
        self.keepers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn close(&self) {
        let mut farewells = JoinSet::new();
        for client in self.lines().map(Line::client) {
            // A server that does not answer even that loses its connection below.
            farewells.spawn(async move { client.quit().await });
        }
        farewells.join_all().await;
        self.keepers().clear();
    }
}

/// How it is.
impl Node {
    pub(super) fn is_connected(&self) -> bool {
        self.reads.is_connected() && self.scripts.is_connected()
    }

    /// Waits for the first connections, as long as there is hope: a node that takes over is heard of before
    /// it is connected to.
    pub(super) async fn arrival(&self, turn: Turn) {
        let until = turn.until.min(self.since + NEW);
        while now() < until && !self.is_connected() && self.clock.known().is_none() {
            sleep(ARRIVAL).await;
        }
    }

    /// Whether questions are asked here, and messages heard.
    pub(super) fn is_well(&self) -> bool {
        self.reads.is_well() && self.scripts.is_well() && self.subscriber.line.is_connected()
    }

    /// Whether nothing has to be waited for any more.
    pub(super) fn is_ready(&self) -> bool {
        self.is_connected() && self.subscriber.is_sound() && self.clock.known().is_some()
    }

    /// The worse of its breakers.
    pub(super) fn breaker(&self) -> BreakerState {
        let breakers = [&self.reads.breaker, &self.scripts.breaker];
        let states = breakers.map(Breaker::state_now);
        states.into_iter().max().unwrap_or_default()
    }
}

/// What it is asked.
impl Node {
    /// One run of a script, which tells the time as well.
    pub(super) async fn run(
        &self,
        script: &Script,
        call: &Call,
        turn: Turn,
    ) -> Result<Said, Setback> {
        let ran = self.scripts.run(script, call, turn).await;
        let by_a_copy = match &ran {
            Ok((said, _)) => said.is_by_a_copy(),
            Err(setback) => *setback == Setback::Copy,
        };
        if by_a_copy {
            self.doubt.notify_one();
        }
        let (said, sent) = ran?;
        self.clock.refine(said.at, sent);
        Ok(said)
    }

    /// A state, and the client that read it.
    pub(super) async fn read(
        &self,
        name: Bytes,
        turn: Turn,
    ) -> Result<(Option<Bytes>, Client), Setback> {
        if self.clock.known().is_none() {
            // What is read now could not be judged: its age is the server's business.
            let (time, sent) = self.reads.time(turn).await?;
            self.clock.refine(time, sent);
        }
        let client = self.reads.client();
        Ok((self.reads.get(name, turn).await?, client))
    }
}
