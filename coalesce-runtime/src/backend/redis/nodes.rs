//! The servers, and which of them answers for a slot. Without a cluster one answers for all.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::clock::Clock;
use super::health::Vitals;
use super::node::{ARRIVAL, Node};
use super::profile::Profile;
use super::redirect::{Next, Setback, Turn, Way};
use super::registry::Moving;
use super::slots::{Place, SLOTS, SlotTable};
use super::strangers::Strangers;
use crate::ports::health::CoordinatorHealth;
use crate::words::clock::{ServerClock, now};
use crate::words::fault::Fault;

/// Every server.
pub(super) struct Nodes {
    pub(super) profile: Profile,
    linger: Duration,
    /// The cluster's nodes that the URL names; none without a cluster.
    pub(super) seeds: Vec<Place>,
    pub(super) vitals: Arc<Vitals>,
    map: RwLock<Map>,
    strangers: Mutex<Strangers>,
    /// Rings when the table may be wrong.
    pub(super) bell: Notify,
    /// Rings when a node is to be known.
    pub(super) door: Notify,
}

/// Who serves what, and the nodes that there are.
#[derive(Default)]
pub(super) struct Map {
    pub(super) table: SlotTable,
    pub(super) nodes: HashMap<Place, Arc<Node>>,
    /// The channels of slots that nobody serves any more.
    pub(super) homeless: Vec<Moving>,
}

impl Map {
    /// The node that serves a slot.
    pub(super) fn of(&self, slot: u16) -> Option<&Arc<Node>> {
        self.nodes.get(self.table.of(slot)?)
    }

    /// Takes those who listen to where their slots are served, and drops the nodes that are of no use any more.
    fn tidy(&mut self, strangers: &Strangers) {
        self.rehome();
        let table = &self.table;
        self.nodes
            .retain(|place, _| table.serves(place) || strangers.has(place));
    }
}

impl Nodes {
    /// One server, or a cluster of which `seeds` are known; those are asked for the others.
    pub(super) fn new(
        profile: Profile,
        linger: Duration,
        server: Place,
        seeds: Vec<Place>,
    ) -> Self {
        let vitals = Arc::<Vitals>::default();
        let mut map = Map::default();
        if seeds.is_empty() {
            let node = Node::start(server.clone(), &profile, &vitals, linger);
            map.nodes.insert(server.clone(), Arc::new(node));
            map.table = SlotTable::of_one(server);
        }
        Self {
            profile,
            linger,
            seeds,
            vitals,
            map: RwLock::new(map),
            strangers: Mutex::default(),
            bell: Notify::new(),
            door: Notify::new(),
        }
    }

    pub(super) fn is_clustered(&self) -> bool {
        !self.seeds.is_empty()
    }

    pub(super) fn map(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn map_mut(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The map is locked first by who needs both.
    fn strangers(&self) -> MutexGuard<'_, Strangers> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// All that there are.
    pub(super) fn all(&self) -> Vec<Arc<Node>> {
        self.map().nodes.values().map(Arc::clone).collect()
    }

    /// Those that serve slots. How others are concerns nobody.
    fn primaries(&self) -> Vec<Arc<Node>> {
        let map = self.map();
        let nodes = map.nodes.values();
        let primaries = nodes.filter(|node| map.table.serves(&node.place));
        primaries.map(Arc::clone).collect()
    }

    /// The node that serves a slot.
    pub(super) fn of(&self, slot: u16) -> Result<Arc<Node>, Fault> {
        let map = self.map();
        match map.of(slot) {
            Some(node) => Ok(Arc::clone(node)),
            None if map.table.is_empty() => Err(Fault::Disconnected),
            // As a node would say: "CLUSTERDOWN Hash slot not served".
            None => Err(Fault::Refused),
        }
    }

    /// The clock by which everything in a slot is judged.
    pub(super) fn clock(&self, slot: u16) -> ServerClock {
        let map = self.map();
        let own = map.of(slot).and_then(|node| node.clock.known());
        // What was read before the slot moved here is better judged by another server's than by ours.
        let known = own.or_else(|| map.nodes.values().find_map(|node| node.clock.known()));
        known.unwrap_or_else(|| Clock::default().best())
    }
}

/// Questions.
impl Nodes {
    /// Asks the node that serves a slot, and those that it sends us to.
    pub(super) async fn ask<A, F>(
        &self,
        slot: u16,
        patience: Duration,
        question: impl Fn(Arc<Node>, Turn) -> F,
    ) -> Result<A, Fault>
    where
        F: Future<Output = Result<A, Setback>>,
    {
        let (mut turn, mut way) = (Turn::within(patience), Way::new(self.is_clustered()));
        let mut node = self.serving(slot)?;
        loop {
            node.arrival(turn).await;
            let answer = question(Arc::clone(&node), turn).await;
            let setback = match answer {
                Ok(answer) => return Ok(answer),
                Err(setback) => setback,
            };
            node = match way.next(setback, &node.place) {
                Next::Follow(place, pause) => {
                    turn.asking = false;
                    sleep(pause).await;
                    let there = self.at(&place, turn).await?;
                    self.moved(slot, &there.place);
                    there
                }
                Next::Visit(place) => {
                    turn.asking = true;
                    self.at(&place, turn).await?
                }
                Next::Wait(pause) => {
                    turn.asking = false;
                    sleep(pause).await;
                    self.serving(slot)?
                }
                Next::End(fault) => {
                    self.heed(fault);
                    return Err(fault);
                }
            };
        }
    }

    /// The node that serves a slot, for a question to it.
    fn serving(&self, slot: u16) -> Result<Arc<Node>, Fault> {
        self.of(slot).inspect_err(|fault| {
            self.heed(*fault);
            self.bell.notify_one();
        })
    }

    /// A node that gives no answer may have been replaced, and so may one that is cut off from the others and
    /// says that the cluster is down. Other faults its line has noted.
    fn heed(&self, fault: Fault) {
        if fault.is_a_refusal() {
            // Of a node that sent us on and on, or is none, nobody has noted it.
            self.vitals.note_fault(fault);
        }
        if fault.is_a_refusal() || matches!(fault, Fault::Timeout | Fault::Disconnected) {
            self.bell.notify_one();
        }
    }

    /// A slot was found elsewhere. Those who listen there find out with the next table.
    fn moved(&self, slot: u16, place: &Place) {
        let mut map = self.map_mut();
        if map.nodes.contains_key(place) {
            map.table.moved(slot, place.clone());
        }
        drop(map);
        self.bell.notify_one();
    }

    /// The node at a place, which is connected to when nobody has been there before.
    async fn at(&self, called: &Place, turn: Turn) -> Result<Arc<Node>, Fault> {
        let place = &self.map().table.place_of(called);
        self.strangers().note(place, now());
        let known = || self.map().nodes.get(place).map(Arc::clone);
        if let Some(node) = known() {
            return Ok(node);
        }
        self.door.notify_one();
        self.bell.notify_one();
        let arrival = async {
            loop {
                if let Some(node) = known() {
                    return node;
                }
                sleep(ARRIVAL).await;
            }
        };
        let arrived = timeout(turn.left(), arrival).await;
        arrived.map_err(|_| {
            self.vitals.note_fault(Fault::Timeout);
            Fault::Timeout
        })
    }
}

/// The nodes come and go. Nobody else makes or drops one than who keeps the table up.
impl Nodes {
    /// Connects to the nodes that others have named, and parts with those that have become of no use.
    pub(super) fn meet_strangers(&self) {
        let mut map = self.map_mut();
        let mut strangers = self.strangers();
        if strangers.is_empty() {
            return;
        }
        strangers.forget(now());
        for place in strangers.places() {
            self.meet(&mut map.nodes, place);
        }
        let stays = |place: &Place| map.table.serves(place) || strangers.has(place);
        if !map.nodes.keys().all(stays) {
            map.tidy(&strangers);
        }
    }

    fn meet(&self, nodes: &mut HashMap<Place, Arc<Node>>, place: &Place) {
        if !nodes.contains_key(place) {
            let profile = self.profile.at(place);
            let node = Node::start(place.clone(), &profile, &self.vitals, self.linger);
            nodes.insert(place.clone(), Arc::new(node));
        }
    }

    /// A new table: nodes that are new to it are connected to, those that left it are dropped unless another
    /// has just named them, and who listens in a slot that moved goes on where it is served now. Whether it says
    /// anything new.
    pub(super) fn settle(&self, table: SlotTable) -> bool {
        let mut map = self.map_mut();
        let is_news = !map.table.agrees(&table);
        for place in table.primaries() {
            self.meet(&mut map.nodes, place);
        }
        map.table = table;
        map.tidy(&self.strangers());
        is_news
    }

    /// Whether there are any that serve slots, and all of them answer.
    pub(super) fn are_well(&self) -> bool {
        let nodes = self.primaries();
        !nodes.is_empty() && nodes.iter().all(|node| node.is_well())
    }

    /// Makes all connections anew when they went away with their runtime.
    pub(super) fn revive(&self) -> bool {
        let map = self.map();
        let revived = map.nodes.values().filter(|node| node.revive());
        revived.count() > 0
    }

    pub(super) async fn close(&self) {
        let mut closing = JoinSet::new();
        for node in self.all() {
            closing.spawn(async move { node.close().await });
        }
        closing.join_all().await;
    }
}

/// How they are.
impl Nodes {
    pub(super) fn health(&self) -> CoordinatorHealth {
        let (nodes, served) = (self.primaries(), self.map().table.assigned());
        CoordinatorHealth {
            connected: served == SLOTS && nodes.iter().all(|node| node.is_connected()),
            subscribed: !nodes.is_empty() && nodes.iter().all(|node| node.subscriber.is_sound()),
            breaker: nodes
                .iter()
                .map(|node| node.breaker())
                .max()
                .unwrap_or_default(),
            last_fault: self.vitals.last_fault(),
            misrouted: self.vitals.misrouted(),
        }
    }

    /// Whether nothing has to be waited for any more.
    pub(super) fn are_ready(&self) -> bool {
        let nodes = self.primaries();
        !nodes.is_empty() && nodes.iter().all(|node| node.is_ready())
    }

    /// A slot of a node that is well, if there is one.
    #[cfg(feature = "cli")]
    pub(super) fn well_slot(&self) -> u16 {
        let map = self.map();
        let mut well = map.nodes.values().filter(|node| node.is_well());
        let slot = well.find_map(|node| map.table.slot_at(&node.place));
        slot.unwrap_or_default()
    }

    /// Waits until nothing has to be waited for any more.
    pub(super) async fn ready(&self) {
        while !self.are_ready() {
            sleep(ARRIVAL).await;
        }
    }
}

#[cfg(test)]
#[path = "nodes_tests.rs"]
mod tests;
