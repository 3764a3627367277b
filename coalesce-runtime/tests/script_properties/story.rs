//! Stories: questions of few callers about one key, and what befalls the key between them.

use coalesce_runtime::coordination::Status;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::{option, sample};

/// What a story is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    Begin,
    Renew,
    Finish,
    FailedRefresh,
    Abandon,
    Replace,
    Look,
}

/// The mark that an asker gives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Nothing,
    /// That of the state as it is.
    OfNow,
    /// That of a flight, which may have left the state or not.
    Of(u8),
}

/// When a body began whose election may have been later: the clocks of the two sides have nothing in common.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Began {
    /// Before any state was written.
    Long,
    /// Behind all of them.
    JustNow,
}

/// Who asks: flights have the numbers 1 to 3. Those who replace have tokens of their own, as they do in life.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Begin {
        flight: u8,
        seconds: u64,
        unwanted: Option<Mark>,
        following: Option<u8>,
    },
    Renew {
        flight: u8,
        seconds: u64,
        seen: Mark,
        may_retake: bool,
    },
    Finish {
        flight: u8,
        status: Status,
        payload: usize,
        seen: Mark,
        may_retake: bool,
        spare_value: Option<u64>,
        began: Option<Began>,
    },
    Abandon {
        flight: u8,
    },
    Replace {
        by: u8,
        status: Status,
    },
    Look,
    /// The lock is gone: its lease ended, or it was evicted.
    LockVanishes,
    /// The state is gone.
    StateVanishes,
}

/// Why a server writes nothing, or nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// OOM: nothing may grow.
    Full,
    /// READONLY: another's copy.
    ReadOnly,
}

/// A question, and how often it is asked in a row: replies get lost.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) question: Question,
    /// It is asked of such a server before.
    pub(crate) refused: Option<Refusal>,
    pub(crate) times: u8,
}

/// Any questions, with every third one about the script.
pub(crate) fn story_about(script: Script) -> impl Strategy<Value = Vec<Step>> {
    let scene = prop_oneof![4 => alone(any_question()), 1 => value(), 2 => about(script)];
    let asked = scene.prop_flat_map(|scene| {
        let how = vec((1..=3_u8, option::weighted(0.15, refusal())), scene.len());
        (Just(scene), how).prop_map(|(scene, how)| {
            let steps = scene.into_iter().zip(how);
            steps
                .map(|(question, (times, refused))| Step {
                    question,
                    refused,
                    times,
                })
                .collect::<Vec<_>>()
        })
    });
    vec(asked, 1..20).prop_map(|scenes| scenes.concat())
}

fn refusal() -> impl Strategy<Value = Refusal> {
    sample::select(vec![Refusal::Full, Refusal::ReadOnly])
}

fn about(script: Script) -> BoxedStrategy<Vec<Question>> {
    match script {
        // As a rule nothing comes between the two, and then several may fail in a row.
        Script::FailedRefresh => prop_oneof![1 => alone(failed_refresh()), 3 => refresh()].boxed(),
        script => alone(question_of(script)).boxed(),
    }
}

fn alone(question: impl Strategy<Value = Question>) -> impl Strategy<Value = Vec<Question>> {
    question.prop_map(|question| vec![question])
}

/// A flight that returns a value, with nothing in between.
fn value() -> impl Strategy<Value = Vec<Question>> {
    (flight(), payload()).prop_map(|(flight, payload)| {
        let finish = Question::Finish {
            flight,
            status: Status::Done,
            payload,
            seen: Mark::OfNow,
            may_retake: true,
            spare_value: Some(1_000_000),
            began: None,
        };
        vec![begun(flight), finish]
    })
}

/// A refresh that fails, with nothing in between.
fn refresh() -> impl Strategy<Value = Vec<Question>> {
    failed_refresh().prop_map(|failed| match failed {
        Question::Finish { flight, .. } => vec![begun(flight), failed],
        other => vec![other],
    })
}

fn begun(flight: u8) -> Question {
    Question::Begin {
        flight,
        seconds: 30,
        unwanted: Some(Mark::OfNow),
        following: None,
    }
}

fn any_question() -> impl Strategy<Value = Question> {
    prop_oneof![
        // Flights that begin and end as flights do, so that stories get somewhere.
        4 => begin(),
        4 => finish(),
        1 => renew(),
        1 => failed_refresh(),
        1 => flight().prop_map(|flight| Question::Abandon { flight }),
        1 => replace(),
        1 => Just(Question::LockVanishes),
        1 => Just(Question::StateVanishes),
    ]
}

fn question_of(script: Script) -> BoxedStrategy<Question> {
    match script {
        Script::Begin => begin().boxed(),
        Script::Renew => renew().boxed(),
        Script::Finish => finish().boxed(),
        Script::FailedRefresh => failed_refresh().boxed(),
        Script::Abandon => flight()
            .prop_map(|flight| Question::Abandon { flight })
            .boxed(),
        Script::Replace => replace().boxed(),
        Script::Look => Just(Question::Look).boxed(),
    }
}

fn flight() -> impl Strategy<Value = u8> {
    1..=3_u8
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        1 => Just(Mark::Nothing),
        3 => Just(Mark::OfNow),
        1 => flight().prop_map(Mark::Of),
        1 => (11..=13_u8).prop_map(Mark::Of),
    ]
}

fn begin() -> impl Strategy<Value = Question> {
    (
        flight(),
        30..90_u64,
        option::of(mark()),
        option::of(flight()),
    )
        .prop_map(|(flight, seconds, unwanted, following)| Question::Begin {
            flight,
            seconds,
            unwanted,
            following,
        })
}

fn renew() -> impl Strategy<Value = Question> {
    (flight(), 30..90_u64, mark(), any::<bool>()).prop_map(|(flight, seconds, seen, may_retake)| {
        Question::Renew {
            flight,
            seconds,
            seen,
            may_retake,
        }
    })
}

/// Payloads small, empty, and on both sides of what travels in a message.
fn payload() -> impl Strategy<Value = usize> {
    sample::select(vec![0, 1, 7, 300, 8 * 1024, 8 * 1024 + 1])
}

fn finish() -> impl Strategy<Value = Question> {
    let statuses = vec![Status::Done, Status::Done, Status::Failed, Status::TooLarge];
    let status = sample::select(statuses);
    let pauses = option::of(pause());
    let began = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Began::Long)),
        1 => Just(Some(Began::JustNow)),
    ];
    (
        flight(),
        status,
        payload(),
        mark(),
        any::<bool>(),
        pauses,
        began,
    )
        .prop_map(
            |(flight, status, payload, seen, may_retake, spare_value, began)| Question::Finish {
                flight,
                status,
                payload,
                seen,
                may_retake,
                spare_value,
                began,
            },
        )
}

/// The first pause in microseconds: from nothing to more than the longest.
fn pause() -> impl Strategy<Value = u64> {
    sample::select(vec![0, 1, 1_000_000, 7_500_000, 90_000_000])
}

fn failed_refresh() -> impl Strategy<Value = Question> {
    (flight(), payload(), pause()).prop_map(|(flight, payload, pause)| Question::Finish {
        flight,
        status: Status::Failed,
        payload,
        seen: Mark::OfNow,
        may_retake: true,
        spare_value: Some(pause),
        began: None,
    })
}

fn replace() -> impl Strategy<Value = Question> {
    let statuses = sample::select(vec![Status::Done, Status::Invalidated]);
    (11..=13_u8, statuses).prop_map(|(by, status)| Question::Replace { by, status })
}
