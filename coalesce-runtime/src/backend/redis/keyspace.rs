//! The names of a key in Redis, and the cluster slot they share.

use bytes::Bytes;
use fred::util::redis_keyslot;

use crate::words::key::Key;
use crate::words::key_text::escaped_prefix;
use crate::words::switch::switch_key;

/// Every name starts with the application's prefix; two prefixes never see each other's entries.
#[derive(Clone, Debug)]
pub(super) struct Keyspace {
    prefix: String,
    /// The slot of the switch.
    switch: u16,
}

impl Keyspace {
    pub(super) fn new(prefix: &str) -> Self {
        let prefix = escaped_prefix(prefix);
        let switch = redis_keyslot(switch_of(&prefix).as_bytes());
        Self { prefix, switch }
    }

    /// The cluster slot of everything that belongs to `key`; the switch has one as well.
    pub(super) fn slot(&self, key: &Key) -> u16 {
        if key == switch_key() {
            self.switch
        } else {
            slot_of(key)
        }
    }

    /// Holds the owner's token while a flight is in progress.
    pub(super) fn lock(&self, key: &Key) -> Bytes {
        self.name("lock", key).into()
    }

    /// Holds the envelope of the last flight.
    pub(super) fn state(&self, key: &Key) -> Bytes {
        self.name("state", key).into()
    }

    /// The channel on which the end of a flight is told.
    pub(super) fn channel(&self, key: &Key) -> String {
        self.name("notify", key)
    }

    /// The hash of the kill switch, and the channel on which its changes are told.
    pub(super) fn switch(&self) -> String {
        switch_of(&self.prefix)
    }

    /// The sorted set of the namespaces that processes know, by when it was last said.
    pub(super) fn known(&self) -> String {
        format!("{}:namespaces", self.prefix)
    }

    fn name(&self, what: &str, key: &Key) -> String {
        format!("{}:{what}:{{{}}}", self.prefix, key.tag())
    }
}

fn switch_of(prefix: &str) -> String {
    format!("{prefix}:switch")
}

/// The cluster slot of everything that belongs to `key`: the tag between the braces decides alone.
pub(super) fn slot_of(key: &Key) -> u16 {
    redis_keyslot(key.tag().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key::new("shop::get_order", &[&"a{b}c", &42])
    }

    #[test]
    fn the_three_names_are_readable() {
        let names = Keyspace::new("coalesce");
        let tag = "{shop::get_order:a%7Bb%7Dc:42}";
        assert_eq!(names.lock(&key()), format!("coalesce:lock:{tag}"));
        assert_eq!(names.state(&key()), format!("coalesce:state:{tag}"));
        assert_eq!(names.channel(&key()), format!("coalesce:notify:{tag}"));
    }

    #[test]
    fn what_is_of_no_key_has_a_name_below_the_prefix() {
        let names = Keyspace::new("{shop}");
        assert_eq!(names.switch(), "%7Bshop%7D:switch");
        assert_eq!(names.known(), "%7Bshop%7D:namespaces");
    }

    #[test]
    fn the_three_names_share_the_slot_of_their_tag() {
        let names = Keyspace::new("{shop}:");
        for name in [
            names.lock(&key()),
            names.state(&key()),
            names.channel(&key()).into(),
        ] {
            assert_eq!(redis_keyslot(&name), slot_of(&key()));
            assert_eq!(redis_keyslot(&name), names.slot(&key()));
        }
        let switch = redis_keyslot(names.switch().as_bytes());
        assert_eq!(names.slot(switch_key()), switch);
    }

    #[test]
    fn two_prefixes_never_give_one_name() {
        let names = |prefix| Keyspace::new(prefix).lock(&key());
        assert_ne!(names("a"), names("a:lock"));
        assert_ne!(names("a:"), names("a%3A"));
    }
}
