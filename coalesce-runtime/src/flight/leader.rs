//! Leading: offer the seat, keep the lease while the body runs, and bring the outcome home.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::oneshot;

use super::core::Counted;
use super::driver::Driver;
use super::heartbeat::{Election, Hold};
use super::report::{Produced, Report};
use super::seat::{Ended, Seat};
use super::settlement::{Settlement, Verdict};
use crate::engine::ask::{AbandonAsk, FinishAnswer, FinishAsk};
use crate::engine::lease::beat_of;
use crate::engine::reading::life_of;
use crate::format::envelope::{Envelope, Seen};
use crate::ports::event::Incident;
use crate::words::clock::{Instant, ServerTime, now};
use crate::words::fault::Fault;

/// What a flight has to say at its end.
#[derive(Clone, Copy, Debug)]
pub(super) enum LastWord<'a> {
    /// There is an outcome.
    Outcome {
        report: &'a Report,
        /// Whether a lock that is merely gone may be taken again.
        may_retake: bool,
    },
    /// The body brought none.
    BodyFailed,
    /// There was no body under this lock, or it ended with its caller.
    GivesWay,
}

impl LastWord<'_> {
    /// What a flight without an outcome is to those who wait for it here.
    const fn settlement(self) -> Settlement {
        Settlement::for_all(match self {
            Self::GivesWay => Verdict::GaveWay,
            _ => Verdict::Abandoned,
        })
    }
}

/// Runs a body that was prepared beforehand, and reports.
pub(crate) type Runner = Box<dyn FnOnce(Seat) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

impl Driver {
    /// Leads: the body comes from whoever takes the seat, or from `runner`.
    ///
    /// The hold rests before the lock is freed: a beat on its way while the lock is freed and the state is
    /// what it was would take it again, for nobody.
    pub(crate) async fn lead(
        mut self,
        election: Election,
        asking: Option<Counted>,
        runner: Option<Runner>,
    ) {
        let pending = self.policy.clocks().pending();
        self.entry.is_led_in(self.trace);
        let hold = self.core.heartbeat.hold(election, &self.entry, pending);
        drop(asking);
        let refreshes = runner.is_some();
        // One that hangs is dropped while its lock is still there, so that it counts as a failed one.
        let last_word = self.core.coordinator.deadline().min(pending / 8);
        let limit = if refreshes {
            pending.saturating_sub(last_word)
        } else {
            pending
        };
        let report = self.body(election.asked_at + limit, runner).await;
        let hold = hold.rest();
        match report {
            Ok(report) => self.bring_home(hold, report).await,
            // A refresh that panics or hangs is a failed one: it must pause like any other.
            Err(_) if refreshes => self.bring_home(hold, Report::of_nothing()).await,
            Err(word) => self.abandon(hold, word).await,
        }
    }

    /// Runs the body for this process alone, for `limit` at most: behind it those who wait are free, and newcomers as
    /// well. `granted`: the lock that it may have all the same.
    pub(crate) async fn run_solo(mut self, granted: Option<Hold>, limit: Duration) {
        let report = self.body(now() + limit, None).await;
        self.settle(match &report {
            Ok(report) => report.shared_here(Seen::NOTHING, report.ended),
            Err(word) => word.settlement(),
        });
        match (granted, report) {
            // Nobody was heard to say that the key is ours: a lock that is gone is not taken again.
            (Some(hold), Ok(report)) => {
                let word = LastWord::Outcome {
                    report: &report,
                    may_retake: false,
                };
                self.insist(&hold, word).await;
            }
            (Some(hold), Err(word)) => self.insist(&hold, word).await,
            (None, _) => {}
        }
    }

    /// Waits for the body's report, or for what is to be said without one.
    async fn body(
        &mut self,
        pending_until: Instant,
        runner: Option<Runner>,
    ) -> Result<Report, LastWord<'static>> {
        self.core.fold.runs_here(&self.entry);
        let (sender, mut report) = oneshot::channel();
        let seat = Seat::new(&self.core.fold, &self.entry, self.cause, sender);
        let refresh = match runner {
            Some(runner) => Some(tokio::spawn(runner(seat))),
            None => {
                self.entry.offer(seat);
                None
            }
        };
        let mut pending_until = Some(pending_until);
        let beat = beat_of(self.core.settings.lease);
        let mut look_at = now() + beat;
        loop {
            tokio::select! {
                // In this order: a body that has ended counts more than that nobody waits for it.
                biased;
                ended = &mut report => return match ended {
                    Ok(Ended::WithReport(report)) => Ok(report),
                    Ok(Ended::InPanic) => Err(LastWord::BodyFailed),
                    Err(_) => Err(LastWord::GivesWay),
                },
                () = self.entry.emptied() => self.core.fold.withdraw_if_empty(&self.entry),
                () = tokio::time::sleep_until(look_at) => {
                    look_at = now() + beat;
                    self.core.heartbeat.tend();
                }
                () = reached(pending_until) => {
                    // The key is free for others now, and so are those who wait here: one of them
                    // will lead. The body's own caller still gets its own value.
                    pending_until = None;
                    drop(self.entry.take_seat());
                    // A refresh has no caller, its outcome would be refused, and its place is wanted by other keys.
                    if let Some(refresh) = &refresh {
                        refresh.abort();
                    }
                    self.settle(Settlement::for_all(Verdict::Outlived));
                }
            }
        }
    }

    async fn bring_home(&mut self, hold: Hold, report: Report) {
        let election = hold.election();
        let asking = self.core.asking.one_more();
        if let Some(spare) = report.spare(election.token.into()) {
            self.core.fold.lend(&self.entry, &spare);
        }
        let answer = self
            .core
            .coordinator
            .finish(self.entry.key(), &self.finish_ask(election, &report))
            .await;
        drop(asking);
        let for_arrivals_until = match answer {
            Ok(FinishAnswer::Stored) | Err(_) => Some(report.ended),
            Ok(FinishAnswer::Spared) => {
                self.core.tell(self.entry.key(), Incident::RefreshFailed);
                Some(report.ended)
            }
            Ok(FinishAnswer::Fenced { at }) => {
                self.core.tell(self.entry.key(), Incident::Fenced);
                self.core
                    .coordinator
                    .clock(self.entry.key())
                    .surely_before(at)
                    .map(|at| at.min(report.ended))
            }
            Ok(FinishAnswer::Lost) => {
                self.core.tell(self.entry.key(), Incident::Fenced);
                Some(election.confirmed)
            }
        };
        match for_arrivals_until {
            Some(until) => self.settle(report.shared_here(election.token.into(), until)),
            None => self.settle(Settlement::for_all(Verdict::StartAgain)),
        }
        if let Err(fault) = answer {
            tokio::time::sleep(self.pause_behind(fault)).await;
            let word = LastWord::Outcome {
                report: &report,
                may_retake: true,
            };
            self.insist(&hold, word).await;
        }
    }

    /// Says the last word of a flight, or of one that may have been granted, until it is heard. Nobody here
    /// waits for that any more; but a server that hung may take the lock for an asker that gave up
    /// long ago, and without this word everybody would wait for the end of its lease.
    pub(super) async fn insist(&self, hold: &Hold, word: LastWord<'_>) {
        let election = hold.election();
        let until = election.asked_at + self.policy.clocks().pending();
        let said_at = now();
        loop {
            let Err(fault) = self.say(election, word).await else {
                return;
            };
            let goes_on = match fault {
                Fault::Timeout | Fault::Disconnected | Fault::Paused => true,
                // It has been heard. Once its lease is over, the lock is no longer there to be freed.
                _ => now() - said_at < self.core.settings.lease,
            };
            if !goes_on || now() >= until || self.core.is_stopping() {
                return;
            }
            // However long it takes: a server that is there again may first do what it was asked for long ago.
            tokio::time::sleep(self.pause_behind(fault)).await;
        }
    }

    /// How long a last word that was not heard waits until it is said again. A connection that was cut is there again
    /// soon, and followers wait for what it was to carry.
    fn pause_behind(&self, fault: Fault) -> Duration {
        let beat = beat_of(self.core.settings.lease);
        match fault {
            Fault::Disconnected => beat / 20,
            _ => beat / 4,
        }
    }

    async fn say(&self, election: Election, word: LastWord<'_>) -> Result<(), Fault> {
        let (coordinator, key) = (&self.core.coordinator, self.entry.key());
        match word {
            LastWord::BodyFailed => self.let_go(AbandonAsk::body_failed(election.token)).await,
            LastWord::GivesWay => self.let_go(AbandonAsk::gives_way(election.token)).await,
            LastWord::Outcome { report, may_retake } => {
                let ask = self.finish_ask(election, report);
                let retake_until = if may_retake {
                    ask.retake_until
                } else {
                    ServerTime::default()
                };
                let ask = FinishAsk {
                    retake_until,
                    // A BEGIN that was done late, or once more, gives a lock to a body that is long over.
                    began: Some(coordinator.clock(key).server_surely_before(report.started)),
                    ..ask
                };
                match coordinator.finish(key, &ask).await? {
                    // There may be a lock that was granted too late for its body.
                    FinishAnswer::Lost => self.let_go(AbandonAsk::gives_way(election.token)).await,
                    _ => Ok(()),
                }
            }
        }
    }

    fn finish_ask(&self, election: Election, report: &Report) -> FinishAsk {
        let Produced {
            status,
            codec,
            payload,
            ..
        } = &report.produced;
        let ran_for = report.ended.saturating_duration_since(report.started);
        let clocks = self.policy.clocks();
        let envelope = Envelope::new(*status, *codec, election.token, ran_for, payload.clone());
        // Not "now less the way": followers compare their arrival with it, and nobody may receive
        // what had ended before it arrived.
        let clock = self.core.coordinator.clock(self.entry.key());
        let computed_at = clock.server_surely_before(report.ended);
        let retake_until = (election.asked_at + clocks.pending())
            .min(election.confirmed + self.core.settings.retake_window());
        FinishAsk {
            envelope: Envelope {
                computed_at,
                trace: report.trace,
                ..envelope
            },
            ended_ago: now().saturating_duration_since(report.ended),
            life: life_of(*status, &self.policy, self.core.settings.delivery),
            seen: election.seen,
            retake_until: clock.server_surely_before(retake_until),
            began: None,
            spare_value: clocks.retains().then_some(self.core.settings.refresh_pause),
        }
    }

    async fn abandon(&mut self, hold: Hold, word: LastWord<'_>) {
        self.core.heartbeat.arrived().await;
        // Unheard, the lease ends by itself, and a follower's poll finds that.
        let freed = self.say(hold.election(), word).await.is_ok();
        self.settle(word.settlement());
        if !freed {
            tokio::time::sleep(beat_of(self.core.settings.lease) / 4).await;
            self.insist(&hold, word).await;
        }
    }

    /// Frees the lock, if it holds this token.
    pub(super) async fn let_go(&self, ask: AbandonAsk) -> Result<(), Fault> {
        let (coordinator, key) = (&self.core.coordinator, self.entry.key());
        coordinator.abandon(key, ask).await.map(drop)
    }
}

/// The moment itself, or never.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
