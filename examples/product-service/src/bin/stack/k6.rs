//! The k6 scripts against a stack that is up, one row each.

use std::path::Path;

use anyhow::Result;

use crate::process::{Program, need};
use crate::stack::Stack;
use crate::verdict::Row;

/// The limit of `rate-limit.js`.
const LIMIT: u64 = 100;

const SCRIPTS: [(&str, &str); 5] = [
    ("hot-read", "k6: hot-read"),
    ("stampede", "k6: stampede"),
    ("expiry", "k6: expiry"),
    ("burst", "k6: burst"),
    ("rate-limit", "k6: rate-limit"),
];

pub async fn run(stack: &mut Stack) -> Result<Vec<Row>> {
    let k6 = need("k6")?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("k6");
    let mut rows = Vec::new();
    for (name, case) in SCRIPTS {
        stack.reset().await?;
        stack.faults(20, false).await?;
        if name == "rate-limit" {
            stack.limit(LIMIT, 60_000).await?;
        }
        let ran = Program::new(case, &k6)
            .arguments(["run", "--quiet", "--env"])
            .arguments([
                format!("BASE_URL={}", stack.nginx.url()),
                format!("{name}.js"),
            ])
            .within(&folder)
            .run();
        let mut row = Row::new(name, case);
        row.holds(
            "its thresholds",
            ran.is_ok(),
            ran.map_or_else(|why| why.to_string(), |_| "met".to_owned()),
        );
        rows.push(row);
    }
    Ok(rows)
}
