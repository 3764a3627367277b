//! What a case has to show, what was measured, and the table of both.

use std::time::Duration;

use comfy_table::{Table, presets};
use serde::Serialize;

/// Times are those of a machine with two cores to itself. On one that is shared they are a failure when what is added
/// to the time that has to pass is so many times as long.
const SLACK: u32 = 5;

/// One case of the acceptance, and its figures.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: &'static str,
    pub case: &'static str,
    pub verdict: Verdict,
    pub figures: Vec<Figure>,
}

/// One number, or one fact.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub what: String,
    pub target: String,
    pub fails: String,
    pub measured: String,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    /// Above the target, and within what a shared machine may add.
    Slow,
    Failed,
}

impl Row {
    pub const fn new(name: &'static str, case: &'static str) -> Self {
        Self {
            name,
            case,
            verdict: Verdict::Ok,
            figures: Vec::new(),
        }
    }

    /// A number that has to be exactly this.
    pub fn count<N: TryInto<u64>>(&mut self, what: &str, target: u64, measured: N) {
        let measured = measured.try_into().unwrap_or(u64::MAX);
        self.note(
            what,
            target.to_string(),
            format!("≠ {target}"),
            measured.to_string(),
            measured == target,
        );
    }

    /// A number that may be this and no more.
    pub fn at_most(&mut self, what: &str, target: u64, measured: u64) {
        let target_text = format!("≤ {target}");
        self.note(
            what,
            target_text,
            format!("> {target}"),
            measured.to_string(),
            measured <= target,
        );
    }

    /// A number that may be this and no less.
    pub fn at_least(&mut self, what: &str, target: u64, measured: u64) {
        let target_text = format!("≥ {target}");
        self.note(
            what,
            target_text,
            format!("< {target}"),
            measured.to_string(),
            measured >= target,
        );
    }

    /// A number that has to be the sum of two others.
    pub fn equation(&mut self, what: &str, whole: u64, one: u64, other: u64) {
        self.holds(
            what,
            whole == one + other,
            format!("{whole} = {one} + {other}"),
        );
    }

    /// Something that is so, or is not.
    pub fn holds(&mut self, what: &str, holds: bool, measured: impl Into<String>) {
        self.note(
            what,
            "yes".to_owned(),
            "no".to_owned(),
            measured.into(),
            holds,
        );
    }

    /// A time that cannot be shorter than `base`, a delay or a lease, and may be longer by `margin`.
    pub fn within(&mut self, what: &str, base: Duration, margin: Duration, measured: Duration) {
        let (target, fails) = (base + margin, base + margin * SLACK);
        let verdict = match measured {
            time if time <= target => Verdict::Ok,
            time if time <= fails => Verdict::Slow,
            _ => Verdict::Failed,
        };
        self.figures.push(Figure {
            what: what.to_owned(),
            target: format!("≤ {}", milliseconds(target)),
            fails: format!("> {}", milliseconds(fails)),
            measured: milliseconds(measured),
            verdict,
        });
        self.verdict = self.verdict.max(verdict);
    }

    /// What kept the case from being played to its end.
    pub fn broken(&mut self, error: &anyhow::Error) {
        self.holds("played to its end", false, format!("{error:#}"));
    }

    fn note(&mut self, what: &str, target: String, fails: String, measured: String, holds: bool) {
        let verdict = if holds { Verdict::Ok } else { Verdict::Failed };
        self.figures.push(Figure {
            what: what.to_owned(),
            target,
            fails,
            measured,
            verdict,
        });
        self.verdict = self.verdict.max(verdict);
    }
}

/// All rows, one line for each figure.
pub fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "case", "figure", "target", "fails at", "measured", "verdict",
    ]);
    for row in rows {
        for (number, figure) in row.figures.iter().enumerate() {
            let case = if number == 0 { row.case } else { "" };
            let verdict = format!("{:?}", figure.verdict).to_lowercase();
            let Figure {
                what,
                target,
                fails,
                measured,
                ..
            } = figure;
            table.add_row([case, what, target, fails, measured, &verdict]);
        }
    }
    table
}

fn milliseconds(time: Duration) -> String {
    match time.as_secs_f64() * 1_000.0 {
        // Nothing is waited for in ten milliseconds, so the digits behind the point say something.
        short if short < 10.0 && short > 0.0 => format!("{short:.1} ms"),
        long => format!("{long:.0} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_figure_is_the_verdict_and_a_time_is_slow_before_it_fails() {
        let second = Duration::from_secs(1);
        let verdict_of = |measured| {
            let mut row = Row::new("a", "b");
            row.within("time", 10 * second, second, measured);
            row.count("reads", 1, 1_usize);
            row.verdict
        };
        let of = [11, 12, 15, 16].map(|seconds| verdict_of(seconds * second));
        assert_eq!(
            of,
            [Verdict::Ok, Verdict::Slow, Verdict::Slow, Verdict::Failed]
        );
    }

    #[test]
    fn counts_have_no_slack() {
        type Judge = fn(&mut Row);
        let cases: [(Judge, Verdict); 8] = [
            (|row| row.count("reads", 1, 1_usize), Verdict::Ok),
            (|row| row.count("reads", 1, 2_usize), Verdict::Failed),
            (|row| row.count("reads", 1, 0_usize), Verdict::Failed),
            (|row| row.at_most("commands", 900, 900), Verdict::Ok),
            (|row| row.at_most("commands", 900, 901), Verdict::Failed),
            (|row| row.at_least("queries", 10, 9), Verdict::Failed),
            (|row| row.equation("sum", 3, 1, 2), Verdict::Ok),
            (|row| row.equation("sum", 3, 1, 1), Verdict::Failed),
        ];
        for (number, (judge, verdict)) in cases.into_iter().enumerate() {
            let mut row = Row::new("a", "b");
            judge(&mut row);
            assert_eq!(row.verdict, verdict, "case {number}");
        }
    }
}
