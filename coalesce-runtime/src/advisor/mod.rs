//! The advisor: whether coalescing earns what it costs in one namespace, and what to change.
//!
//! Plain functions of numbers. A key that is called `rate` times a second, and whose outcome is shared for
//! `hold` seconds (the body's time and `fresh_ttl`), has the ratio `r = rate × hold`: so many more calls
//! come while one outcome is shared. With calls that come at random, `r / (1 + r)` of them need no body.

pub(crate) mod bypass;

use serde::{Deserialize, Serialize};

/// What is known of a namespace. Times in seconds, averages of what was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// Calls that could be shared and came to an end.
    pub(crate) calls: f64,
    /// Bodies that ran for them.
    pub(crate) executions: f64,
    /// Calls of one key in a second, on average, lately.
    pub(crate) rate_per_key: f64,
    pub(crate) fresh_ttl: f64,
    pub(crate) execution: f64,
    /// A call that ran its body.
    pub(crate) led: f64,
    /// Any call that came to an end.
    pub(crate) call: f64,
    pub(crate) faults: f64,
    pub(crate) too_large: f64,
    pub(crate) undecodable: f64,
}

/// What the numbers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// There were fewer than 100 calls.
    #[default]
    TooFewCalls,
    /// The time that is added to calls is more than the time of the bodies that are saved.
    NetLoss,
    /// It pays, and less than half of the bodies are saved.
    Marginal,
    /// At least half of the bodies are saved.
    Strong,
}

/// Whether coalescing earns its round trips in one namespace, as this process sees it.
///
/// Others of the fleet bring calls of the same keys, so the measured saving can be above the predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Advice {
    /// What the numbers say.
    pub verdict: Verdict,
    /// Calls that come for one key while one outcome of it is shared: the rate of a key times
    /// `fresh_ttl` and the time of the body.
    pub ratio: f64,
    /// The share of bodies that this ratio saves, from 0 to 1.
    pub predicted_saving: f64,
    /// The share of bodies that was saved. Below 0: more bodies ran than calls came.
    pub saving: f64,
    /// Seconds that a call which runs its body takes longer than the body.
    pub added_seconds: f64,
    /// Seconds that a call is shorter than a body, on average. Below 0: longer.
    pub gained_seconds: f64,
    /// The verdict in words, and what to change.
    pub words: String,
}

const FEW: f64 = 100.0;

/// What the figures say.
pub(crate) fn advise(figures: &Figures) -> Advice {
    let ratio = figures.rate_per_key * (figures.fresh_ttl + figures.execution);
    let saving = if figures.calls > 0.0 {
        1.0 - figures.executions / figures.calls
    } else {
        0.0
    };
    let mut advice = Advice {
        verdict: Verdict::TooFewCalls,
        ratio,
        predicted_saving: ratio / (1.0 + ratio),
        saving,
        added_seconds: (figures.led - figures.execution).max(0.0),
        gained_seconds: figures.execution - figures.call,
        words: String::new(),
    };
    advice.verdict = verdict(figures, &advice);
    advice.words = words(figures, &advice);
    advice
}

fn verdict(figures: &Figures, advice: &Advice) -> Verdict {
    if figures.calls < FEW {
        Verdict::TooFewCalls
    } else if advice.saving <= 0.0 || (figures.execution > 0.0 && advice.gained_seconds < 0.0) {
        Verdict::NetLoss
    } else if advice.saving < 0.5 {
        Verdict::Marginal
    } else {
        Verdict::Strong
    }
}

fn words(figures: &Figures, advice: &Advice) -> String {
    let found = match advice.verdict {
        Verdict::TooFewCalls => return "too few calls to say anything".to_owned(),
        Verdict::NetLoss => "net loss: calls take longer than their bodies would",
        Verdict::Marginal => "marginal: it pays a little",
        Verdict::Strong => "strong: it pays",
    };
    match change(figures, advice) {
        Some(change) => format!("{found}; {change}"),
        None => found.to_owned(),
    }
}

/// What to change, the most likely reason first.
fn change(figures: &Figures, advice: &Advice) -> Option<String> {
    let often = |number: f64| number > figures.calls / 20.0;
    if often(figures.faults) {
        return Some("Redis often gives no answer: look at its health first".to_owned());
    }
    if often(figures.too_large) {
        return Some("values are above max_payload: raise it, or return less".to_owned());
    }
    if often(figures.undecodable) {
        return Some("stored values cannot be read: set version when the type changes".to_owned());
    }
    if advice.verdict == Verdict::Strong {
        return None;
    }
    if advice.ratio >= 1.0 && advice.saving < advice.predicted_saving / 2.0 {
        let reason = "less is saved than the calls per key promise: some keys are called often and most once; \
                      leave out of the key what does not change the outcome";
        return Some(reason.to_owned());
    }
    if figures.rate_per_key > 0.0 && advice.ratio < 1.0 {
        let needed = 1.0 / figures.rate_per_key - figures.execution;
        return Some(format!(
            "callers of one key rarely meet: a fresh_ttl of {} would save half, if outcomes may be that old; \
             or take the attribute off",
            in_words(needed)
        ));
    }
    None
}

/// Seconds as one writes them in an option, rounded up.
fn in_words(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0}ms", (seconds * 1_000.0).ceil().max(1.0))
    } else if seconds < 120.0 {
        format!("{:.0}s", seconds.ceil())
    } else {
        format!("{:.0}m", (seconds / 60.0).ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys called once a second, bodies of 100 ms, 1,000 calls.
    const BUSY: Figures = Figures {
        calls: 1_000.0,
        executions: 500.0,
        rate_per_key: 1.0,
        fresh_ttl: 0.9,
        execution: 0.1,
        led: 0.102,
        call: 0.052,
        faults: 0.0,
        too_large: 0.0,
        undecodable: 0.0,
    };

    #[test]
    fn a_ratio_of_one_saves_half_and_that_is_strong() {
        let advice = advise(&BUSY);
        assert!((advice.ratio - 1.0).abs() < 1e-9, "{advice:?}");
        assert!((advice.predicted_saving - 0.5).abs() < 1e-9);
        assert!((advice.saving - 0.5).abs() < 1e-9);
        assert!((advice.added_seconds - 0.002).abs() < 1e-9);
        assert_eq!(advice.verdict, Verdict::Strong);
        assert_eq!(advice.words, "strong: it pays");
    }

    #[test]
    fn keys_that_never_meet_are_a_net_loss_and_the_fresh_time_that_helps_is_named() {
        let lonely = Figures {
            executions: 1_000.0,
            rate_per_key: 0.01,
            fresh_ttl: 0.0,
            call: 0.102,
            ..BUSY
        };
        let advice = advise(&lonely);
        assert_eq!(advice.verdict, Verdict::NetLoss);
        assert!(
            advice.words.contains("a fresh_ttl of 100s"),
            "{}",
            advice.words
        );
        // With that, half is saved.
        let helped = Figures {
            fresh_ttl: 100.0,
            ..lonely
        };
        assert!(advise(&helped).predicted_saving > 0.49);
    }

    /// Others of the fleet run the bodies.
    #[test]
    fn a_process_that_only_hits_loses_nothing() {
        let hits = Figures {
            executions: 0.0,
            execution: 0.0,
            led: 0.0,
            call: 0.001,
            ..BUSY
        };
        assert_eq!(advise(&hits).verdict, Verdict::Strong);
    }

    #[test]
    fn callers_who_meet_are_not_told_that_they_do_not() {
        let often = Figures {
            executions: 550.0,
            rate_per_key: 3.0,
            ..BUSY
        };
        let advice = advise(&often);
        assert_eq!(advice.verdict, Verdict::Marginal);
        assert!(!advice.words.contains("rarely"), "{}", advice.words);
    }

    #[test]
    fn a_little_is_marginal_and_the_likely_reason_stands_first() {
        let some = Figures {
            executions: 900.0,
            call: 0.095,
            ..BUSY
        };
        let words = |figures: &Figures| advise(figures).words;
        assert!(words(&some).starts_with("marginal") && words(&some).contains("most once"));
        let faulty = Figures {
            faults: 100.0,
            ..some
        };
        assert!(words(&faulty).contains("no answer"));
        let large = Figures {
            too_large: 100.0,
            ..some
        };
        assert!(words(&large).contains("max_payload"));
        let unreadable = Figures {
            undecodable: 100.0,
            ..some
        };
        assert!(words(&unreadable).contains("version"));
    }

    #[test]
    fn nothing_is_said_of_a_few_calls_and_nothing_is_not_a_number() {
        let advice = advise(&Figures::default());
        assert_eq!(advice.verdict, Verdict::TooFewCalls);
        assert!(advice.ratio.is_finite() && advice.predicted_saving.is_finite());
        assert!(advice.saving.is_finite());
    }
}
