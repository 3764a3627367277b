//! A fleet: one server, a ledger, and pods that make the same calls at once.

use crate::ledger::Ledger;
use crate::orders::{Answer, Burst};
use crate::pod::{Pod, fleet};
use crate::server::RedisServer;
use crate::topology::eventually;

/// Pods of one program on one server.
#[derive(Debug)]
pub struct Fleet {
    /// Their server.
    pub server: RedisServer,
    /// What their bodies did.
    pub ledger: Ledger,
    /// The pods.
    pub pods: Vec<Pod>,
    program: &'static str,
}

impl Fleet {
    /// Starts so many pods of a program on a server of their own.
    pub fn start(program: &'static str, pods: usize) -> Self {
        let (server, ledger) = (RedisServer::start(), Ledger::default());
        let pods = fleet(program, pods, &server, &ledger);
        Self {
            server,
            ledger,
            pods,
            program,
        }
    }

    /// Adds a pod with this environment.
    pub fn pod(&mut self, environment: &[(&str, &str)]) -> &mut Pod {
        let url = self.server.url();
        let pod = Pod::start(self.program, &url, &self.ledger, environment);
        self.pods.push(pod);
        let last = self.pods.len() - 1;
        &mut self.pods[last]
    }

    /// All pods make the same burst at once.
    pub fn burst(&mut self, burst: &Burst) -> Vec<Answer> {
        for pod in &mut self.pods {
            pod.begin(burst);
        }
        self.pods.iter_mut().flat_map(Pod::answers).collect()
    }

    /// How many runs there were.
    pub fn runs(&self) -> usize {
        self.ledger.runs().len()
    }

    /// The value of every answer was made by the `number`th run.
    pub fn assert_all_got_run(&self, answers: &[Answer], number: usize) {
        let name = &self.ledger.runs()[number - 1].name;
        for answer in answers {
            assert_eq!(answer.run.as_ref(), Some(name), "{answer:?}");
        }
    }

    /// No local entry, no lock, no key without an expiry; subscriptions may linger.
    pub fn assert_nothing_left(&mut self) {
        for pod in &mut self.pods {
            assert_eq!(pod.state().in_flight, 0, "a local entry is left");
        }
        // A lock whose grant came too late for its caller is given back behind the answer.
        eventually("every lock is gone", || {
            let locks = self.server.command(&["KEYS", "*:lock:*"]).list();
            locks.is_empty()
        });
        assert_eq!(self.server.immortal_keys(), Vec::<String>::new());
    }
}
