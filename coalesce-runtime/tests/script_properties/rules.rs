//! The rules, held against what was seen on the server before and after one question, and nothing else.

use coalesce_runtime::coordination::Status;

use crate::seen::Sight;
use crate::stage::{LIFE, Played, hex};
use crate::story::Question;

/// What a broken rule is called.
type Rule = (&'static str, fn(&Played<'_>) -> bool);

/// In the words of the protocol.
const RULES: [Rule; 6] = [
    ("whatever is written expires (S11)", everything_expires),
    (
        "only a holder's outcome is stored (S3)",
        only_a_holder_stores,
    ),
    ("only a holder frees its lock (S4)", only_a_holder_frees),
    (
        "a failure never replaces a value that is to be spared (S7)",
        values_are_spared,
    ),
    (
        "a lock has one way in: free, or fenced and left behind (S1)",
        locks_are_taken_when_free,
    ),
    ("a fence stays until its lock is gone (S3)", fences_stay),
];

pub(crate) fn broken(played: &Played<'_>) -> Option<&'static str> {
    let broken = RULES.iter().find(|(_, holds)| !holds(played));
    broken.map(|(name, _)| *name)
}

fn everything_expires(played: &Played<'_>) -> bool {
    let longest = i64::try_from(LIFE.as_millis()).unwrap_or(i64::MAX);
    let Sight {
        lock,
        state,
        lock_left,
        state_left,
        ..
    } = played.after;
    (lock.is_none() || (0..=90_000).contains(lock_left))
        && (state.is_none() || (0..=longest).contains(state_left))
}

fn only_a_holder_stores(played: &Played<'_>) -> bool {
    let (before, after) = (played.before, played.after);
    let changed = before.state != after.state;
    match played.question {
        Question::Finish {
            flight, may_retake, ..
        } => {
            let holder = before.lock.as_ref();
            let held =
                holder.is_some_and(|lock| lock.holder == hex(*flight) && lock.fenced.is_none());
            let retaken = holder.is_none() && *may_retake && before.mark() == played.mark;
            !changed || held || retaken
        }
        Question::Replace { .. } | Question::StateVanishes => true,
        _ => !changed,
    }
}

fn only_a_holder_frees(played: &Played<'_>) -> bool {
    let Some(lock) = &played.before.lock else {
        return true;
    };
    let freed = played.after.lock.is_none();
    match played.question {
        Question::Finish { flight, .. } | Question::Abandon { flight } => {
            !freed || lock.holder == hex(*flight)
        }
        Question::LockVanishes => true,
        _ => !freed,
    }
}

fn values_are_spared(played: &Played<'_>) -> bool {
    let (before, after) = (played.before, played.after);
    match (played.question, &before.state, &after.state) {
        (
            Question::Finish {
                status: Status::Failed,
                spare_value: Some(_),
                ..
            },
            Some(old),
            Some(new),
        ) if before.status() == Some(b'D') => {
            // Its status, age and payload, and no longer a life than before.
            new[3] == b'D'
                && old[40..56] == new[40..56]
                && old[64..] == new[64..]
                && after.state_left <= before.state_left
        }
        (
            Question::Finish {
                spare_value: Some(_),
                status: Status::Failed,
                ..
            },
            Some(_),
            None,
        ) => false,
        _ => true,
    }
}

fn locks_are_taken_when_free(played: &Played<'_>) -> bool {
    let holder = |sight: &Sight| sight.lock.as_ref().map(|lock| lock.holder.clone());
    let (old, new) = (holder(played.before), holder(played.after));
    if new.is_none() || new == old {
        return true;
    }
    let fenced = played
        .before
        .lock
        .as_ref()
        .is_some_and(|lock| lock.fenced.is_some());
    match played.question {
        Question::Begin {
            flight, following, ..
        } => {
            let left_behind = fenced && following.map(hex) != old;
            new == Some(hex(*flight)) && (old.is_none() || left_behind)
        }
        Question::Renew {
            flight, may_retake, ..
        } => {
            let retaken = *may_retake && played.before.mark() == played.mark;
            new == Some(hex(*flight)) && old.is_none() && retaken
        }
        _ => false,
    }
}

fn fences_stay(played: &Played<'_>) -> bool {
    match (&played.before.lock, &played.after.lock) {
        (Some(old), Some(new)) if old.holder == new.holder => {
            let replaced = matches!(played.question, Question::Replace { .. });
            old.fenced == new.fenced || (replaced && old.fenced.is_none())
        }
        _ => true,
    }
}
