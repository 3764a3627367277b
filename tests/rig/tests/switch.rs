//! The kill switch over real processes: every pod obeys, and an off switch means no Redis traffic.

use std::time::{Duration, Instant};

use coalesce_rig::{Burst, Ledger, Pod, RedisServer, Site, fleet};

const POD: &str = env!("CARGO_BIN_EXE_pod");

/// What a pod sends without any call: it looks after its connections and reads the switch.
const HOUSEKEEPING: [&str; 2] = ["ping", "hgetall"];

fn all_know(pods: &mut [Pod], off: bool) {
    let end = Instant::now() + Duration::from_secs(5);
    while pods.iter_mut().any(|pod| pod.state().switched_off != off) {
        assert!(Instant::now() < end, "a pod does not obey");
    }
}

fn burst(pods: &mut [Pod]) -> usize {
    for pod in &mut *pods {
        pod.begin(&Burst {
            body_ms: 50,
            ..Burst::of(Site::InFlight, 13)
        });
    }
    pods.iter_mut()
        .flat_map(Pod::answers)
        .filter(|answer| answer.error.is_none())
        .count()
}

#[test]
fn one_pod_turns_the_switch_and_all_obey_without_any_traffic() {
    let (server, ledger) = (RedisServer::start(), Ledger::default());
    let mut pods = fleet(POD, 4, &server, &ledger);
    assert_eq!((burst(&mut pods), ledger.runs().len()), (52, 1));
    pods[0].switch(false);
    all_know(&mut pods, true);
    server.reset_stats();
    assert_eq!((burst(&mut pods), ledger.runs().len()), (52, 53));
    let mut sent = server.command_stats();
    sent.retain(|command, _| !HOUSEKEEPING.contains(&command.as_str()));
    assert!(sent.is_empty(), "{sent:?}");
    pods[3].switch(true);
    all_know(&mut pods, false);
    assert_eq!((burst(&mut pods), ledger.runs().len()), (52, 54));
}
