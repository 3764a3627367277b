//! The reader: each variable from its text to its meaning, and a note of what is wrong.

use std::str::FromStr;
use std::time::Duration;

use url::Url;

/// Finds the text of a variable.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads variables. What is wrong with one is noted, and the next is read all the same.
pub(super) struct Reader<'a> {
    lookup: Lookup<'a>,
    pub(super) problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lookup: Lookup<'a>) -> Self {
        Self {
            lookup,
            problems: Vec::new(),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.lookup)(name)
    }

    pub(super) fn parsed<T: FromStr>(
        &mut self,
        name: &str,
        default: &str,
        what: &str,
    ) -> Option<T> {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        let parsed = text.parse().ok();
        self.noted(parsed, || format!("{name} is `{text}` and not {what}"))
    }

    /// `None` as well when nothing stands there, or what stands there is wrong.
    pub(super) fn optional<T: FromStr>(&mut self, name: &str, what: &str) -> Option<T> {
        let text = self.text(name).filter(|text| !text.is_empty())?;
        self.parsed(name, &text, what)
    }

    pub(super) fn duration(&mut self, name: &str, default: &str) -> Option<Duration> {
        let text = self.text(name).unwrap_or_else(|| default.to_owned());
        let parsed = humantime::parse_duration(&text).ok();
        self.noted(parsed, || {
            format!("{name} is `{text}` and not a duration such as `10s`")
        })
    }

    pub(super) fn one_of<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(name);
        let found = match &text {
            None => words.first(),
            Some(text) => words.iter().find(|(word, _)| word == text),
        };
        let allowed: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        self.noted(found.map(|(_, meaning)| *meaning), || {
            let text = text.unwrap_or_default();
            format!("{name} is `{text}` and not one of {}", allowed.join(", "))
        })
    }

    /// A URL can hold a password, so what is wrong is said without it.
    pub(super) fn url(
        &mut self,
        name: &str,
        default: Option<&str>,
        schemes: &[&str],
    ) -> Option<Url> {
        let Some(text) = self.text(name).or_else(|| default.map(str::to_owned)) else {
            self.problems.push(format!("{name} is missing"));
            return None;
        };
        let url = Url::parse(&text).ok();
        let fits = |url: &Url| schemes.contains(&url.scheme()) && url.has_host();
        self.noted(url.filter(fits), || {
            format!("{name} is no URL that begins with {}://", schemes[0])
        })
    }

    fn noted<T>(&mut self, read: Option<T>, problem: impl FnOnce() -> String) -> Option<T> {
        if read.is_none() {
            self.problems.push(problem());
        }
        read
    }
}
