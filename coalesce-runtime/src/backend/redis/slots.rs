//! Who serves which slot of a cluster, as one of its nodes says it. Plain bookkeeping.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use fred::types::Value;

use super::replies::text;

/// Slots of a cluster.
pub(crate) const SLOTS: usize = 16_384;

/// Instead of the host of a node that is to be called by its host name and has none.
pub(super) const NAMELESS: &str = "?";

/// In the place of a node: a slot that nobody serves.
const NOBODY: u16 = u16::MAX;

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Place {
    pub(super) fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        Self { host, port }
    }

    /// A node that does not know its own host is where it was asked.
    pub(super) fn seen_from(self, asked: &Self) -> Self {
        let host = if self.host.is_empty() {
            asked.host.clone()
        } else {
            self.host
        };
        Self { host, ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Which node serves each slot.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotTable {
    /// For each slot the number of a primary. Empty before the first reply.
    served: Vec<u16>,
    primaries: Vec<Place>,
    replicas: Vec<Place>,
    by_name: bool,
    /// Nodes that have a host name and are called by their address.
    aliases: HashMap<Place, Place>,
}

impl SlotTable {
    /// One server, which serves everything.
    pub(super) fn of_one(place: Place) -> Self {
        Self {
            served: vec![0; SLOTS],
            primaries: vec![place],
            ..Self::default()
        }
    }

    /// The reply to CLUSTER SLOTS of the node at `asked`. A table without any slot is of no use.
    ///
    /// `by_name` is for connections that are made to host names: a certificate may know a node by nothing else.
    /// Without one the cluster decides how its nodes are called, since a name may be known to none but themselves.
    pub(super) fn read(reply: Value, asked: &Place, by_name: bool) -> Option<Self> {
        let mut table = Self {
            by_name,
            ..Self::default()
        };
        for range in list(reply)? {
            // A range in another shape is one that nobody serves.
            let _ = table.add(list(range)?, asked);
        }
        (!table.served.is_empty()).then_some(table)
    }

    /// A range: its first and last slot, its primary, and its replicas.
    fn add(&mut self, range: Vec<Value>, asked: &Place) -> Option<()> {
        let mut parts = range.into_iter();
        let (first, last) = (number(&parts.next()?)?, number(&parts.next()?)?);
        let primary = self.meet(parts.next()?, asked)?;
        let slots = usize::from(first)..=usize::from(last);
        if slots.is_empty() || *slots.end() >= SLOTS {
            return None;
        }
        let number = self.number_of(primary)?;
        self.served.resize(SLOTS, NOBODY);
        self.served[slots].fill(number);
        for replica in parts {
            let replica = self.meet(replica, asked);
            self.replicas.extend(replica);
        }
        Some(())
    }

    /// Where a node is.
    fn meet(&mut self, node: Value, asked: &Place) -> Option<Place> {
        let (called, hostname) = place(node)?;
        let is_address = called.host.parse::<IpAddr>().is_ok();
        let hostname = hostname.filter(|_| self.by_name && is_address);
        let Some(hostname) = hostname else {
            return Some(called.seen_from(asked));
        };
        let place = Place::new(hostname, called.port);
        self.aliases.insert(called, place.clone());
        Some(place)
    }

    /// Where the node is that others call so.
    pub(super) fn place_of(&self, called: &Place) -> Place {
        self.aliases.get(called).unwrap_or(called).clone()
    }

    fn number_of(&mut self, primary: Place) -> Option<u16> {
        let known = self.primaries.iter().position(|known| *known == primary);
        let number = known.unwrap_or(self.primaries.len());
        let number = u16::try_from(number).ok().filter(|it| *it != NOBODY)?;
        if known.is_none() {
            self.primaries.push(primary);
        }
        Some(number)
    }

    /// The node that serves a slot, if any does.
    pub(super) fn of(&self, slot: u16) -> Option<&Place> {
        let number = *self.served.get(usize::from(slot))?;
        self.primaries.get(usize::from(number))
    }

    /// A node has said that another serves this slot now.
    pub(super) fn moved(&mut self, slot: u16, to: Place) {
        let number = self.number_of(to);
        let served = self.served.get_mut(usize::from(slot));
        if let (Some(number), Some(served)) = (number, served) {
            *served = number;
        }
    }

    /// The nodes that serve slots.
    pub(super) fn primaries(&self) -> &[Place] {
        &self.primaries
    }

    /// Whether a node serves any.
    pub(super) fn serves(&self, place: &Place) -> bool {
        self.primaries.contains(place)
    }

    /// The nodes that were named and serve none.
    pub(super) fn replicas(&self) -> &[Place] {
        &self.replicas
    }

    /// Whether nothing was heard yet.
    pub(super) fn is_empty(&self) -> bool {
        self.served.is_empty()
    }

    /// A slot that a node serves.
    #[cfg(any(feature = "cli", test))]
    pub(super) fn slot_at(&self, place: &Place) -> Option<u16> {
        let mut slots = (0..).zip(&self.served);
        let found = slots.find(|(slot, _)| self.of(*slot) == Some(place));
        found.map(|(slot, _)| slot)
    }

    /// Whether each slot is served by the same node in both.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let mut slots = (0..).take(SLOTS);
        slots.all(|slot| self.of(slot) == other.of(slot))
    }

    /// How many slots are served by anybody.
    pub(super) fn assigned(&self) -> usize {
        let served = self.served.iter().filter(|number| **number != NOBODY);
        served.count()
    }
}

fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(parts) => Some(parts),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Integer(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}

/// A node: its host, its port, its number, and what else is known of it, which may be its host name. Its host
/// is nothing where it is to be found at the one who was asked, and [`NAMELESS`] where a name is preferred and it
/// has none: then its address is among the rest.
fn place(node: Value) -> Option<(Place, Option<String>)> {
    let mut parts = list(node)?.into_iter();
    let host = match parts.next()? {
        Value::Null => String::new(),
        host => String::from_utf8(text(host)?.to_vec()).ok()?,
    };
    let port = number(&parts.next()?).filter(|port| *port > 0)?;
    // A map in the newer protocol, and its pairs one behind the other in the older.
    let more = parts.nth(1).and_then(|more| more.convert().ok());
    let mut more: HashMap<String, String> = more.unwrap_or_default();
    let hostname = more.remove("hostname").filter(|name| !name.is_empty());
    let host = if host == NAMELESS {
        more.remove("ip")?
    } else {
        host
    };
    Some((Place::new(host, port), hostname))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: impl Into<Value>, port: i64) -> Value {
        Value::Array(vec![host.into(), port.into(), "id".into()])
    }

    fn range(first: i64, last: i64, nodes: Vec<Value>) -> Value {
        let ends = [first.into(), last.into()];
        Value::Array(ends.into_iter().chain(nodes).collect())
    }

    fn asked() -> Place {
        Place::new("seed", 7_000)
    }

    fn table(ranges: Vec<Value>) -> Option<SlotTable> {
        SlotTable::read(Value::Array(ranges), &asked(), false)
    }

    fn two_nodes() -> SlotTable {
        let ranges = vec![
            range(0, 8_191, vec![node("a", 7_001), node("c", 7_003)]),
            range(8_192, 16_383, vec![node("b", 7_002)]),
        ];
        table(ranges).unwrap()
    }

    #[test]
    fn each_slot_is_served_by_the_primary_of_its_range() {
        let table = two_nodes();
        let (a, b) = (Place::new("a", 7_001), Place::new("b", 7_002));
        for (slot, place) in [(0, &a), (8_191, &a), (8_192, &b), (16_383, &b)] {
            assert_eq!(table.of(slot), Some(place), "{slot}");
        }
        assert_eq!(table.of(16_384), None);
        assert_eq!(table.primaries(), [a, b.clone()]);
        assert_eq!(table.replicas(), [Place::new("c", 7_003)]);
        assert_eq!((table.assigned(), table.slot_at(&b)), (SLOTS, Some(8_192)));
    }

    #[test]
    fn one_server_serves_everything() {
        let table = SlotTable::of_one(asked());
        assert!((0..16_384).all(|slot| table.of(slot) == Some(&asked())));
    }

    #[test]
    fn a_node_that_does_not_know_its_host_is_where_it_was_asked() {
        let table = table(vec![
            range(0, 0, vec![node("", 1)]),
            range(1, 1, vec![node(Value::Null, 2)]),
            range(2, 2, vec![node(NAMELESS, 3)]),
        ]);
        let table = table.unwrap();
        assert_eq!(table.of(0), Some(&Place::new("seed", 1)));
        assert_eq!(table.of(1), Some(&Place::new("seed", 2)));
        assert_eq!(table.of(2), None);
        assert_eq!(table.assigned(), 2);
    }

    /// A node that announces a host name, as it is told in both protocols.
    fn announced(host: &Value, port: i64, hostname: &str) -> [Value; 2] {
        let pairs = vec![("ip", "10.0.0.9"), ("hostname", hostname)];
        let map = Value::try_from(HashMap::<_, _>::from_iter(pairs.clone())).unwrap();
        let flat = pairs.into_iter().flat_map(|(key, value)| [key, value]);
        let flat = Value::Array(flat.map(Value::from).collect());
        [map, flat].map(|more| Value::Array(vec![host.clone(), port.into(), "id".into(), more]))
    }

    /// The same table by addresses or by names, as it is told in both protocols.
    fn announcing(by_name: bool) -> [SlotTable; 2] {
        [0, 1].map(|protocol| {
            let node = |host: Value, hostname| {
                let protocols = announced(&host, 6_379, hostname);
                protocols.into_iter().nth(protocol).unwrap()
            };
            let nodes = [
                vec![node("10.0.0.1".into(), "a"), node("::1".into(), "b")],
                vec![node(Value::Null, "c")],
                vec![node("preferred".into(), "d")],
                vec![node("10.0.0.4".into(), "")],
                vec![node(NAMELESS.into(), "")],
            ];
            let ranges = (0..).zip(nodes);
            let ranges = ranges.map(|(slot, nodes)| range(slot, slot, nodes));
            let ranges = Value::Array(ranges.collect());
            SlotTable::read(ranges, &asked(), by_name).unwrap()
        })
    }

    fn hosts(table: &SlotTable) -> Vec<&str> {
        let host = |slot| table.of(slot).map_or("", |place| &*place.host);
        (0..5).map(host).collect()
    }

    #[test]
    fn a_node_that_has_a_host_name_is_there_also_for_those_who_call_it_by_its_address() {
        for table in announcing(true) {
            let found = ["a", "seed", "preferred", "10.0.0.4", "10.0.0.9"];
            assert_eq!(hosts(&table), found);
            assert_eq!(table.replicas(), [Place::new("b", 6_379)]);
            for (called, host) in [("10.0.0.1", "a"), ("::1", "b"), ("a", "a"), ("x", "x")] {
                let place = table.place_of(&Place::new(called, 6_379));
                assert_eq!(place, Place::new(host, 6_379));
            }
            let elsewhere = Place::new("10.0.0.1", 6_380);
            assert_eq!(table.place_of(&elsewhere), elsewhere);
        }
    }

    #[test]
    fn where_no_certificate_needs_a_host_name_a_node_is_where_the_cluster_says() {
        for table in announcing(false) {
            let found = ["10.0.0.1", "seed", "preferred", "10.0.0.4", "10.0.0.9"];
            assert_eq!(hosts(&table), found);
            assert_eq!(table.replicas(), [Place::new("::1", 6_379)]);
            let called = Place::new("10.0.0.1", 6_379);
            assert_eq!(table.place_of(&called), called);
        }
    }

    #[test]
    fn a_slot_that_has_moved_is_the_other_nodes_and_its_neighbours_stay() {
        let mut table = two_nodes();
        table.moved(5, Place::new("b", 7_002));
        table.moved(6, Place::new("d", 7_004));
        table.moved(16_384, Place::new("d", 7_004));
        let ports: Vec<_> = (4..8).map(|slot| table.of(slot).unwrap().port).collect();
        assert_eq!(ports, [7_001, 7_002, 7_004, 7_001]);
        let mut nothing = SlotTable::default();
        nothing.moved(5, asked());
        assert_eq!(nothing.of(5), None);
    }

    #[test]
    fn a_node_that_knows_no_slots_has_nothing_to_say() {
        assert!(SlotTable::default().is_empty() && !two_nodes().is_empty());
        for ranges in [
            vec![],
            vec![range(0, 16_384, vec![node("a", 1)])],
            vec![range(9, 8, vec![node("a", 1)])],
            vec![range(-1, 8, vec![node("a", 1)])],
            vec![range(0, 8, vec![node("a", 0)])],
            vec![range(0, 8, vec![])],
        ] {
            assert!(table(ranges).is_none());
        }
        assert!(SlotTable::read(Value::Null, &asked(), false).is_none());
        assert!(SlotTable::read(Value::Array(vec![1.into()]), &asked(), false).is_none());
    }

    #[test]
    fn tables_agree_when_each_slot_is_served_by_the_same_node() {
        let (table, mut other) = (two_nodes(), two_nodes());
        assert!(table.agrees(&other) && other.agrees(&table));
        other.moved(16_383, Place::new("a", 7_001));
        assert!(!table.agrees(&other) && !other.agrees(&table));
        let [primary, replica] =
            [("b", 7_002), ("c", 7_003)].map(|(host, port)| Place::new(host, port));
        assert!(table.serves(&primary) && !table.serves(&replica));
        assert_eq!(primary.to_string(), "b:7002");
    }
}
