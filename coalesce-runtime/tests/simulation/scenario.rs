//! Scenarios: everything that a seed decides before anything happens.

use std::time::Duration;

use crate::dice::Dice;
use crate::ledger::{How, Style};
use crate::sites::{SITES, Terms};
use crate::weather::{Climate, Outage, Weather};

/// A whole scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub climate: Climate,
    pub pods: usize,
    pub lease: Duration,
    pub keys: Vec<KeyPlan>,
    /// What is done from outside, in its order.
    pub acts: Vec<(Duration, Act)>,
    pub weather: Weather,
}

/// One key: its call site, and how its bodies behave, one after the other.
#[derive(Clone, Debug)]
pub struct KeyPlan {
    pub site: usize,
    pub style: Style,
    pub bodies: Vec<Body>,
}

/// What one run does.
#[derive(Clone, Copy, Debug)]
pub struct Body {
    pub takes: Duration,
    pub ends: How,
}

/// Something that happens to the fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    Call {
        key: usize,
        pod: usize,
        style: Style,
    },
    /// The caller of this call goes away.
    Cancel {
        call: usize,
    },
    Crash {
        pod: usize,
    },
    Invalidate {
        key: usize,
        pod: usize,
    },
    Put {
        key: usize,
        pod: usize,
    },
    Switch {
        pod: usize,
        off: bool,
    },
    /// The server loses a key, or everything.
    Lose {
        key: Option<usize>,
    },
    /// The end of an outage: those who listened may have missed something.
    Reconnect {
        pod: usize,
    },
}

impl KeyPlan {
    pub fn terms(&self) -> &'static Terms {
        &SITES[self.site].1
    }
}

const CALLS: usize = 20;
/// Everything begins within this many milliseconds.
const SPAN: u64 = 8_000;

impl Scenario {
    /// The scenario of a seed.
    pub fn of(seed: u64) -> Self {
        let mut dice = Dice::of(seed, &[1]);
        let climate = dice.one_of(&[
            Climate::Calm,
            Climate::Calm,
            Climate::Deaf,
            Climate::Deadly,
            Climate::Stormy,
            Climate::Stormy,
            Climate::Stormy,
        ]);
        let pods = dice.number(2, 4);
        let lease = Duration::from_millis(dice.one_of(&[500, 1_000, 3_000]));
        let keys = (0..dice.number(1, 3))
            .map(|_| key(&mut dice, climate))
            .collect();
        let mut scenario = Self {
            seed,
            climate,
            pods,
            lease,
            keys,
            acts: Vec::new(),
            weather: Weather {
                latency: dice.one_of(&[0, 0, 1, 5, 20]),
                clock_error: dice.one_of(&[0, 0, 1, 10]),
                ..Weather::default()
            },
        };
        let bursts = scenario.calls(&mut dice);
        if climate != Climate::Calm {
            scenario.changes(&mut dice, &bursts);
        }
        match climate {
            Climate::Calm => {}
            Climate::Deaf => scenario.deaf(&mut dice),
            Climate::Deadly => scenario.deadly(&mut dice),
            Climate::Stormy => {
                if dice.happens(0.5) {
                    scenario.deaf(&mut dice);
                }
                if dice.happens(0.5) {
                    scenario.deadly(&mut dice);
                }
                scenario.stormy(&mut dice);
            }
        }
        scenario.acts.sort_by_key(|(at, _)| *at);
        scenario
    }

    fn calls(&mut self, dice: &mut Dice) -> Vec<Duration> {
        let bursts: Vec<_> = (0..dice.number(1, 4)).map(|_| dice.span(0, SPAN)).collect();
        for call in 0..CALLS {
            let key = dice.number(0, self.keys.len() - 1);
            let style = match (self.climate, dice.number(0, 19)) {
                (Climate::Calm, _) | (_, 2..) => self.keys[key].style,
                (_, 0) => Style::Peek,
                (_, _) => Style::Refresh,
            };
            let pod = dice.number(0, self.pods - 1);
            let at = if dice.happens(0.7) {
                dice.one_of(&bursts) + dice.span(0, 50)
            } else {
                dice.span(0, SPAN)
            };
            self.acts.push((at, Act::Call { key, pod, style }));
            let cancels = matches!(self.climate, Climate::Deadly | Climate::Stormy);
            if cancels && dice.happens(0.15) {
                self.acts
                    .push((at + dice.span(0, 800), Act::Cancel { call }));
            }
        }
        // Calls are numbered in the order in which they are made.
        let mut order: Vec<_> = (0..CALLS).collect();
        let made = |act: &&(Duration, Act)| matches!(act.1, Act::Call { .. });
        let times: Vec<_> = self.acts.iter().filter(made).map(|(at, _)| *at).collect();
        order.sort_by_key(|call| times[*call]);
        for (_, act) in &mut self.acts {
            if let Act::Cancel { call } = act {
                *call = order
                    .iter()
                    .position(|made| made == call)
                    .unwrap_or_default();
            }
        }
        bursts
    }

    fn changes(&mut self, dice: &mut Dice, bursts: &[Duration]) {
        for _ in 0..dice.number(0, 4) {
            let key = dice.number(0, self.keys.len() - 1);
            let pod = dice.number(0, self.pods - 1);
            let act = if dice.happens(0.7) {
                Act::Invalidate { key, pod }
            } else {
                Act::Put { key, pod }
            };
            // Things happen when there is something to disturb.
            let at = if dice.happens(0.6) {
                dice.one_of(bursts) + dice.span(0, 100)
            } else {
                dice.span(0, SPAN)
            };
            self.acts.push((at, act));
        }
        if dice.happens(0.15) {
            let off = dice.span(0, SPAN);
            let pod = dice.number(0, self.pods - 1);
            self.acts.push((off, Act::Switch { pod, off: true }));
            let on = off + dice.span(100, 6_000);
            self.acts.push((on, Act::Switch { pod, off: false }));
        }
    }

    fn deaf(&mut self, dice: &mut Dice) {
        let chance = dice.one_of(&[0.1, 0.5, 1.0]);
        match dice.number(0, 3) {
            0 => self.weather.notice_lost = chance,
            1 => self.weather.notice_gap = chance,
            2 => self.weather.notice_late = chance,
            _ => self.weather.deaf = chance,
        }
    }

    fn deadly(&mut self, dice: &mut Dice) {
        for pod in 1..self.pods {
            if dice.happens(0.4) {
                self.acts.push((dice.span(0, SPAN), Act::Crash { pod }));
            }
        }
    }

    fn stormy(&mut self, dice: &mut Dice) {
        for _ in 0..dice.number(0, 4) {
            let chance = dice.one_of(&[0.01, 0.05, 0.3]);
            let weather = &mut self.weather;
            *dice.one_of_mut([
                &mut weather.slow,
                &mut weather.lost_request,
                &mut weather.lost_reply,
                &mut weather.overdue,
                &mut weather.twice,
                &mut weather.broken,
                &mut weather.refused,
            ]) = chance;
        }
        for _ in 0..dice.number(0, 2) {
            let pod = dice.happens(0.5).then(|| dice.number(0, self.pods - 1));
            let from = dice.span(0, SPAN);
            let frozen = dice.happens(0.3);
            let to = from + dice.span(50, 4_000);
            self.weather.outages.push(Outage {
                pod,
                from,
                to,
                frozen,
            });
            let cut = (0..self.pods).filter(|cut| pod.is_none_or(|pod| pod == *cut));
            self.acts
                .extend(cut.map(|pod| (to, Act::Reconnect { pod })));
        }
        for _ in 0..dice.number(0, 2) {
            let key = dice
                .happens(0.6)
                .then(|| dice.number(0, self.keys.len() - 1));
            self.acts.push((dice.span(0, SPAN), Act::Lose { key }));
        }
    }
}

fn key(dice: &mut Dice, climate: Climate) -> KeyPlan {
    let site = dice.number(0, SITES.len() - 1);
    let calm = matches!(climate, Climate::Calm | Climate::Deaf);
    let style = if dice.happens(0.8) {
        Style::Detached
    } else {
        Style::Inline
    };
    let slow = dice.happens(0.15);
    let bodies = (0..8)
        .map(|_| {
            let longest = if calm {
                600
            } else if slow {
                7_000
            } else {
                1_500
            };
            let shortest = if dice.happens(0.1) { 0 } else { 5 };
            let takes = dice.span(shortest, longest);
            Body {
                takes,
                ends: match dice.number(0, 19) {
                    0..=2 if !SITES[site].1.plain => How::Error,
                    3 | 4 if !calm => How::Panic,
                    5..=7 if !calm && SITES[site].1.small_payload => How::Large,
                    _ => How::Value,
                },
            }
        })
        .collect();
    KeyPlan {
        site,
        style,
        bodies,
    }
}
