//! Every command on a cluster and through Sentinel: what works on one server works there.

use coalesce_rig::{Cluster, Sentinels, Topology};
use coalesce_runtime::{Coalescer, Scope};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::scene::{MS, Said, ctl_at, eventually, price_of};

const NAMESPACE: &str = "shop::price";

/// Two processes, and the tool.
struct Fleet {
    url: String,
    here: Coalescer,
    there: Coalescer,
}

impl Fleet {
    async fn on(topology: &impl Topology) -> Self {
        let url = topology.url();
        let process = || async {
            // A machine that is busy with six servers is no trouble of theirs. And a poll that comes between the end
            // of a fenced flight and the message about it wins the lock: an own run, which is not meant here.
            let builder = Coalescer::builder().redis(&*url);
            let builder = builder.lease(30_000 * MS).operation_deadline(5_000 * MS);
            let builder = builder.polls(20_000 * MS, 20_000 * MS);
            builder.build().await.unwrap()
        };
        let (here, there) = (process().await, process().await);
        Self { url, here, there }
    }

    async fn ctl(&self, words: &[&str]) -> Said {
        ctl_at(self.url.clone(), words).await
    }

    /// A command that has nothing to complain about.
    async fn well(&self, words: &[&str]) -> Value {
        let said = self.ctl(&[words, &["--json"]].concat()).await;
        assert_eq!(said.code, 0, "{words:?} {said:?}");
        said.json()
    }

    async fn stored(&self, item: u64) -> Value {
        let key = format!("acme:{item}");
        self.well(&["inspect", NAMESPACE, &key, "--payload"]).await["state"].clone()
    }
}

/// Keys of many slots, as they are stored and as they are removed.
async fn values_are_shown_and_removed(fleet: &Fleet) {
    for item in 1..=6 {
        assert_eq!(
            price_of(&fleet.here, item, item * 100, async {}).await,
            item * 100
        );
        let state = fleet.stored(item).await;
        assert_eq!(
            (&state["status"], &state["payload"]),
            (&json!("done"), &json!(item * 100))
        );
        let key = format!("acme:{item}");
        let removed = fleet.well(&["invalidate", NAMESPACE, &key]).await;
        assert_eq!(
            (&removed["was_stored"], &removed["fenced"]),
            (&json!(true), &json!(false))
        );
        assert_eq!(fleet.stored(item).await["status"], "invalidated");
        assert_eq!(
            price_of(&fleet.there, item, 1, async {}).await,
            1,
            "computed again"
        );
    }
}

/// A flight of `item` here that somebody follows there, fenced by the tool; and what lets its body end.
async fn a_fenced_flight(fleet: &Fleet, item: u64) -> (oneshot::Sender<()>, [JoinHandle<u64>; 2]) {
    let (release, released) = oneshot::channel::<()>();
    let (here, there) = (fleet.here.clone(), fleet.there.clone());
    let running = fleet.here.snapshot().gauges.executions;
    let leader = tokio::spawn(async move { price_of(&here, item, 8, released).await });
    eventually("the body runs", || {
        fleet.here.snapshot().gauges.executions == running + 1
    })
    .await;
    let listening = fleet.there.subscriptions();
    let follower = tokio::spawn(async move { price_of(&there, item, 1, async {}).await });
    // It has been told whom it follows before it listens.
    eventually("it is followed", || fleet.there.subscriptions() > listening).await;
    let key = format!("acme:{item}");
    let flight = &fleet.well(&["inspect", NAMESPACE, &key]).await["flight"];
    assert_eq!(flight["fenced"], false);
    let removed = fleet.well(&["invalidate", NAMESPACE, &key]).await;
    assert_eq!(
        (&removed["was_stored"], &removed["fenced"]),
        (&json!(false), &json!(true))
    );
    (release, [leader, follower])
}

/// The same as an invalidation by a process.
async fn an_invalidation_fences_the_flight_in_progress(fleet: &Fleet) {
    let (release, joined) = a_fenced_flight(fleet, 77).await;
    release.send(()).unwrap();
    let [leader, follower] = joined;
    assert_eq!(leader.await.unwrap(), 8, "its own body");
    eventually("its outcome is refused", || fleet.here.counts().fenced == 1).await;
    // The late outcome is for those who had joined, and stored for nobody.
    assert_eq!(follower.await.unwrap(), 8);
    assert_eq!(fleet.stored(77).await["status"], "invalidated");
    // Who comes meanwhile gets nothing from before, wherever it comes.
    let (release, [leader, _]) = a_fenced_flight(fleet, 78).await;
    assert_eq!(price_of(&fleet.there, 78, 9, async {}).await, 9);
    assert_eq!(price_of(&fleet.here, 78, 1, async {}).await, 9);
    release.send(()).unwrap();
    assert_eq!(leader.await.unwrap(), 8);
    eventually("the late outcome is refused", || {
        fleet.here.counts().fenced == 2
    })
    .await;
    assert_eq!(fleet.stored(78).await["payload"], 9);
}

async fn the_switch_is_turned_listed_and_taken_away(fleet: &Fleet) {
    let scope = Scope::namespace(NAMESPACE);
    let obeys = |coalescer: &Coalescer, on| coalescer.position(&scope).is_none_or(|it| it.on) == on;
    let both = |on| obeys(&fleet.here, on) && obeys(&fleet.there, on);
    fleet
        .well(&[
            "switch", "off", NAMESPACE, "--for", "10m", "--reason", "slow",
        ])
        .await;
    eventually("both are off", || both(false)).await;
    let listed = fleet.well(&["switch", "list"]).await;
    let stands = &listed[NAMESPACE];
    assert_eq!(
        (&stands["on"], &stands["reason"], &stands["author"]),
        (&json!(false), &json!("slow"), &json!("grace"))
    );
    assert_eq!(price_of(&fleet.here, 77, 5, async {}).await, 5, "it is off");
    fleet.well(&["switch", "on", NAMESPACE]).await;
    eventually("both are on", || both(true)).await;
    let unknown = fleet.ctl(&["switch", "off", "shop::prize"]).await;
    assert!(
        unknown.code == 1 && unknown.text.starts_with("unknown"),
        "{unknown:?}"
    );
}

async fn everything_that_an_operator_does(fleet: &Fleet) {
    values_are_shown_and_removed(fleet).await;
    an_invalidation_fences_the_flight_in_progress(fleet).await;
    // The fleet is told of what was called within ten seconds.
    let told = |status: &Value| !status["namespaces"][NAMESPACE].is_null();
    let mut status = fleet.well(&["status"]).await;
    for _ in 0..60 {
        if told(&status) {
            break;
        }
        tokio::time::sleep(300 * MS).await;
        status = fleet.well(&["status"]).await;
    }
    assert!(told(&status), "{status:#}");
    assert_eq!(status["processes"], 2, "{status:#}");
    the_switch_is_turned_listed_and_taken_away(fleet).await;
}

/// The findings of the doctor whose names begin so.
fn of<'a>(doctor: &'a Value, name: &str) -> Vec<&'a Value> {
    let findings = doctor["findings"].as_array().unwrap().iter();
    let named = findings.filter(|it| it["of"].as_str().unwrap().starts_with(name));
    named.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_works_on_a_cluster_and_the_doctor_sees_each_primary() {
    let cluster = Cluster::start();
    let fleet = Fleet::on(&cluster).await;
    everything_that_an_operator_does(&fleet).await;
    let doctor = fleet.well(&["doctor"]).await;
    assert_eq!(of(&doctor, "cluster slots")[0]["well"], true);
    for name in ["version of ", "eviction of ", "right +cluster|slots of "] {
        assert_eq!(of(&doctor, name).len(), 3, "{name} {doctor:#}");
    }
    // One node that is set up in another way is found among the three.
    let odd = &cluster.primaries()[1];
    odd.command(&["CONFIG", "SET", "maxmemory", "50mb"]);
    odd.command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let said = fleet.ctl(&["doctor", "--json"]).await;
    let wrong: Vec<_> = said.json()["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["well"] == false)
        .map(|it| it["of"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        (said.code, wrong),
        (1, vec![format!("eviction of 127.0.0.1:{}", odd.port())])
    );
    assert_eq!(cluster.immortal_keys(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_is_shown_while_its_slot_is_being_moved_and_who_listens_anywhere_is_counted() {
    let cluster = Cluster::start();
    let fleet = Fleet::on(&cluster).await;
    let name = "coalesce:state:{shop::price:acme:5}";
    assert_eq!(price_of(&fleet.here, 5, 500, async {}).await, 500);
    let to = (cluster.primary_of(name) + 1) % 3;
    cluster.begin_to_move(name, to);
    assert_eq!(fleet.stored(5).await["payload"], 500);
    // As processes of the previous version do.
    let listening = cluster.primaries().into_iter().map(|node| {
        let mut connection = node.connection();
        let switch = ["SUBSCRIBE", "coalesce:switch"];
        connection.command(&switch).unwrap();
        connection
    });
    let listening: Vec<_> = listening.collect();
    let processes = fleet.well(&["status"]).await["processes"].clone();
    assert_eq!(processes, 2 + listening.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_works_through_sentinels_also_behind_another_primary() {
    let sentinels = Sentinels::start_with(&[]);
    let fleet = Fleet::on(&sentinels).await;
    everything_that_an_operator_does(&fleet).await;
    fleet.well(&["doctor"]).await;
    sentinels.fail_over();
    let status = fleet.well(&["status"]).await;
    assert!(!status["namespaces"][NAMESPACE].is_null(), "{status:#}");
    fleet.well(&["doctor"]).await;
    assert_eq!(sentinels.immortal_keys(), Vec::<String>::new());
}
