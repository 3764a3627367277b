//! Rights: what the user of Redis must be allowed to do, and whether it is.

use super::PATIENCE;
use crate::backend::redis::{Plain, RedisCoordinator};
use crate::words::key::Key;

/// A right, as a rule names it, and what is noticed without it.
pub(crate) struct Right {
    pub(crate) rule: &'static str,
    pub(crate) without: &'static str,
    command: Vec<String>,
}

/// Whether something is allowed; nobody may be allowed to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    Yes,
    No,
    NotTold,
}

const NOT_SHARED: &str = "nothing is shared between processes: bodies run once in each";
const POLLED: &str = "followers learn of an outcome by polling, up to a second late";
const STUCK: &str =
    "a failed refresh or an invalidation does not end; the lock stays until its lease ends";
const LEASES: &str = "leases are not renewed: a body longer than its lease is run twice";
const READ_ONLY: &str =
    "a read-only server is not told apart from a good one: followers wait there until a lease ends";
const LATER: &str = "a dead connection is found later, or made again for nothing";
const SWITCH: &str = "the kill switch cannot be turned, or is not obeyed";
const MOVING: &str = "while a slot is being moved to another node, its keys are not shared";
const UNKNOWN: &str = "the switch of a namespace of another process is reported as unknown";

/// Every right that the library needs, with a command that uses it on names of this prefix.
pub(crate) fn rights(redis: &RedisCoordinator) -> Vec<Right> {
    let [lock, state, channel] = redis.names_of(&Key::new("coalesce-ctl", &[]));
    let (switch, known) = (redis.switch_name(), redis.known_name());
    let right = |rule: &'static str, words: &[&str], without| Right {
        rule,
        without,
        command: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let mut rights = vec![
        right("+evalsha", &["evalsha", "x", "1", &lock], NOT_SHARED),
        right("+eval", &["eval", "return 1", "1", &lock], NOT_SHARED),
        right("+get", &["get", &state], NOT_SHARED),
        right("+set", &["set", &lock, "x", "PX", "1"], NOT_SHARED),
        right("+del", &["del", &lock], NOT_SHARED),
        right("+pttl", &["pttl", &lock], NOT_SHARED),
        right("+getrange", &["getrange", &state, "0", "1"], NOT_SHARED),
        right("+time", &["time"], NOT_SHARED),
        right("+pexpire", &["pexpire", &lock, "1"], LEASES),
        right("+getex", &["getex", &state], READ_ONLY),
        right("+strlen", &["strlen", &state], STUCK),
        right("+setrange", &["setrange", &state, "0", "x"], STUCK),
        right("+publish", &["publish", &channel, "x"], POLLED),
        right("+subscribe", &["subscribe", &channel], POLLED),
        right("+unsubscribe", &["unsubscribe", &channel], LATER),
        right("+ping", &["ping"], LATER),
        right("+info", &["info"], LATER),
        right("+client|id", &["client", "id"], LATER),
        right("+hget", &["hget", &switch, "x"], SWITCH),
        right("+hset", &["hset", &switch, "x", "y"], SWITCH),
        right("+hdel", &["hdel", &switch, "x"], SWITCH),
        right("+hgetall", &["hgetall", &switch], SWITCH),
        right("+zadd", &["zadd", &known, "1", "x"], UNKNOWN),
        right("+zrange", &["zrange", &known, "0", "-1"], UNKNOWN),
        right(
            "+zremrangebyscore",
            &["zremrangebyscore", &known, "0", "0"],
            UNKNOWN,
        ),
    ];
    if redis.is_clustered() {
        rights.push(right("+cluster|slots", &["cluster", "slots"], NOT_SHARED));
        rights.push(right("+asking", &["asking"], MOVING));
    }
    rights
}

/// The node that serves a slot is asked about the very user that asks; nothing is executed.
pub(crate) async fn allowed(redis: &RedisCoordinator, slot: u16, right: &Right) -> Allowed {
    match dry_run(redis, slot, right).await {
        Allowed::NotTold => in_a_script(redis, slot, right).await,
        told => told,
    }
}

/// By `ACL DRYRUN`, which few users may call.
async fn dry_run(redis: &RedisCoordinator, slot: u16, right: &Right) -> Allowed {
    let user = redis.plain_at(slot, &["ACL", "WHOAMI"], PATIENCE).await;
    let Some(user) = user.ok().and_then(|user| user.text()) else {
        return Allowed::NotTold;
    };
    let mut words = vec!["ACL", "DRYRUN", &user];
    words.extend(right.command.iter().map(String::as_str));
    match redis.plain_at(slot, &words, PATIENCE).await {
        Ok(Plain::Text(text)) if &*text == b"OK" => Allowed::Yes,
        Ok(Plain::Text(_)) => Allowed::No,
        _ => Allowed::NotTold,
    }
}

/// By a function that scripts have since Redis 7.
async fn in_a_script(redis: &RedisCoordinator, slot: u16, right: &Right) -> Allowed {
    const SCRIPT: &str = "return redis.acl_check_cmd(unpack(ARGV)) and 1 or 0";
    let mut words = vec!["EVAL", SCRIPT, "0"];
    words.extend(right.command.iter().map(String::as_str));
    match redis.plain_at(slot, &words, PATIENCE).await {
        Ok(Plain::Number(1)) => Allowed::Yes,
        Ok(Plain::Number(_)) => Allowed::No,
        Err(text) if text.starts_with("NOPERM") && right.rule == "+eval" => Allowed::No,
        _ => Allowed::NotTold,
    }
}
