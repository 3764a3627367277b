//! What people see: how far it is, and a table at the end.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use coalesce_rig::chaos::{Progress, Report};
use comfy_table::{Cell, CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use crate::options::Options;

/// Progress on stderr.
pub struct Show {
    bar: ProgressBar,
    lasts: Duration,
}

impl Show {
    pub fn of(options: &Options) -> Self {
        let lasts = Duration::from_secs_f64(60.0 * options.minutes);
        let bar = ProgressBar::new(milliseconds(lasts));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bar:30}  {msg}") {
            bar.set_style(style);
        }
        bar.set_message("servers and pods are starting");
        bar.enable_steady_tick(Duration::from_millis(100));
        if !io::stderr().is_terminal() {
            // The bar is hidden there.
            complain(format_args!(
                "{} pods on {:?} for {lasts:?} …",
                options.pods, options.topology
            ));
        }
        Self { bar, lasts }
    }

    pub fn look(&self, progress: &Progress) {
        let gone = self.lasts.saturating_sub(progress.left);
        self.bar.set_position(milliseconds(gone));
        let last = progress.last.map(|fault| format!("{fault:?}"));
        let what = if progress.ending {
            "everything is healed, checking".to_owned()
        } else {
            last.unwrap_or_default()
        };
        let Progress {
            faults,
            calls,
            runs,
            ..
        } = progress;
        self.bar.set_message(format!(
            "{calls} calls, {} executions, {faults} faults: {what}",
            runs / 2
        ));
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

pub fn complain(line: impl Display) {
    // Whoever reads has gone; the exit status still says how it ended.
    let _ = writeln!(io::stderr(), "{line}");
}

/// The report as one JSON object, alone on stdout.
pub fn say_json(report: &Report) {
    if let Ok(json) = serde_json::to_string(report) {
        let _ = writeln!(io::stdout(), "{json}");
    }
}

/// The report for people.
pub fn say_table(report: &Report) {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let head = format!("{:?}, seed {}", report.topology, report.seed);
    table.set_header([Cell::new(head), right("chaos")]);
    for (fault, count) in &report.faults {
        table.add_row([Cell::new(format!("  {fault:?}")), right(count)]);
    }
    for (name, figure) in rows(report) {
        table.add_row([Cell::new(name), right(figure)]);
    }
    let _ = writeln!(io::stdout(), "{table}");
}

fn rows(report: &Report) -> Vec<(&'static str, String)> {
    let ms = |figure: u64| format!("{figure} ms");
    let counts = [
        ("faults", report.all_faults()),
        ("calls", report.calls),
        ("executions", report.executions),
        ("  past the switch", report.bypassed_runs),
        ("callers that went", report.departed_calls),
        ("panics met", report.panicked_calls),
        ("explained runs", report.explained_runs),
        ("calm runs", report.calm_runs),
        ("  without an excuse", report.strict_runs),
        ("unexplained runs", report.unexplained_runs),
        ("lost calls", report.lost_calls),
        ("errors", report.errors),
        ("wrong values", report.wrong_values),
        ("stale reads", report.stale_reads),
        ("answers of a later run", report.passed_over),
        ("overlong calls", report.overlong_calls),
        ("leaked entries", report.leaked_entries),
        ("leaked keys", report.leaked_keys),
        ("leaked subscriptions", report.leaked_subscriptions),
        ("leaked tasks", report.leaked_tasks),
        ("leaked connections", report.leaked_connections),
        ("leaders missed", report.missed_leaders),
        ("takeovers", report.takeovers),
    ];
    let times = [
        ("takeover, p50", report.takeover_p50_ms),
        ("takeover, longest", report.takeover_max_ms),
        ("added to a call, most", report.max_added_ms),
        ("recovered after", report.recovered_ms),
    ];
    let counts = counts.map(|(name, count)| (name, count.to_string()));
    let times = times.map(|(name, figure)| (name, ms(figure)));
    counts.into_iter().chain(times).collect()
}

fn right(text: impl Display) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}
