//! Reading a call site: each option from its text to its meaning, and what is wrong with it.

use std::sync::Arc;
use std::time::Duration;

use super::site::{CallSite, Clock};
use crate::config::interpolation::{Lookup, resolve};
use crate::config::quantity::duration;
use crate::words::error::Problem;
use crate::words::policy::Clocks;

/// Reads the options of one site and notes what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) site: &'a CallSite,
    pub(super) lookup: &'a dyn Lookup,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    pub(super) fn read<T>(
        &mut self,
        option: &str,
        raw: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let resolved = resolve(raw, self.lookup);
        match resolved
            .as_deref()
            .map_err(ToOwned::to_owned)
            .and_then(&parse)
        {
            Ok(value) => Some(value),
            Err(message) => {
                let origin = match resolved {
                    Ok(text) if text != raw => {
                        format!(" (written `{raw}`, which is `{text}` here)")
                    }
                    _ => format!(" (written `{raw}`)"),
                };
                self.problem(option, format!("{message}{origin}"));
                None
            }
        }
    }

    /// A blank namespace is the same as none: it is derived from the function.
    pub(super) fn namespace(&mut self) -> Option<Arc<str>> {
        let text = self.read("namespace", self.site.namespace?, |text| {
            Ok(text.trim().to_owned())
        })?;
        (!text.is_empty()).then(|| Arc::from(text))
    }

    pub(super) fn clock(
        &mut self,
        option: &str,
        written: Option<Clock>,
        default: Duration,
    ) -> Option<Duration> {
        match written {
            None => Some(default),
            Some(Clock::Is(duration)) => Some(duration),
            Some(Clock::Text(raw)) => self.read(option, raw, duration),
        }
    }

    /// The four clocks, unless one of them or their relation is wrong.
    pub(super) fn clocks(&mut self) -> Option<Clocks> {
        let default = Clocks::default();
        let fresh = self.clock("fresh_ttl", self.site.fresh_ttl, default.fresh());
        let stale = match self.site.stale_ttl {
            None => Some(None),
            written => self.clock("stale_ttl", written, Duration::ZERO).map(Some),
        };
        let pending = self.clock("pending_ttl", self.site.pending_ttl, default.pending());
        let wait = self.wait();
        match Clocks::new(fresh?, stale?, pending?, wait?) {
            Ok(clocks) => Some(clocks),
            Err(problem) => {
                self.problem(problem.option(), problem.to_string());
                None
            }
        }
    }

    /// `"none"` waits as long as it takes.
    #[expect(
        clippy::option_option,
        reason = "the outer one says whether the option could be read"
    )]
    fn wait(&mut self) -> Option<Option<Duration>> {
        match self.site.wait_timeout {
            None => Some(Clocks::default().wait()),
            Some(Clock::Is(duration)) => Some(Some(duration)),
            Some(Clock::Text(raw)) => self.read("wait_timeout", raw, |text| match text.trim() {
                "none" => Ok(None),
                text => duration(text).map(Some),
            }),
        }
    }

    /// One of a few words; the first of them where nothing is written.
    pub(super) fn word<T: Copy>(
        &mut self,
        option: &str,
        written: Option<&'static str>,
        words: &[(&str, T)],
    ) -> T {
        let parse = |text: &str| {
            let found = words.iter().find(|(word, _)| *word == text.trim());
            found.map(|(_, meaning)| *meaning).ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
                format!("`{text}` is neither {}", known.join(" nor "))
            })
        };
        let read = written.and_then(|raw| self.read(option, raw, parse));
        read.unwrap_or(words[0].1)
    }

    /// Lower-case names in one order, whatever the order they were written in.
    pub(super) fn header_keys(&mut self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        for raw in self.site.header_keys {
            let list = self
                .read("header_keys", raw, |text| Ok(text.to_owned()))
                .unwrap_or_default();
            names.extend(
                list.split(',')
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .map(str::to_ascii_lowercase),
            );
        }
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(Arc::from).collect()
    }

    pub(super) fn problem(&mut self, option: &str, message: String) {
        let place = format!(
            "{}:{} ({})",
            self.site.place.file, self.site.place.line, self.site.function
        );
        self.problems.push(Problem {
            place,
            option: option.to_owned(),
            message,
        });
    }
}
