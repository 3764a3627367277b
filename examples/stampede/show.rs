//! What people see: one line about the backend, progress, and a table at the end.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::figures::Figures;
use crate::options::Options;
use crate::server::Server;
use crate::watch::Watch;
use crate::wire::Failure;

/// Says something on stdout, or on stderr when stdout is for JSON alone.
pub fn say(options: &Options, line: impl Display) {
    if options.json {
        complain(line);
    } else {
        // Whoever reads has gone; the exit status still says how it ended.
        let _ = writeln!(io::stdout(), "{line}");
    }
}

pub fn complain(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The first line: who coordinates.
pub fn backend(options: &Options, server: Option<&Server>) -> String {
    let pods = counted(options.pods, "pod");
    let reason = if options.memory {
        "as asked for"
    } else {
        "no redis-server or valkey-server on the PATH, and no COALESCE_REDIS_URL"
    };
    match server {
        Some(server) => format!("Backend: redis ({}); {pods}, each a process", server.title),
        None => format!("Backend: memory ({reason}); {pods}, simulated in this one process"),
    }
}

/// Progress of one run, on stderr.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn of(options: &Options, what: &'static str) -> Self {
        let bar = ProgressBar::new(options.all_callers()).with_prefix(what);
        if let Ok(style) = ProgressStyle::with_template(
            "{spinner} {prefix}  {bar:30}  {pos}/{len} callers answered, {msg}",
        ) {
            bar.set_style(style);
        }
        bar.set_message("pods are starting");
        bar.enable_steady_tick(Duration::from_millis(100));
        if !io::stderr().is_terminal() {
            // The bar is hidden there.
            complain(format_args!("{what} …"));
        }
        Self(bar)
    }

    pub fn show(&self, watch: &Watch) {
        self.0.set_position(watch.answers.len() as u64);
        let killed = watch
            .kill
            .map(|kill| format!(", pod {} was killed", kill.pod));
        let executions = counted(watch.ledger.starts().count() as u64, "execution");
        self.0.set_message(executions + &killed.unwrap_or_default());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Both runs as one JSON object, alone on stdout.
pub fn say_json(before: &Figures, after: &Figures) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Both<'a> {
        baseline: &'a Figures,
        coalesced: &'a Figures,
    }
    let both = Both {
        baseline: before,
        coalesced: after,
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(&both)?)?;
    Ok(())
}

/// Both runs for people.
pub fn say_table(options: &Options, before: &Figures, after: &Figures) {
    say(options, title(options));
    say(options, table(before, after));
    for remark in remarks(after) {
        say(options, remark);
    }
}

fn table(before: &Figures, after: &Figures) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(["", "without", "with #[coalesce]"]);
    for (name, of) in rows() {
        table.add_row([Cell::new(name), right(of(before)), right(of(after))]);
    }
    table
}

type Row = (&'static str, fn(&Figures) -> String);

fn rows() -> [Row; 10] {
    [
        ("executions", |it| it.executions.to_string()),
        ("callers answered", |it| {
            format!("{} of {}", it.answered, it.details.expected_answers)
        }),
        ("errors", |it| it.errors.to_string()),
        ("wrong values", |it| it.wrong_values.to_string()),
        ("Redis commands", |it| known(it.redis_commands)),
        ("state writes", |it| known(it.state_writes)),
        ("wall time", |it| format!("{} ms", it.wall_ms)),
        ("wait, p50", |it| format!("{} ms", it.wait_p50_ms)),
        ("wait, p99", |it| format!("{} ms", it.wait_p99_ms)),
        ("wait, longest", |it| format!("{} ms", it.wait_max_ms)),
    ]
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
}

/// What the callers wanted.
fn title(options: &Options) -> String {
    let Options {
        pods,
        callers,
        keys,
        body_ms,
        ..
    } = options;
    let (pods, callers) = (counted(*pods, "pod"), counted(*callers, "caller"));
    let keys = counted(*keys, "cold key");
    let twist = match (options.fail, options.kill) {
        (false, false) => "",
        (true, false) => " and fails",
        (false, true) => ", and the leading pod is killed half-way",
        (true, true) => " and fails, and the leading pod is killed half-way",
    };
    format!(
        "{pods} × {callers} = {} calls at once for {keys}; the body takes {body_ms} ms{twist}",
        options.all_callers()
    )
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// What stands below the table.
fn remarks(after: &Figures) -> Vec<String> {
    let details = &after.details;
    let mut remarks = Vec::new();
    if !details.commands.is_empty() {
        let parts: Vec<_> = details
            .commands
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        remarks.push(format!(
            "Redis was asked: {} (pods were connected and warm)",
            parts.join(", ")
        ));
    }
    if let Some(pod) = details.killed_pod {
        let then = match details.takeover_ms {
            Some(after) => format!("another took over {after} ms later"),
            None => "nobody had to take over".to_owned(),
        };
        remarks.push(format!(
            "Pod {pod} was killed in the middle of the body; {then}"
        ));
    }
    remarks
}
