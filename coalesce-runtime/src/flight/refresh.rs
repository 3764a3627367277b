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
use crate::engine::ask::{BeginAnswer, BeginAsk};
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

/// Starts a refresh of the state marked `outdated`, unless this process is at one already or has
/// too many of them. `prepare` copies what the body needs; it is called only if the refresh starts.
pub(crate) fn start(
    core: &Arc<Core>,
    policy: &Arc<Policy>,
    key: &Key,
    outdated: Seen,
    call: &Span,
    prepare: impl FnOnce(&Span) -> Runner,
) {
    if core.is_stopping() {
        return;
    }
    let Some(mut member) = core.fold.join(Lane::Refresh, key, false) else {
        return;
    };
    if !member.reads() {
        return;
    }
    let Ok(permit) = Arc::clone(&core.refreshes).try_acquire_owned() else {
        return;
    };
    let span = tracing::debug_span!(
        parent: call.id().or_else(|| Span::current().id()),
        "coalesce.refresh",
        namespace = &**key.namespace(),
        outcome = tracing::field::Empty,
    );
    let runner = prepare(&span);
    if member.hand_over() {
        let trace = span.in_scope(|| core.traces.current());
        let driver = Driver::new(core, policy, member.entry(), Cause::Refresh, trace);
        let refresh = refresh(driver, outdated, runner, permit);
        tokio::spawn(refresh.instrument(span));
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
    let asking = driver.core.elections.one_more();
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
            drop((asking, permit));
            tokio::time::sleep(lease_left.min(LONGEST_REST)).await;
        }
        Err(fault) => {
            if fault.may_have_been_executed() {
                driver.free(election).await;
            }
            drop((asking, permit));
            tokio::time::sleep(settings.refresh_pause).await;
        }
    }
}
