//! The table of all metrics: name, kind, unit, labels and meaning.

use ::metrics::Unit;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One metric.
#[derive(Debug)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    /// The second label, beside `namespace`.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the page of all metrics names it")
    )]
    pub(crate) label: Option<&'static str>,
    pub(crate) help: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:ident, $unit:ident, $label:expr, $help:literal;)*) => {
        $(pub(super) const $constant: &str = $name;)*

        /// Every metric.
        pub(crate) const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            label: $label,
            help: $help,
        },)*];
    };
}

metrics! {
    CALLS = "coalesce_calls_total", Counter, Count, Some("outcome"),
        "Calls that ended, by how they ended: fresh, stale, led, followed, bypassed, timed_out, failed, cancelled";
    CALLS_IN_PROGRESS = "coalesce_calls_in_progress", Gauge, Count, None,
        "Calls that have not ended";
    BYPASSED = "coalesce_bypassed_total", Counter, Count, Some("reason"),
        "Calls that ran as if the attribute were not there, by reason";
    EXECUTIONS = "coalesce_executions_total", Counter, Count, Some("cause"),
        "Bodies started, by cause; those of bypassed calls are not among them";
    EXECUTIONS_ENDED = "coalesce_executions_ended_total", Counter, Count, Some("ending"),
        "Bodies that ended, by how they ended: value, error, abandoned";
    EXECUTIONS_IN_PROGRESS = "coalesce_executions_in_progress", Gauge, Count, None,
        "Bodies that have not ended";
    REFRESH_FAILURES = "coalesce_refresh_failures_total", Counter, Count, None,
        "Refreshes that ended without a value";
    TAKEOVERS = "coalesce_takeovers_total", Counter, Count, None,
        "Flights led after another leader's lease had ended or it had given up";
    FENCED = "coalesce_fenced_total", Counter, Count, None,
        "Outcomes refused because the flight was no longer the key's";
    LEASES_LOST = "coalesce_leases_lost_total", Counter, Count, None,
        "Leases of running flights that were lost: the lock was another's, or gone for good";
    TOO_LARGE = "coalesce_too_large_total", Counter, Count, None,
        "Values above max_payload, too deep, or not encodable";
    UNDECODABLE = "coalesce_undecodable_total", Counter, Count, None,
        "Stored bytes that could not be read";
    LOST_WAKE_UPS = "coalesce_lost_wake_ups_total", Counter, Count, None,
        "Outcomes that a follower found by a poll although it was listening";
    DOUBLE_CHECK_HITS = "coalesce_double_check_hits_total", Counter, Count, None,
        "Values that the first look had not found, and that were there when the lock was asked for";
    FAULTS = "coalesce_faults_total", Counter, Count, Some("kind"),
        "Questions to Redis without a usable answer, by kind; with an empty namespace those that belong to no call site";
    HIT = "coalesce_hit_seconds", Histogram, Seconds, None,
        "How long a stored value took, fresh or stale";
    WAIT = "coalesce_wait_seconds", Histogram, Seconds, None,
        "How long followers waited for their outcome";
    EXECUTION = "coalesce_execution_seconds", Histogram, Seconds, None,
        "How long bodies ran";
    ROUND_TRIP = "coalesce_round_trip_seconds", Histogram, Seconds, Some("operation"),
        "How long Redis took to answer, by question; with an empty namespace renewals and the kill switch";
    PAYLOAD = "coalesce_payload_bytes", Histogram, Bytes, None,
        "How big outcomes were";
    FLIGHTS = "coalesce_flights", Gauge, Count, None,
        "Units of work in progress in this process, looked at once a second; without a namespace";
    WAITERS = "coalesce_waiters", Gauge, Count, None,
        "Callers that wait for work in progress in this process, those whose body runs included, looked at once a second; without a namespace";
    SUBSCRIPTIONS = "coalesce_subscriptions", Gauge, Count, None,
        "Channels subscribed to, lingering ones included, looked at once a second; without a namespace";
    CONNECTED = "coalesce_connected", Gauge, Count, None,
        "1 while all connections to Redis are up, looked at once a second; without a namespace";
    SUBSCRIBED = "coalesce_subscribed", Gauge, Count, None,
        "1 while followers are told when a flight ends; 0: they poll; without a namespace";
    BREAKER = "coalesce_breaker_state", Gauge, Count, None,
        "0 while Redis is asked, 1 on trial, 2 while it is not asked because it gave no answers; without a namespace";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of a metric in the page that lists them.
    fn row(metric: &Metric) -> String {
        let Metric {
            name,
            kind,
            unit,
            label,
            help,
        } = metric;
        let (kind, unit) = (format!("{kind:?}").to_lowercase(), unit.as_str());
        let label = label.map_or(String::new(), |label| format!("`{label}`"));
        format!("| `{name}` | {kind} | {unit} | {label} | {help} |")
    }

    #[test]
    fn the_page_lists_every_metric_and_no_other() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
        let page = std::fs::read_to_string(path).unwrap();
        let listed: Vec<_> = page
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(str::to_owned)
            .collect();
        let known: Vec<_> = METRICS.iter().map(row).collect();
        assert_eq!(listed, known);
    }

    #[test]
    fn a_name_says_its_kind_and_unit() {
        for Metric {
            name, kind, unit, ..
        } in METRICS
        {
            let total = name.ends_with("_total");
            assert_eq!(total, *kind == Kind::Counter, "{name}");
            let with_unit = name.ends_with(&format!("_{}", unit.as_str()));
            assert_eq!(with_unit, *kind == Kind::Histogram, "{name}");
        }
    }
}
