//! The case of the counters, which have to add up at rest.

use anyhow::Result;

use super::product;
use crate::load::burst;
use crate::stack::Stack;
use crate::verdict::Row;

pub async fn sums(stack: &mut Stack, row: &mut Row) -> Result<()> {
    // Misses and hits at every replica, whatever was killed in the cases before.
    stack.faults(50, false).await?;
    for id in 1..=3 {
        burst(&stack.http, &product(&stack.nginx.url(), id), 60).await;
    }
    let statuses = stack.statuses().await?;
    let sum = |of: fn(&crate::servers::Status) -> u64| statuses.iter().map(of).sum::<u64>();
    let (requests, hits, misses) = (sum(|s| s.requests), sum(|s| s.hits), sum(|s| s.misses));
    let (led, followed) = (sum(|s| s.led), sum(|s| s.followed));
    let (reads, double_checks) = (sum(|s| s.reads), sum(|s| s.double_check_hits));
    row.at_least("requests", 180, requests);
    row.equation("requests = hits + misses", requests, hits, misses);
    row.equation("misses = led + followed", misses, led, followed);
    row.equation("led = reads + double-check hits", led, reads, double_checks);
    Ok(())
}
