//! Refreshes: one run behind stale answers, elected in the whole fleet.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument as _, Span};

use super::core::Core;
use super::driver::Driver;
use super::entry::Lane;
use super::heartbeat::Election;
use super::leader::Runner;
use super::member::Member;
use crate::engine::ask::{AbandonAsk, BeginAnswer, BeginAsk};
use crate::engine::lease::lease_at;
use crate::format::envelope::Seen;
use crate::ports::event::Cause;
use crate::words::clock::now;
use crate::words::fault::Fault;
use crate::words::key::Key;
use crate::words::policy::Policy;
use crate::words::token::Token;

/// How long a process that lost the election leaves the matter alone, at most.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// A refresh that may start, and lacks its body.
#[derive(Debug)]
pub(crate) struct Opening {
    member: Member,
    outdated: Seen,
    permit: OwnedSemaphorePermit,
    span: Span,
}

/// An opening for a refresh of the state marked `outdated`, unless this process is at one already or has too many
/// of them.
pub(crate) fn open(core: &Arc<Core>, key: &Key, outdated: Seen, call: &Span) -> Option<Opening> {
    if core.is_stopping() {
        return None;
    }
    let member = core.fold.join(Lane::Refresh, key, false)?;
    if !member.reads() {
        return None;
    }
    let permit = Arc::clone(&core.refreshes).try_acquire_owned().ok()?;
    let span = tracing::debug_span!(
        parent: call.id().or_else(|| Span::current().id()),
        "coalesce.refresh",
        namespace = &**key.namespace(),
        outcome = tracing::field::Empty,
    );
    Some(Opening {
        member,
        outdated,
        permit,
        span,
    })
}

impl Opening {
    /// The span of the refresh.
    pub(crate) const fn span(&self) -> &Span {
        &self.span
    }

    /// Starts the refresh.
    pub(crate) fn start(mut self, core: &Arc<Core>, policy: &Arc<Policy>, runner: Runner) {
        if self.member.hand_over() {
            let trace = self.span.in_scope(|| core.traces.current());
            let driver = Driver::new(core, policy, self.member.entry(), Cause::Refresh, trace);
            let refresh = refresh(driver, self.outdated, runner, self.permit);
            tokio::spawn(refresh.instrument(self.span));
        }
    }
}

/// How the election of a refresh ended, in the words of its span.
fn label(answer: &Result<BeginAnswer, Fault>) -> &'static str {
    match answer {
        Ok(BeginAnswer::Lead { .. }) => "led",
        Ok(BeginAnswer::State(_)) => "done_already",
        Ok(BeginAnswer::Follow { .. }) => "led_elsewhere",
        Err(fault) => fault.label(),
    }
}

async fn refresh(driver: Driver, outdated: Seen, runner: Runner, permit: OwnedSemaphorePermit) {
    let token = Token::random();
    let settings = driver.core.settings;
    let pending = driver.policy.clocks().pending();
    let lease = lease_at(Duration::ZERO, settings.lease, pending).unwrap_or(settings.lease);
    let ask = BeginAsk {
        token,
        lease,
        seen: Some(outdated),
        following: None,
        trace: driver.trace,
    };
    let asking = driver.core.asking.one_more();
    if driver.core.hands_over() {
        return;
    }
    let asked_at = now();
    let mut election = Election {
        token,
        seen: outdated,
        asked_at,
        confirmed: asked_at,
    };
    let answer = driver
        .core
        .coordinator
        .begin(driver.entry.key(), &ask)
        .await;
    Span::current().record("outcome", label(&answer));
    match answer {
        Ok(BeginAnswer::Lead { seen }) => {
            election.seen = seen;
            driver.lead(election, Some(asking), Some(runner)).await;
        }
        // Somebody has refreshed it in the meantime.
        Ok(BeginAnswer::State(_)) => {}
        // Somebody is at it. The entry stays for a while, so that not every stale answer asks again.
        Ok(BeginAnswer::Follow { lease_left, .. }) => {
            // A rest is no refresh: it must not keep other keys from theirs.
            drop((asking, permit, runner));
            rest(driver, lease_left.min(LONGEST_REST)).await;
        }
        Err(fault) => {
            if fault.may_have_been_executed() {
                // Unheard, the lease ends by itself.
                let _ = driver.let_go(AbandonAsk::gives_way(election.token)).await;
            }
            drop((asking, permit, runner));
            rest(driver, settings.refresh_pause).await;
        }
    }
}

/// Keeps the entry for so long and does nothing.
async fn rest(driver: Driver, pause: Duration) {
    let _resting = driver.retire();
    tokio::time::sleep(pause).await;
}
