//! Chaos: pods that call without a pause while a seeded nemesis breaks what is around them, and what came of it.

mod faults;
mod nemesis;
mod progress;
mod report;
mod servers;
mod stage;
mod verdict;
mod written;

use std::time::Duration;

use self::nemesis::Nemesis;
use self::stage::Stage;

pub use faults::Fault;
pub use progress::Progress;
pub use report::Report;
pub use servers::Layout;

/// What is to be played.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which servers coordinate.
    pub layout: Layout,
    /// How many pods call.
    pub pods: usize,
    /// For how long.
    pub lasts: Duration,
    /// Decides which faults come, and when. Processes and clocks are real, so the rest is not repeated.
    pub seed: u64,
    /// The longest that nothing is done between two faults.
    pub rest: Duration,
    /// The program that is a pod, and what its environment says.
    pub program: String,
    /// Tells the program that it is a pod.
    pub environment: Vec<(String, String)>,
}

/// Plays it. `watch` is shown how far it is, several times a second.
pub fn run(plan: &Plan, mut watch: impl FnMut(&Progress)) -> Report {
    let mut stage = Stage::open(plan);
    let mut nemesis = Nemesis::new(plan);
    let mut progress = Progress::default();
    while stage.is_on() {
        nemesis.act(&mut stage);
        progress.look(&stage, &nemesis);
        watch(&progress);
        std::thread::sleep(Duration::from_millis(50));
    }
    nemesis.rest(&mut stage);
    progress.look(&stage, &nemesis);
    progress.ending = true;
    watch(&progress);
    verdict::of(stage, &nemesis, plan)
}
