//! The nemesis: chooses by its seed which fault comes next, does it, and heals it when its time has come.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;

use super::Plan;
use super::faults::Fault;
use super::stage::Stage;
use crate::ledger::now_micros;
use crate::orders::Affliction;
use crate::proxy::{Cut, Mode, Way, holds};
use crate::server::RedisServer;

const MS: u64 = 1_000;

/// Recovery is noticed within a second of healing, and the machine is busy.
const RECOVERY: u64 = 2_000 * MS;

pub(super) struct Nemesis {
    dice: Rng,
    faults: Vec<Fault>,
    rest: u64,
    next: u64,
    wounds: Vec<Wound>,
    /// How many of each were done.
    pub(super) done: BTreeMap<Fault, u64>,
    pub(super) last: Option<Fault>,
    /// Each of them, and from when until when it was there, in microseconds since the Unix epoch.
    log: Vec<(Fault, u64, u64)>,
}

/// A fault that is to be healed.
struct Wound {
    fault: Fault,
    since: u64,
    due: u64,
    /// The number of the pod, or the place of the server.
    place: usize,
}

impl Nemesis {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            dice: Rng::with_seed(plan.seed),
            faults: Fault::of(plan.layout),
            rest: u64::try_from(plan.rest.as_micros()).expect("a short rest"),
            next: 0,
            wounds: Vec::new(),
            done: BTreeMap::new(),
            last: None,
            log: Vec::new(),
        }
    }

    /// Heals what is due, and does the next thing if it is time for one.
    pub(super) fn act(&mut self, stage: &mut Stage) {
        self.heal(stage, now_micros());
        if now_micros() < self.next || stage.left() < Duration::from_secs(1) {
            return;
        }
        self.next = now_micros() + self.dice.u64(self.rest / 3..=self.rest);
        let Some(&fault) = self.dice.choice(&self.faults.clone()) else {
            return;
        };
        let is_taken = |wound: &Wound| !wound.fault.is_of_pods() && !wound.fault.is_of_way();
        let taken = if fault.is_of_pods() {
            false
        } else if fault.is_of_way() {
            self.wounds.iter().any(|wound| wound.fault.is_of_way())
        } else {
            self.wounds.iter().any(is_taken)
        };
        if !taken {
            self.hurt(stage, fault);
        }
    }

    /// Heals everything.
    pub(super) fn rest(&mut self, stage: &mut Stage) {
        self.heal(stage, u64::MAX);
        stage.servers.is_complete();
    }

    fn hurt(&mut self, stage: &mut Stage, fault: Fault) {
        let since = now_micros();
        if let Some((place, lasts)) = self.inflict(stage, fault) {
            *self.done.entry(fault).or_default() += 1;
            self.last = Some(fault);
            self.wounds.push(Wound {
                fault,
                since,
                due: now_micros() + lasts,
                place,
            });
        }
    }

    /// What was done in the seconds before a moment: how long before it began and was over, in milliseconds.
    pub(super) fn before(&self, moment: u64) -> String {
        let ago = |at: u64| (moment.cast_signed() - at.cast_signed()) / 1_000;
        let near = |(_, since, until): &&(Fault, u64, u64)| ago(*since) > 0 && ago(*until) < 6_000;
        let log = self.log.iter().filter(near);
        let told =
            log.map(|(fault, since, until)| format!("{fault:?} {}..{}", ago(*since), ago(*until)));
        told.collect::<Vec<_>>().join(", ")
    }

    fn span(&mut self, from_ms: u64, to_ms: u64) -> u64 {
        self.dice.u64(from_ms * MS..=to_ms * MS)
    }

    /// Does it: where, and for how many microseconds.
    fn inflict(&mut self, stage: &mut Stage, fault: Fault) -> Option<(usize, u64)> {
        match fault {
            Fault::Cut => {
                let how = [Cut::Close, Cut::Reset, Cut::HalfClose];
                stage.servers.proxy()?.cut(*self.dice.choice(&how)?);
                Some((0, 0))
            }
            Fault::LoseReplies => {
                let times = self.dice.u32(1..=4);
                let cuts = self.dice.bool();
                let asked = |bytes: &[u8]| holds(bytes, b"EVALSHA");
                stage.servers.proxy()?.lose_replies(times, asked, cuts);
                Some((0, self.span(300, 600)))
            }
            _ if fault.is_of_pods() => self.hurt_pod(stage, fault),
            _ if fault.is_of_way() => self.hurt_way(stage, fault),
            _ => self.hurt_server(stage, fault),
        }
    }

    fn hurt_pod(&mut self, stage: &mut Stage, fault: Fault) -> Option<(usize, u64)> {
        let by_chance = self.dice.usize(..stage.pods.len());
        // A leader, if there is one: others are missed by nobody.
        let number = match fault {
            Fault::PodStop => by_chance,
            _ => stage.leader().unwrap_or(by_chance),
        };
        if stage.pods[number].stopped_since.is_some() {
            return None;
        }
        let pod = &mut stage.pods[number].pod;
        match fault {
            Fault::BodyPanic => pod.suffer(Affliction::Panic),
            Fault::EndlessBody => pod.suffer(Affliction::EndlessBody),
            Fault::CallersGo => pod.suffer(Affliction::Departure),
            Fault::PodKill => stage.replace(number),
            Fault::PodEnd => stage.retire(number),
            _ => stage.stop(number),
        }
        let lasts = match fault {
            Fault::PodStop => self.span(100, 1_200),
            Fault::PodStopPastLease => self.span(3_500, 4_500),
            // It may hold its key for two seconds, and a poll is a second later at most.
            Fault::EndlessBody => self.span(3_200, 4_200),
            Fault::PodEnd => self.span(500, 1_500),
            _ => 0,
        };
        Some((number, lasts))
    }

    /// Turns the kill switch off by a pod, which tells all others. By whom, and for how long.
    fn switch_off(&mut self, stage: &mut Stage) -> Option<(usize, u64)> {
        let number = self.dice.usize(..stage.pods.len());
        if stage.pods[number].stopped_since.is_some() || !stage.has_time() {
            return None;
        }
        // Who cannot turn it may have done so all the same.
        stage.pods[number].pod.turns(false);
        Some((number, self.span(100, 400)))
    }

    /// Moves the slot of a key that is in use.
    fn move_slot(&mut self, stage: &Stage, primaries: &[usize]) -> Option<(usize, u64)> {
        let names = ["*:lock:*", "*:state:*"].map(|names| stage.servers.topology().keys(names));
        let name = self.dice.choice(&names.concat())?.clone();
        let place = *self.dice.choice(primaries)?;
        stage.servers.move_slot(&name, place).then_some((place, 0))
    }

    fn hurt_way(&mut self, stage: &mut Stage, fault: Fault) -> Option<(usize, u64)> {
        let proxy = stage.servers.proxy()?;
        let ways = [Way::Up, Way::Down, Way::Both];
        proxy.set(match fault {
            Fault::Delay => Mode::Delay {
                by: Duration::from_millis(5),
                jitter: Duration::from_millis(15),
            },
            Fault::Stall => Mode::Stall,
            Fault::Swallow => Mode::Swallow(*self.dice.choice(&ways)?),
            Fault::Corrupt => Mode::Corrupt,
            Fault::TurnAway => Mode::CloseAtOnce,
            _ => Mode::SwallowMessages,
        });
        Some((0, self.span(200, 1_200)))
    }

    fn hurt_server(&mut self, stage: &mut Stage, fault: Fault) -> Option<(usize, u64)> {
        // A fail-over is still going on at times, and the servers are told of it.
        stage.servers.is_complete();
        let primaries = stage.servers.primaries();
        match fault {
            Fault::SwitchOff => return self.switch_off(stage),
            Fault::SlotMove => return self.move_slot(stage, &primaries),
            _ => {}
        }
        let place = *self.dice.choice(&primaries)?;
        let lasts = match fault {
            Fault::RedisKill => self.span(100, 1_000),
            Fault::RedisStop
            | Fault::RefuseWrites
            | Fault::ForeignType
            | Fault::ForbidScripts
            | Fault::ForbidMessages => self.span(200, 1_500),
            // The replica takes over, and some more.
            Fault::PrimaryKill | Fault::PrimaryStop => self.span(4_500, 6_000),
            Fault::SentinelKill => self.span(1_000, 3_000),
            _ => 0,
        };
        match fault {
            Fault::RedisKill | Fault::PrimaryKill => stage.servers.kill(place),
            Fault::RedisStop | Fault::PrimaryStop => stage.servers.server(place).freeze(),
            Fault::FailOver => stage.servers.fail_over(place),
            Fault::SentinelKill => {
                let place = self.dice.usize(..3);
                stage.servers.sentinel(place)?.kill();
                return Some((place, lasts));
            }
            Fault::RedisPause => {
                let (ms, all) = (self.dice.u64(200..1_000), self.dice.bool());
                let which = if all { "ALL" } else { "WRITE" };
                stage
                    .servers
                    .tell(&["CLIENT", "PAUSE", &ms.to_string(), which]);
                return Some((place, ms * MS));
            }
            Fault::RefuseWrites => stage.servers.tell(&["CONFIG", "SET", "maxmemory", "1"]),
            Fault::Flush => stage.servers.tell(&["FLUSHALL"]),
            Fault::DeleteLocks => each_key(stage, "*:lock:*", delete),
            Fault::DeleteStates => each_key(stage, "*:state:*", delete),
            Fault::Garbage => each_key(stage, "*:state:*", |server, key| {
                server.command(&["SET", key, "nobody's", "KEEPTTL", "XX"]);
            }),
            Fault::ForeignType => each_key(stage, "*:lock:*", |server, key| {
                server.command(&["EVAL", LIST, "1", key]);
            }),
            Fault::ForbidScripts => forbid(stage, "-evalsha"),
            Fault::ForbidMessages => forbid(stage, "-publish"),
            Fault::ForgetScripts => stage.servers.tell(&["SCRIPT", "FLUSH"]),
            Fault::KillClients => stage.servers.tell(&["CLIENT", "KILL", "TYPE", "normal"]),
            Fault::KillSubscribers => stage.servers.tell(&["CLIENT", "KILL", "TYPE", "pubsub"]),
            _ => return None,
        }
        Some((place, lasts))
    }

    fn heal(&mut self, stage: &mut Stage, until: u64) {
        let (due, later) = std::mem::take(&mut self.wounds)
            .into_iter()
            .partition(|wound: &Wound| wound.due <= until);
        self.wounds = later;
        for wound in due {
            wound.heal(stage);
            let healed = now_micros();
            self.log.push((wound.fault, wound.since, healed));
            if wound.fault.is_reason() {
                let noticed = healed + RECOVERY;
                let over = if wound.fault.moves_primaries() {
                    noticed
                } else {
                    healed
                };
                stage.trouble.push(wound.since..=over);
                stage.aftermath.push(over..=noticed);
            } else if wound.fault.is_in_the_way() {
                stage.aftermath.push(wound.since..=healed + RECOVERY);
            } else if wound.fault == Fault::SwitchOff {
                stage.switched.push(wound.since..=healed);
            }
        }
    }
}

impl Wound {
    fn heal(&self, stage: &mut Stage) {
        match self.fault {
            Fault::PodStop | Fault::PodStopPastLease => stage.go_on(self.place),
            Fault::PodEnd => stage.see_off(),
            Fault::EndlessBody => stage.pods[self.place].pod.suffer(Affliction::Relief),
            Fault::SwitchOff => stage.switch_on(self.place),
            Fault::RedisKill | Fault::PrimaryKill => stage.servers.restart(self.place),
            Fault::RedisStop | Fault::PrimaryStop => stage.servers.server(self.place).go_on(),
            Fault::SentinelKill => {
                if let Some(sentinel) = stage.servers.sentinel(self.place) {
                    sentinel.restart();
                }
            }
            Fault::RefuseWrites => {
                for server in stage.servers.topology().servers() {
                    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
                }
            }
            Fault::ForeignType => each_key(stage, "*:lock:*", |server, key| {
                if server.ask(&["TYPE", key]) == "list" {
                    delete(server, key);
                }
            }),
            Fault::ForbidScripts | Fault::ForbidMessages => forbid(stage, "+@all"),
            Fault::LoseReplies => {
                if let Some(proxy) = stage.servers.proxy() {
                    proxy.lose_replies(0, |_| false, false);
                }
            }
            // It is over at once.
            Fault::Cut => {}
            fault if fault.is_of_way() => {
                if let Some(proxy) = stage.servers.proxy() {
                    proxy.set(Mode::Pass);
                }
            }
            _ => {}
        }
    }
}

/// A list in the place of a lock, which expires like one.
const LIST: &str = "redis.call('DEL', KEYS[1]); redis.call('RPUSH', KEYS[1], 'x'); \
                    redis.call('PEXPIRE', KEYS[1], 3000)";

fn each_key(stage: &Stage, pattern: &str, act: impl Fn(&RedisServer, &str)) {
    for server in stage.servers.topology().primaries() {
        for key in server.command(&["KEYS", pattern]).list() {
            act(server, &key.text());
        }
    }
}

fn delete(server: &RedisServer, key: &str) {
    server.command(&["DEL", key]);
}

/// On every server that runs, for another may lead by the time of healing. Who starts again knows nothing of it.
fn forbid(stage: &Stage, rule: &str) {
    for server in stage.servers.topology().servers() {
        if server.is_running() {
            server.command(&["ACL", "SETUSER", "default", rule]);
        }
    }
}
