//! The call sites of the simulated service, and what its functions return.

use std::time::Duration;

use coalesce_runtime::Error;
use coalesce_runtime::contract::{CallSite, place, register};
use serde::{Deserialize, Serialize};

/// A value says which key and which run it is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    pub key: usize,
    pub nonce: usize,
    pub padding: String,
}

/// An error says the same, or which of the library's it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    Body { key: usize, nonce: usize },
    Ours(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Ours(error.label().to_owned())
    }
}

/// What the checker needs to know of a call site. Clocks in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub name: &'static str,
    pub fresh: u64,
    pub stale: u64,
    pub pending: u64,
    pub wait: u64,
    pub keep_errors: u64,
    pub retries: bool,
    pub fails_without_redis: bool,
    /// Returns a plain value: there is no way to return an error of the library.
    pub plain: bool,
    /// Values that a body calls large are above the ceiling.
    pub small_payload: bool,
}

const PLAIN_TERMS: Terms = Terms {
    name: "in_flight",
    fresh: 0,
    stale: 0,
    pending: 5_000,
    wait: 8_000,
    keep_errors: 0,
    retries: false,
    fails_without_redis: false,
    plain: false,
    small_payload: false,
};

const fn site(terms: &Terms) -> CallSite {
    let ms = Duration::from_millis;
    let mut site = CallSite::new(terms.name, place!())
        .namespace(terms.name)
        .pending_ttl_is(ms(terms.pending))
        .wait_timeout_is(ms(terms.wait));
    if terms.stale > 0 {
        site = site
            .fresh_ttl_is(ms(terms.fresh))
            .stale_ttl_is(ms(terms.stale));
    }
    if terms.keep_errors > 0 {
        site = site.keep_errors_is(ms(terms.keep_errors));
    }
    if terms.retries {
        site = site.errors("retry");
    }
    if terms.fails_without_redis {
        site = site.on_redis_error("fail");
    }
    if terms.small_payload {
        site = site.max_payload("64");
    }
    site
}

macro_rules! sites {
    ($($name:ident: { $($field:ident: $value:expr),* };)*) => {
        $(
            static $name: CallSite = site(&Terms { $($field: $value,)* ..PLAIN_TERMS });
            register!(&$name);
        )*

        /// Every call site with its terms.
        pub static SITES: &[(&CallSite, Terms)] = &[
            $((&$name, Terms { $($field: $value,)* ..PLAIN_TERMS }),)*
        ];
    };
}

sites! {
    IN_FLIGHT: { name: "in_flight" };
    SHORT: { name: "short", pending: 1_000, wait: 2_000 };
    FRESH: { name: "fresh", fresh: 2_000, stale: 2_000 };
    SWR: { name: "swr", fresh: 700, stale: 6_000 };
    RETRY: { name: "retry", retries: true };
    KEPT: { name: "kept", fresh: 1_000, stale: 1_000, keep_errors: 1_500 };
    LARGE: { name: "large", fresh: 1_000, stale: 1_000, small_payload: true };
    STRICT: { name: "strict", fresh: 500, stale: 3_000, fails_without_redis: true };
    STRICT_IN_FLIGHT: { name: "strict_in_flight", fails_without_redis: true };
    PLAIN: { name: "plain", plain: true, pending: 2_000, wait: 3_000 };
    PLAIN_FRESH: { name: "plain_fresh", plain: true, fresh: 1_000, stale: 4_000 };
}
