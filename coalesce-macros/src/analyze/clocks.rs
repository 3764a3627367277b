//! The clocks of a call site: read where they are literal, and compared with each other.

use std::time;

use syn::LitStr;

use super::{Setting, Value};
use crate::diagnostics::Diagnostics;
use crate::parse::{Duration, Written};

/// The lengths of time that an attribute can set.
pub(crate) struct Clocks {
    pub(crate) fresh_ttl: Option<Written<Duration>>,
    pub(crate) stale_ttl: Option<Written<Duration>>,
    pub(crate) pending_ttl: Option<Written<Duration>>,
    pub(crate) wait_timeout: Option<Written<Duration>>,
    pub(crate) keep_errors: Option<Written<Duration>>,
}

const DEFAULT_PENDING: time::Duration = time::Duration::from_secs(30);
const DEFAULT_WAIT: time::Duration = time::Duration::from_secs(45);

/// What is known about one clock while the function is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing is written.
    Default,
    /// A literal.
    Exactly(time::Duration),
    /// `wait_timeout = "none"`.
    Endless,
    /// Interpolated, a constant, or refused already.
    Unknown,
}

impl Clocks {
    /// Checks the clocks and lists what the call site is to be told, with each one's position.
    pub(crate) fn settings(self, diagnostics: &mut Diagnostics) -> Vec<(usize, Setting)> {
        let fresh = known(self.fresh_ttl.as_ref(), diagnostics);
        let stale = known(self.stale_ttl.as_ref(), diagnostics);
        let pending = known(self.pending_ttl.as_ref(), diagnostics);
        let wait = known(self.wait_timeout.as_ref(), diagnostics);
        known(self.keep_errors.as_ref(), diagnostics);
        self.compare_retention(fresh, stale, diagnostics);
        self.compare_waiting(pending, wait, diagnostics);

        let settings = [
            setting(self.fresh_ttl, "fresh_ttl", "fresh_ttl_is"),
            setting(self.stale_ttl, "stale_ttl", "stale_ttl_is"),
            setting(self.pending_ttl, "pending_ttl", "pending_ttl_is"),
            setting(self.wait_timeout, "wait_timeout", "wait_timeout_is"),
            setting(self.keep_errors, "keep_errors", "keep_errors_is"),
        ];
        settings.into_iter().flatten().collect()
    }

    fn compare_retention(&self, fresh: Known, stale: Known, diagnostics: &mut Diagnostics) {
        let Some(written) = &self.stale_ttl else {
            return;
        };
        let fresh = match fresh {
            Known::Exactly(fresh) => fresh,
            Known::Default => time::Duration::ZERO,
            Known::Endless | Known::Unknown => return,
        };
        let Known::Exactly(stale) = stale else { return };
        if stale < fresh {
            let message = format!(
                "`stale_ttl` ({}) is shorter than `fresh_ttl` ({}): a value is served as stale \
                 after it was fresh",
                print(stale),
                print(fresh),
            );
            diagnostics.refuse_at(written.value.span(), message);
        }
    }

    fn compare_waiting(&self, pending: Known, wait: Known, diagnostics: &mut Diagnostics) {
        if let (Known::Exactly(time::Duration::ZERO), Some(written)) = (pending, &self.pending_ttl)
        {
            let message = "`pending_ttl` is the longest that one flight may take: it cannot be 0";
            diagnostics.refuse_at(written.value.span(), message);
            return;
        }
        let (pending, pending_is) = match pending {
            Known::Exactly(pending) => (pending, ""),
            Known::Default => (DEFAULT_PENDING, " by default"),
            Known::Endless | Known::Unknown => return,
        };
        let (wait, wait_is) = match wait {
            Known::Exactly(wait) => (wait, ""),
            Known::Default => (DEFAULT_WAIT, " by default"),
            Known::Endless | Known::Unknown => return,
        };
        let written = self.wait_timeout.as_ref().or(self.pending_ttl.as_ref());
        if let (true, Some(written)) = (wait <= pending, written) {
            let message = format!(
                "`wait_timeout` ({}{wait_is}) must be longer than `pending_ttl` ({}{pending_is}): \
                 whoever waits must be able to outlast a flight and take over",
                print(wait),
                print(pending),
            );
            diagnostics.refuse_at(written.value.span(), message);
        }
    }
}

/// What is known about a clock. A literal that cannot be read is refused.
fn known(written: Option<&Written<Duration>>, diagnostics: &mut Diagnostics) -> Known {
    let Some(written) = written else {
        return Known::Default;
    };
    let read = match &written.value {
        Duration::Constant(path) => {
            let first = path.segments.first();
            if first.is_some_and(|segment| segment.ident == "Self") {
                let message = "the call site is a static, which cannot name `Self`: write the \
                               name of the type";
                diagnostics.refuse(path, message);
            }
            return Known::Unknown;
        }
        Duration::Seconds(_) | Duration::Text(_) => read(written),
    };
    read.unwrap_or_else(|message| {
        diagnostics.refuse_at(written.value.span(), message);
        Known::Unknown
    })
}

fn read(written: &Written<Duration>) -> Result<Known, String> {
    let Some(text) = text(&written.value)? else {
        return Ok(Known::Unknown);
    };
    if text.contains("${") {
        return Ok(Known::Unknown);
    }
    if text == "none" {
        return match written.name.to_string().as_str() {
            "wait_timeout" => Ok(Known::Endless),
            "pending_ttl" => Err("a flight cannot hold its key for ever: write how long".into()),
            name => Err(format!(
                "`{name}` cannot be \"none\": leave it out, or write `{name} = 0`"
            )),
        };
    }
    if has_month_letter(&text) {
        return Err(format!(
            "`M` in \"{text}\" would be months: write `30d` or `1m`"
        ));
    }
    let duration = humantime::parse_duration(&text).map_err(|error| {
        format!("\"{text}\" is not a length of time such as \"1h 30m\": {error}")
    })?;
    if !duration.is_zero() && duration < time::Duration::from_millis(1) {
        return Err(format!(
            "\"{text}\" is shorter than a millisecond, the finest that Redis has"
        ));
    }
    Ok(Known::Exactly(duration))
}

/// A clock as text with a unit; nothing for a constant.
fn text(value: &Duration) -> Result<Option<String>, String> {
    match value {
        Duration::Constant(_) => Ok(None),
        Duration::Text(text) if is_whole_number(&text.value()) => {
            Ok(Some(format!("{}s", text.value())))
        }
        Duration::Text(text) => Ok(Some(text.value())),
        Duration::Seconds(seconds) if seconds.suffix().is_empty() => {
            Ok(Some(format!("{}s", seconds.base10_digits())))
        }
        Duration::Seconds(seconds) => Err(format!(
            "`{seconds}` has a suffix: write `{digits}` for seconds, or a string such as \"{digits}s\"",
            digits = seconds.base10_digits(),
        )),
    }
}

fn is_whole_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_month_letter(text: &str) -> bool {
    text.split(|letter: char| !letter.is_alphabetic())
        .any(|unit| unit == "M")
}

fn setting(
    written: Option<Written<Duration>>,
    in_text: &'static str,
    as_constant: &'static str,
) -> Option<(usize, Setting)> {
    let Written {
        name,
        position,
        value,
    } = written?;
    let (method, value) = match value {
        Duration::Constant(path) => (as_constant, Value::Constant(path)),
        value => {
            // What is not text has been refused.
            let text = text(&value).ok().flatten()?;
            (in_text, Value::Text(LitStr::new(&text, value.span())))
        }
    };
    Some((
        position,
        Setting {
            name: method,
            option: name,
            value,
        },
    ))
}

fn print(duration: time::Duration) -> humantime::FormattedDuration {
    humantime::format_duration(duration)
}
