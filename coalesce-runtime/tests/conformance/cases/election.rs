//! BEGIN: who leads, who follows, and who is answered by a state.

use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    BeginAnswer, BeginAsk, FinishAsk, RenewAnswer, Seen, Token, Traceparent,
};

use crate::asks::{
    LONG, SHORT, begin, begin_below, done, followed, invalidation, is_lead, lead, lead_for,
    leave_value, ms, put, renew,
};
use crate::world::World;

/// The first asker of a key leads, below no state.
pub(crate) async fn c001_begin_on_nothing_leads(w: &World) {
    let answer = w.here.begin(&w.key("k"), begin(Token::random())).await;
    let seen = Seen::NOTHING;
    assert_eq!(answer, BeginAnswer::Lead { seen });
}

/// A leader whose answer was lost asks again and learns that it leads already.
pub(crate) async fn c002_the_same_token_asked_again_gets_the_same_answer(w: &World) {
    let (key, token) = (w.key("k"), Token::random());
    let first = w.here.begin(&key, begin(token)).await;
    assert_eq!(w.here.begin(&key, begin(token)).await, first);
    let other = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&other), Some(token));
}

/// Only a renewal prolongs a lease: a lost answer must not make a silent owner look alive.
pub(crate) async fn c003_asking_again_does_not_prolong_the_lease(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    assert!(is_lead(&w.here.begin(&key, begin(token)).await));
    w.pass(SHORT).await;
    assert!(is_lead(&w.there.begin(&key, begin(Token::random())).await));
}

/// Whoever asks next is told whom to follow, in which trace, and how long that one's lease lives.
pub(crate) async fn c004_a_second_token_follows_the_first(w: &World) {
    let key = w.key("k");
    let token = Token::random();
    let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let traced = BeginAsk {
        trace: Traceparent::parse(text),
        ..begin(token)
    };
    assert!(is_lead(&w.here.begin(&key, traced).await));
    let answer = w.there.begin(&key, begin(Token::random())).await;
    let BeginAnswer::Follow {
        leader,
        lease_left,
        seen,
        trace,
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert_eq!((leader, seen), (token, Seen::NOTHING));
    assert_eq!(trace, Traceparent::parse(text));
    assert!(
        lease_left <= LONG && lease_left > LONG / 2,
        "{lease_left:?}"
    );
}

/// The lease told to a follower is what is left, not what was asked for.
pub(crate) async fn c005_the_lease_told_to_a_follower_shrinks(w: &World) {
    let key = w.key("k");
    lead(&w.here, &key).await;
    w.pass(ms(300)).await;
    let answer = w.there.begin(&key, begin(Token::random())).await;
    let BeginAnswer::Follow { lease_left, .. } = answer else {
        panic!("{answer:?}")
    };
    assert!(lease_left + ms(300) <= LONG, "{lease_left:?}");
}

/// Following asks for nothing: however often, it neither prolongs nor shortens the leader's lease.
pub(crate) async fn c006_followers_do_not_touch_the_lease(w: &World) {
    let key = w.key("k");
    let token = lead_for(&w.here, &key, SHORT).await;
    let impatient = BeginAsk {
        lease: ms(1),
        ..begin(Token::random())
    };
    assert_eq!(followed(&w.there.begin(&key, impatient).await), Some(token));
    let patient = begin(Token::random());
    assert_eq!(followed(&w.there.begin(&key, patient).await), Some(token));
    w.pass(SHORT).await;
    assert!(is_lead(&w.there.begin(&key, patient).await));
}

/// The end of a lease is seen, and used, by the next question: that is the takeover.
pub(crate) async fn c007_the_end_of_the_lease_lets_the_next_asker_lead(w: &World) {
    let key = w.key("k");
    let dead = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let heir = BeginAsk {
        seen: Some(Seen::NOTHING),
        following: Some(dead),
        ..begin(Token::random())
    };
    assert!(is_lead(&w.there.begin(&key, heir).await));
}

/// A leader that slept through its lease finds itself a follower of the one that took over.
pub(crate) async fn c008_the_superseded_leader_follows_its_successor(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = lead(&w.there, &key).await;
    assert_eq!(followed(&w.here.begin(&key, begin(old)).await), Some(new));
}

/// However many waiters see a lease end in the same moment, one of them takes over.
pub(crate) async fn c009_exactly_one_of_the_waiters_takes_over(w: &World) {
    let key = w.key("k");
    let dead = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    assert_eq!(leaders_among(w, &key, 20, Some(dead)).await, 1);
}

/// A hundred processes that meet on a cold key run one body.
pub(crate) async fn c010_a_hundred_concurrent_askers_elect_exactly_one(w: &World) {
    assert_eq!(leaders_among(w, &w.key("k"), 100, None).await, 1);
}

async fn leaders_among(w: &World, key: &Key, askers: usize, following: Option<Token>) -> usize {
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..askers {
        let side = if number % 2 == 0 { &w.here } else { &w.there };
        let (side, key) = (side.clone(), key.clone());
        let ask = BeginAsk {
            following,
            ..begin(Token::random())
        };
        asked.spawn(async move { side.begin(&key, ask).await });
    }
    let answers = asked.join_all().await;
    assert_eq!(answers.len(), askers);
    answers.iter().filter(|answer| is_lead(answer)).count()
}

/// An outcome that the asker has not seen is the answer, as the bytes that are stored.
pub(crate) async fn c011_another_state_than_the_one_seen_is_the_answer(w: &World) {
    let key = w.key("k");
    leave_value(&w.here, &key, b"value").await;
    let answer = w
        .there
        .begin(&key, begin_below(Token::random(), Seen::NOTHING))
        .await;
    let stored = w.here.read(&key).await.unwrap();
    assert_eq!(answer, BeginAnswer::State(stored));
}

/// A state is the answer before the lock is looked at: waiters are released while a new flight runs.
pub(crate) async fn c012_another_state_is_the_answer_even_while_a_flight_runs(w: &World) {
    let key = w.key("k");
    let value = leave_value(&w.here, &key, b"value").await;
    let ask = begin_below(Token::random(), value);
    assert!(is_lead(&w.here.begin(&key, ask).await));
    let late = begin_below(Token::random(), Seen::NOTHING);
    let answer = w.there.begin(&key, late).await;
    assert!(matches!(answer, BeginAnswer::State(_)), "{answer:?}");
}

/// The state an asker has seen is not an answer to it; it is elected.
pub(crate) async fn c013_the_state_that_was_seen_does_not_stop_an_election(w: &World) {
    let key = w.key("k");
    let old = leave_value(&w.here, &key, b"old").await;
    let answer = w.there.begin(&key, begin_below(Token::random(), old)).await;
    assert_eq!(answer, BeginAnswer::Lead { seen: old.into() });
}

/// Where nothing is retained, whatever is there is old; its mark tells it from what comes.
pub(crate) async fn c014_whoever_wants_no_state_leads_and_learns_its_mark(w: &World) {
    let key = w.key("k");
    let old = leave_value(&w.here, &key, b"old").await;
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(answer, BeginAnswer::Lead { seen: old.into() });
    let answer = w.there.begin(&key, begin(Token::random())).await;
    let BeginAnswer::Follow { seen, .. } = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(seen, old.into());
}

/// When the state that was seen has expired, there is nothing to answer with.
pub(crate) async fn c015_an_expired_state_is_no_answer(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    let ask = FinishAsk {
        life: SHORT,
        ..done(token, b"brief")
    };
    w.here.finish(&key, ask).await;
    w.pass(SHORT).await;
    let answer = w
        .there
        .begin(&key, begin_below(Token::random(), token))
        .await;
    let seen = Seen::NOTHING;
    assert_eq!(answer, BeginAnswer::Lead { seen });
}

/// "There is no outcome" is no outcome: nobody is answered by an invalidation.
pub(crate) async fn c016_an_invalidated_state_is_skipped(w: &World) {
    let key = w.key("k");
    let old = leave_value(&w.here, &key, b"old").await;
    let invalidation = invalidation();
    let mark = Seen::from(invalidation.envelope.token);
    w.here.replace(&key, invalidation).await;
    let answer = w.there.begin(&key, begin_below(Token::random(), old)).await;
    assert_eq!(answer, BeginAnswer::Lead { seen: mark });
}

/// After an invalidation the flight in progress is no newcomer's flight.
pub(crate) async fn c017_a_newcomer_does_not_join_a_fenced_flight(w: &World) {
    let key = w.key("k");
    lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let newcomer = lead(&w.there, &key).await;
    let next = w.here.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&next), Some(newcomer));
}

/// Those who had joined a flight before it was fenced still get its outcome, so they go on waiting.
pub(crate) async fn c018_a_follower_of_a_fenced_flight_goes_on_following_it(w: &World) {
    let key = w.key("k");
    let fenced = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let ask = BeginAsk {
        following: Some(fenced),
        ..begin_below(Token::random(), Seen::NOTHING)
    };
    assert_eq!(followed(&w.there.begin(&key, ask).await), Some(fenced));
}

/// To have followed some flight is not to have joined this one before its fence.
pub(crate) async fn c019_a_follower_of_another_flight_does_not_join_a_fenced_one(w: &World) {
    let key = w.key("k");
    lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    let ask = BeginAsk {
        following: Some(Token::random()),
        ..begin_below(Token::random(), Seen::NOTHING)
    };
    assert!(is_lead(&w.there.begin(&key, ask).await));
}

/// A fenced flight is over when its lease is, also for those who follow it.
pub(crate) async fn c020_a_follower_of_a_fenced_flight_takes_over_when_its_lease_ends(w: &World) {
    let key = w.key("k");
    let fenced = lead_for(&w.here, &key, SHORT).await;
    w.there.replace(&key, invalidation()).await;
    w.pass(SHORT).await;
    let ask = BeginAsk {
        following: Some(fenced),
        ..begin_below(Token::random(), Seen::NOTHING)
    };
    assert!(is_lead(&w.there.begin(&key, ask).await));
}

/// The owner of a fenced flight leads it still, and it is fenced still.
pub(crate) async fn c021_a_fenced_leader_that_asks_again_still_leads(w: &World) {
    let key = w.key("k");
    let token = lead(&w.here, &key).await;
    w.there.replace(&key, invalidation()).await;
    assert!(is_lead(&w.here.begin(&key, begin(token)).await));
    let answer = w.here.renew(renew(&key, token)).await;
    assert!(matches!(answer, RenewAnswer::Fenced { .. }), "{answer:?}");
}

/// A fence belongs to one flight: the next one is as good as any.
pub(crate) async fn c022_the_flight_after_a_fenced_one_is_not_fenced(w: &World) {
    let key = w.key("k");
    lead(&w.here, &key).await;
    w.there.replace(&key, put(Token::random(), b"put")).await;
    let next = lead(&w.here, &key).await;
    let answer = w.there.begin(&key, begin(Token::random())).await;
    assert_eq!(followed(&answer), Some(next));
}

/// Whoever follows a flight that was superseded meanwhile is sent to the one in progress.
pub(crate) async fn c023_a_follower_of_a_superseded_flight_is_sent_to_its_successor(w: &World) {
    let key = w.key("k");
    let old = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let new = lead(&w.there, &key).await;
    let ask = BeginAsk {
        following: Some(old),
        ..begin_below(Token::random(), Seen::NOTHING)
    };
    assert_eq!(followed(&w.there.begin(&key, ask).await), Some(new));
}
