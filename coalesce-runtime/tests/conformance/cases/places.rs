//! Foreign bytes and odd keys: what stands in a state's place, and which place is a key's.

use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    BeginAnswer, Envelope, FinishAnswer, FinishAsk, RenewAnswer, RenewAsk, Seen, Status, Token,
};

use crate::asks::{
    SHORT, begin, begin_below, done, envelope, failed, followed, is_lead, lead, lead_for,
    leave_value, ms, renew,
};
use crate::world::World;

/// States that nobody can read: too short for a mark, with half a mark, long, of another format
/// version, another key's, cut off.
fn unreadable(w: &World, key: &Key) -> Vec<Vec<u8>> {
    let ours = envelope(Status::Done, Token::random(), &b"value"[..]).encode(key);
    let others =
        envelope(Status::Done, Token::random(), &b"value"[..]).encode(&w.key("another key"));
    let mut future = ours.to_vec();
    future[2] = 200;
    vec![
        b"x".to_vec(),
        b"hello, world".to_vec(),
        vec![b'I'; 30],
        vec![0; 500],
        future,
        others.to_vec(),
        ours[..ours.len() - 1].to_vec(),
    ]
}

/// Bytes that cannot be read are handed out as they are: to judge them is the reader's business.
pub(crate) async fn c105_a_read_hands_out_whatever_is_there(w: &World) {
    let key = w.key("k");
    assert_eq!(w.here.read(&key).await, None);
    for bytes in unreadable(w, &key) {
        w.plant(&key, bytes.clone()).await;
        assert_eq!(w.there.read(&key).await.unwrap(), bytes);
    }
}

/// A state that cannot be read stops nobody who has looked at it.
pub(crate) async fn c106_an_unreadable_state_does_not_stop_an_election(w: &World) {
    for (number, bytes) in unreadable(w, &w.key("0")).into_iter().enumerate() {
        let key = w.key(&number.to_string());
        let mark = Seen::of_state(Some(&bytes));
        w.plant(&key, bytes).await;
        let answer = w.here.begin(&key, begin_below(Token::random(), mark)).await;
        assert_eq!(answer, BeginAnswer::Lead { seen: mark }, "number {number}");
    }
}

/// A state that cannot be read is old to whoever wants no state, and has a mark like any other.
pub(crate) async fn c107_an_unreadable_state_has_a_mark(w: &World) {
    for (number, bytes) in unreadable(w, &w.key("0")).into_iter().enumerate() {
        let key = w.key(&number.to_string());
        w.plant(&key, bytes.clone()).await;
        let answer = w.here.begin(&key, begin(Token::random())).await;
        let seen = Seen::of_state(Some(&bytes));
        assert_eq!(answer, BeginAnswer::Lead { seen }, "number {number}");
        let answer = w.there.begin(&key, begin(Token::random())).await;
        assert!(matches!(answer, BeginAnswer::Follow { seen: told, .. } if told == seen));
    }
}

/// What cannot be read is overwritten by the next outcome.
pub(crate) async fn c108_an_unreadable_state_is_overwritten(w: &World) {
    for (number, bytes) in unreadable(w, &w.key("0")).into_iter().enumerate() {
        let key = w.key(&number.to_string());
        w.plant(&key, bytes).await;
        let token = leave_value(&w.here, &key, b"value").await;
        assert_eq!(w.there.state(&key).await.token, token);
    }
}

/// A state that cannot be read is no reason to give up a lock that is merely gone.
pub(crate) async fn c109_a_lock_is_retaken_below_an_unreadable_state(w: &World) {
    let key = w.key("k");
    let bytes = vec![7; 30];
    let seen = Seen::of_state(Some(&bytes));
    w.plant(&key, bytes).await;
    let token = lead_for(&w.here, &key, SHORT).await;
    w.pass(SHORT).await;
    let ask = RenewAsk {
        seen,
        ..renew(&key, token)
    };
    assert_eq!(w.here.renew(ask).await, RenewAnswer::Held);
    let ask = FinishAsk {
        seen,
        ..done(token, b"value")
    };
    assert_eq!(w.here.finish(&key, ask).await, FinishAnswer::Stored);
}

/// What cannot be read is no value to be spared, unless it looks like one; then nothing breaks.
pub(crate) async fn c110_a_failed_refresh_of_an_unreadable_state_breaks_nothing(w: &World) {
    for (number, bytes) in unreadable(w, &w.key("0")).into_iter().enumerate() {
        let key = w.key(&number.to_string());
        w.plant(&key, bytes).await;
        let token = lead(&w.here, &key).await;
        let ask = FinishAsk {
            spare_value: Some(ms(1_000)),
            ..failed(token, b"error")
        };
        let answer = w.here.finish(&key, ask).await;
        assert!(
            matches!(answer, FinishAnswer::Stored | FinishAnswer::Spared),
            "{answer:?}"
        );
        let token = leave_value(&w.here, &key, b"value").await;
        assert_eq!(w.there.state(&key).await.token, token);
    }
}

/// Keys that a careless encoding would mix up, put in the wrong slot, or refuse.
fn odd_keys(w: &World) -> Vec<Key> {
    let long = "x".repeat(10 * 1024);
    let longer = format!("{long}x");
    let namespace = w.key("").namespace().to_string();
    let parts: [&[&str]; 16] = [
        &[],
        &[""],
        &["", ""],
        &["a:b"],
        &["a", "b"],
        &["{a}"],
        &["}{"],
        &["{}"],
        &["%7Ba%7D"],
        &["%"],
        &["\0"],
        &["\0\0"],
        &["ключ 🗝"],
        &["*?[a]\r\n"],
        &[&long],
        &[&longer],
    ];
    let mut keys: Vec<Key> = Vec::new();
    for parts in parts {
        let parts: Vec<_> = parts
            .iter()
            .map(|part| part as &dyn coalesce_runtime::KeyPart)
            .collect();
        keys.push(Key::new(namespace.clone(), &parts));
        keys.push(Key::new(format!("{namespace}:{{}}\0"), &parts));
    }
    keys
}

/// Locks of different keys are different locks.
pub(crate) async fn c111_odd_keys_have_locks_of_their_own(w: &World) {
    let keys = odd_keys(w);
    let mut tokens = Vec::new();
    for key in &keys {
        tokens.push(lead(&w.here, key).await);
    }
    for (key, token) in keys.iter().zip(tokens) {
        let answer = w.there.begin(key, begin(Token::random())).await;
        assert_eq!(followed(&answer), Some(token), "{}", key.tag());
    }
}

/// States and messages of different keys are different, too.
pub(crate) async fn c112_odd_keys_have_states_and_messages_of_their_own(w: &World) {
    let keys = odd_keys(w);
    let mut left = Vec::new();
    for key in &keys {
        let ear = w.there.listen(key).await;
        left.push((ear, leave_value(&w.here, key, b"value").await));
    }
    for (key, (mut ear, token)) in keys.iter().zip(left) {
        assert_eq!(w.there.state(key).await.token, token);
        assert_eq!(ear.hears_outcome().await.0.token, token);
        ear.has_heard_nothing(&w.here, key).await;
    }
}

/// A new version of a call site has keys of its own.
pub(crate) async fn c113_versions_of_a_call_site_do_not_meet(w: &World) {
    let namespace = w.key("").namespace().clone();
    let of = |version| coalesce_runtime::KeyBuilder::default().finish(namespace.clone(), version);
    for key in [of(None), of(Some(0)), of(Some(1))] {
        assert!(is_lead(&w.here.begin(&key, begin(Token::random())).await));
    }
}

/// A value is its key's: moved to another place, it is noticed.
pub(crate) async fn c114_a_state_proves_whose_it_is(w: &World) {
    let (key, other) = (w.key("k"), w.key("other"));
    leave_value(&w.here, &key, b"value").await;
    let bytes = w.there.read(&key).await.unwrap();
    assert!(Envelope::decode(&key, &bytes).is_ok());
    assert!(Envelope::decode(&other, &bytes).is_err());
}
