//! Leaks: what is still there when it should have gone long ago.

use std::time::{Duration, Instant};

use crate::orders::PodState;
use crate::server::RedisServer;
use crate::topology::Topology;

/// Locks that nobody holds any more, and keys that never expire.
pub(super) fn keys(topology: &dyn Topology, patience: Duration) -> u64 {
    let locks = in_the_end(patience, || topology.keys("*:lock:*").len() as u64);
    locks + topology.immortal_keys().len() as u64
}

/// Tasks that a pod has beside those from `before` its first call.
pub(super) fn tasks(state: &PodState, before: usize) -> usize {
    state.tasks.saturating_sub(before)
}

/// Channels of keys that a pod hears.
pub(super) fn subscriptions(state: &PodState, _: usize) -> usize {
    state.subscriptions
}

/// Connections beside the three of each pod.
pub(super) fn connections(server: &RedisServer, pods: usize) -> u64 {
    let there = server.command(&["CLIENT", "LIST"]).text();
    // The one that asks is among them.
    let ours = 3 * pods + 1;
    there.lines().count().saturating_sub(ours) as u64
}

/// How many there are when they have had the time to go.
pub(super) fn in_the_end(patience: Duration, mut count: impl FnMut() -> u64) -> u64 {
    let end = Instant::now() + patience;
    loop {
        let left = count();
        if left == 0 || Instant::now() > end {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn a_lock_that_stays_is_found_and_so_is_a_key_that_never_expires() {
        let server = RedisServer::start();
        server.command(&["SET", "coalesce:state:{a}", "outcome", "PX", "60000"]);
        server.command(&["HSET", "coalesce:switch", "*", "off"]);
        assert_eq!(keys(&server, MOMENT), 0);
        server.command(&["SET", "coalesce:lock:{a}", "token", "PX", "60000"]);
        assert_eq!(keys(&server, MOMENT), 1);
        server.command(&["SET", "coalesce:state:{b}", "outcome"]);
        assert_eq!(keys(&server, MOMENT), 2);
    }

    #[test]
    fn a_lock_that_ends_in_time_is_none() {
        let server = RedisServer::start();
        server.command(&["SET", "coalesce:lock:{a}", "token", "PX", "100"]);
        assert_eq!(keys(&server, Duration::from_secs(5)), 0);
    }

    #[test]
    fn a_fourth_connection_of_a_pod_is_found() {
        let server = RedisServer::start();
        let mut open: Vec<_> = (0..6).map(|_| server.connection()).collect();
        for connection in &mut open {
            connection.command(&["PING"]).unwrap();
        }
        assert_eq!(connections(&server, 2), 0);
        assert_eq!(connections(&server, 1), 3);
    }

    #[test]
    fn tasks_and_subscriptions_that_stay_are_found() {
        let state = |tasks: usize, subscriptions: usize| -> PodState {
            let state = json!({
                "in_flight": 0, "subscriptions": subscriptions, "takeovers": 0, "books": {}, "switched_off": false,
                "executions": 0, "saved": 0, "bypassed": 0, "faults": 0, "undecodable": 0, "tasks": tasks,
                "begun": 0, "answered": 0,
            });
            serde_json::from_value(state).unwrap()
        };
        assert_eq!([7, 8, 10].map(|now| tasks(&state(now, 0), 8)), [0, 0, 2]);
        assert_eq!([0, 3].map(|now| subscriptions(&state(9, now), 8)), [0, 3]);
    }

    #[test]
    fn what_goes_in_time_is_not_counted_and_what_stays_is() {
        let mut left = 3;
        let goes = in_the_end(Duration::from_secs(5), || {
            left -= 1;
            left
        });
        assert_eq!((goes, in_the_end(MOMENT, || 2)), (0, 2));
    }
}
