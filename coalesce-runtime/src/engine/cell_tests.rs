//! The rules at their very moments, which no test with a real clock can meet.

use super::*;

#[test]
fn a_lock_may_be_taken_again_until_a_moment_and_not_at_it() {
    let key = Key::new("shop::get_order", &[&42]);
    let token = Token::from_bytes([7; Token::LEN]);
    let end = ServerTime::from_micros(5_000_000);
    let before = end.minus(Duration::from_micros(1));
    let renewal = RenewAsk {
        key: key.clone(),
        token,
        seen: Seen::NOTHING,
        lease: Duration::from_secs(3),
        retake_until: end,
    };
    let renewed = |now| Cell::default().renew(now, &renewal);
    assert_eq!(renewed(before), RenewAnswer::Held);
    assert_eq!(renewed(end), RenewAnswer::Lost);
    let finish = FinishAsk {
        envelope: Envelope::new(Status::Done, 1, token, Duration::ZERO, Bytes::new()),
        ended_ago: Duration::ZERO,
        life: Duration::from_secs(60),
        seen: Seen::NOTHING,
        retake_until: end,
        began: None,
        spare_value: None,
    };
    let finished = |now| Cell::default().finish(now, &key, &finish).answer;
    assert_eq!(finished(before), FinishAnswer::Stored);
    assert_eq!(finished(end), FinishAnswer::Lost);
}
