//! Call sites: what an attribute wrote down, and the policy it becomes.

use std::time::Duration;

use super::site_reader::Reader;
use crate::config::interpolation::Lookup;
use crate::config::quantity::{size, switch};
use crate::words::error::Problem;
use crate::words::policy::{MissingHeader, OnError, OnRedisError, Policy};

/// One annotated function, as written: a constant in the user's program.
///
/// Texts may hold `${NAME:default}`; they become a [`Policy`] when a coalescer is built.
#[derive(Clone, Copy, Debug)]
pub struct CallSite {
    pub(super) function: &'static str,
    pub(super) place: Place,
    pub(super) namespace: Option<&'static str>,
    /// The entry's function, where the path of a call is its path and not that of the annotated one.
    pub(super) in_entry: Option<&'static str>,
    version: Option<u32>,
    pub(super) fresh_ttl: Option<Clock>,
    pub(super) stale_ttl: Option<Clock>,
    pub(super) pending_ttl: Option<Clock>,
    pub(super) wait_timeout: Option<Clock>,
    keep_errors: Option<Clock>,
    max_payload: Option<&'static str>,
    enabled: Option<&'static str>,
    self_bypass: Option<&'static str>,
    pub(super) header_keys: &'static [&'static str],
    missing_header: Option<&'static str>,
    errors: Option<&'static str>,
    on_redis_error: Option<&'static str>,
}

/// Where a call site is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The module that it is in, with its crate.
    pub(super) module: &'static str,
    pub(super) file: &'static str,
    pub(super) line: u32,
}

impl Place {
    /// That place.
    pub const fn new(module: &'static str, file: &'static str, line: u32) -> Self {
        Self { module, file, line }
    }
}

const MISSING_HEADER: [(&str, MissingHeader); 3] = [
    ("bypass", MissingHeader::Bypass),
    ("error", MissingHeader::Error),
    ("empty", MissingHeader::Empty),
];
const ERRORS: [(&str, OnError); 2] = [("share", OnError::Share), ("retry", OnError::Retry)];
const ON_REDIS_ERROR: [(&str, OnRedisError); 2] =
    [("run", OnRedisError::Run), ("fail", OnRedisError::Fail)];

/// A duration as written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    Text(&'static str),
    Is(Duration),
}

macro_rules! clocks {
    ($($text:ident, $is:ident;)*) => {$(
        #[doc = concat!("`", stringify!($text), "`, as text.")]
        #[must_use]
        pub const fn $text(mut self, text: &'static str) -> Self {
            self.$text = Some(Clock::Text(text));
            self
        }

        #[doc = concat!("`", stringify!($text), "`, as a constant.")]
        #[must_use]
        pub const fn $is(mut self, duration: Duration) -> Self {
            self.$text = Some(Clock::Is(duration));
            self
        }
    )*};
}

macro_rules! texts {
    ($($option:ident,)*) => {$(
        #[doc = concat!("`", stringify!($option), "`.")]
        #[must_use]
        pub const fn $option(mut self, text: &'static str) -> Self {
            self.$option = Some(text);
            self
        }
    )*};
}

impl CallSite {
    /// A call site with nothing but defaults.
    pub const fn new(function: &'static str, place: Place) -> Self {
        Self {
            function,
            place,
            namespace: None,
            in_entry: None,
            version: None,
            fresh_ttl: None,
            stale_ttl: None,
            pending_ttl: None,
            wait_timeout: None,
            keep_errors: None,
            max_payload: None,
            enabled: None,
            self_bypass: None,
            header_keys: &[],
            missing_header: None,
            errors: None,
            on_redis_error: None,
        }
    }

    clocks! {
        fresh_ttl, fresh_ttl_is;
        stale_ttl, stale_ttl_is;
        pending_ttl, pending_ttl_is;
        wait_timeout, wait_timeout_is;
        keep_errors, keep_errors_is;
    }

    /// `version`.
    #[must_use]
    pub const fn version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    /// `header_keys`.
    #[must_use]
    pub const fn header_keys(mut self, header_keys: &'static [&'static str]) -> Self {
        self.header_keys = header_keys;
        self
    }

    texts! { missing_header, errors, on_redis_error, max_payload, enabled, self_bypass, namespace, in_entry, }

    /// The policy this site means, when `lookup` knows the values; problems go into `problems`.
    pub(crate) fn policy(&self, lookup: &dyn Lookup, problems: &mut Vec<Problem>) -> Policy {
        let mut reader = Reader {
            site: self,
            lookup,
            problems,
        };
        let namespace = reader.namespace();
        let clocks = reader.clocks().unwrap_or_default();
        let keep_errors = reader
            .clock("keep_errors", self.keep_errors, Duration::ZERO)
            .unwrap_or_default();
        let max_payload = self
            .max_payload
            .and_then(|raw| reader.read("max_payload", raw, size));
        let enabled = self
            .enabled
            .and_then(|raw| reader.read("enabled", raw, switch));
        let self_bypass = self
            .self_bypass
            .and_then(|raw| reader.read("self_bypass", raw, switch));
        let missing_header = reader.word("missing_header", self.missing_header, &MISSING_HEADER);
        let on_error = reader.word("errors", self.errors, &ERRORS);
        let on_redis_error = reader.word("on_redis_error", self.on_redis_error, &ON_REDIS_ERROR);
        if on_error == OnError::Retry && !keep_errors.is_zero() {
            let message = "`errors = \"retry\"` and `keep_errors` contradict each other: kept errors are \
                           served to later callers, and with \"retry\" none is shared";
            reader.problem("keep_errors", message.to_owned());
        }
        Policy {
            namespace,
            version: self.version,
            clocks,
            on_error,
            keep_errors,
            on_redis_error,
            max_payload: max_payload.unwrap_or(Policy::DEFAULT_MAX_PAYLOAD),
            header_keys: reader.header_keys(),
            missing_header,
            enabled: enabled.unwrap_or(true),
            self_bypass: self_bypass.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::words::policy::Clocks;

    #[expect(
        clippy::large_types_passed_by_value,
        reason = "a site is built in place"
    )]
    fn resolved(site: CallSite) -> Result<Policy, Vec<Problem>> {
        let mut problems = Vec::new();
        let policy = site.policy(
            &|name: &str| match name {
                "TTL" => Some("15s".to_owned()),
                "BAD" => Some("soon".to_owned()),
                "HEADERS" => Some("B, A ,c".to_owned()),
                _ => None,
            },
            &mut problems,
        );
        if problems.is_empty() {
            Ok(policy)
        } else {
            Err(problems)
        }
    }

    const SITE: CallSite =
        CallSite::new("get_order", Place::new("shop::orders", "src/orders.rs", 7));

    #[test]
    fn defaults_survive_as_numbers() {
        let policy = resolved(SITE).unwrap();
        assert_eq!(policy.clocks, Clocks::default());
        assert_eq!(policy.max_payload, 1_048_576);
        assert!(policy.header_keys.is_empty() && policy.namespace.is_none() && policy.enabled);
    }

    #[test]
    fn configured_values_win_over_their_defaults() {
        let site = SITE
            .fresh_ttl("${TTL:30s}")
            .stale_ttl("${UNSET:5m}")
            .namespace("orders.${UNSET:v2}");
        let policy = resolved(site).unwrap();
        assert_eq!(policy.clocks.fresh(), Duration::from_secs(15));
        assert_eq!(policy.clocks.stale(), Duration::from_secs(300));
        assert_eq!(policy.namespace.as_deref(), Some("orders.v2"));
    }

    #[test]
    fn a_blank_namespace_is_derived_from_the_function() {
        assert_eq!(resolved(SITE.namespace("  ")).unwrap().namespace, None);
    }

    #[test]
    fn one_list_supplies_every_header_name_in_any_order_and_case() {
        let names = |keys| resolved(SITE.header_keys(keys)).unwrap().header_keys;
        let expected: Vec<Arc<str>> = vec!["a".into(), "b".into(), "c".into()];
        assert_eq!(names(&["${HEADERS}"]), expected);
        assert_eq!(names(&["C", "a", "B", "A"]), expected);
        assert!(names(&["${UNSET:}"]).is_empty());
    }

    #[test]
    fn every_problem_is_reported_with_place_option_and_both_texts() {
        let site = SITE
            .fresh_ttl("${BAD:1s}")
            .pending_ttl("${MISSING}")
            .max_payload("big")
            .enabled("perhaps");
        let problems = resolved(site).unwrap_err();
        let options: Vec<_> = problems
            .iter()
            .map(|problem| problem.option.as_str())
            .collect();
        assert_eq!(
            options,
            ["fresh_ttl", "pending_ttl", "max_payload", "enabled"]
        );
        assert_eq!(problems[0].place, "src/orders.rs:7 (get_order)");
        assert!(problems[0].message.contains("${BAD:1s}") && problems[0].message.contains("soon"));
    }

    #[test]
    fn the_relation_of_clocks_is_checked_after_resolution() {
        assert!(resolved(SITE.fresh_ttl("${TTL:10m}").stale_ttl("1m")).is_ok());
        let problems = resolved(SITE.fresh_ttl("2m").stale_ttl("${UNSET:1m}")).unwrap_err();
        assert_eq!(problems[0].option, "stale_ttl");
        let problems = resolved(SITE.pending_ttl("10s").wait_timeout("${UNSET:10s}")).unwrap_err();
        assert!(problems[0].message.contains("take over after a crash"));
    }

    #[test]
    fn every_string_option_can_be_interpolated() {
        let site = SITE
            .namespace("${UNSET:orders}.${ALSO:v2}")
            .missing_header("${UNSET:empty}")
            .errors("${UNSET:${ALSO:retry}}")
            .on_redis_error("${UNSET:fail}")
            .max_payload("${UNSET:2KiB}")
            .enabled("${UNSET:off}")
            .self_bypass("${UNSET:on}")
            .keep_errors("${UNSET:0}")
            .wait_timeout("${UNSET:none}");
        let policy = resolved(site).unwrap();
        assert_eq!(policy.namespace.as_deref(), Some("orders.v2"));
        assert_eq!(policy.missing_header, MissingHeader::Empty);
        assert_eq!(policy.on_error, OnError::Retry);
        assert_eq!(policy.on_redis_error, OnRedisError::Fail);
        assert_eq!((policy.max_payload, policy.enabled), (2048, false));
        assert!(policy.self_bypass);
        assert_eq!(policy.clocks.wait(), None);
    }

    #[test]
    fn words_and_pairs_are_checked_after_resolution() {
        let problems = resolved(SITE.errors("${BAD:share}")).unwrap_err();
        assert_eq!(problems[0].option, "errors");
        assert!(
            problems[0]
                .message
                .contains("`soon` is neither `share` nor `retry`")
        );
        let site = SITE.errors("${UNSET:retry}").keep_errors("${TTL:0}");
        assert_eq!(resolved(site).unwrap_err()[0].option, "keep_errors");
    }

    #[test]
    fn waiting_without_a_limit_is_said_in_so_many_words() {
        assert_eq!(
            resolved(SITE.wait_timeout("none")).unwrap().clocks.wait(),
            None
        );
    }
}
