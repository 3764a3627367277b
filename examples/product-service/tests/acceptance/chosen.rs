//! Which cases a call of the acceptance is about: the arguments of a test harness, as far as there is a choice.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Command, Error};

/// The cases that are asked for.
pub struct Chosen {
    filters: Vec<String>,
    skipped: Vec<String>,
    is_exact: bool,
    /// None of these is.
    are_ignored: bool,
    /// Named and not played.
    pub are_listed: bool,
}

/// Options that say how a harness runs its tests and shows them. Here they change nothing.
const FLAGS: [&str; 5] = [
    "include-ignored",
    "no-capture",
    "nocapture",
    "quiet",
    "show-output",
];

/// The same of those with a value.
const WITH_VALUE: [&str; 4] = ["color", "format", "logfile", "test-threads"];

impl Chosen {
    /// Those that these arguments name, of which the first is the program.
    ///
    /// # Errors
    ///
    /// An option that is none of a harness, or that would change what is played.
    pub fn among(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Error> {
        let flag = |name| Arg::new(name).long(name).action(ArgAction::SetTrue);
        let command = Command::new("acceptance")
            .arg(Arg::new("filters").num_args(0..))
            .arg(Arg::new("skip").long("skip").action(ArgAction::Append))
            .args(["exact", "list", "ignored"].map(flag))
            .args(FLAGS.map(flag))
            .mut_arg("quiet", |quiet| quiet.short('q'))
            .args(WITH_VALUE.map(|name| Arg::new(name).long(name)))
            .arg(Arg::new("unstable").short('Z').action(ArgAction::Append));
        let mut given = command.try_get_matches_from(arguments)?;
        let mut words = |name| given.remove_many(name).into_iter().flatten().collect();
        Ok(Self {
            filters: words("filters"),
            skipped: words("skip"),
            is_exact: given.get_flag("exact"),
            are_ignored: given.get_flag("ignored"),
            are_listed: given.get_flag("list"),
        })
    }

    /// Whether this case is one of them.
    pub fn has(&self, name: &str) -> bool {
        let names = |word: &String| {
            if self.is_exact {
                name == word
            } else {
                name.contains(word.as_str())
            }
        };
        let is_wanted = self.filters.is_empty() || self.filters.iter().any(names);
        is_wanted && !self.skipped.iter().any(names) && !self.are_ignored
    }
}
