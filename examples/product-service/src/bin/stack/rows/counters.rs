//! The case of the counters, which have to add up at rest.

use anyhow::Result;
use product_service::http::Status;

use super::product;
use crate::load::burst;
use crate::stack::Stack;
use crate::verdict::Row;

type Counter = fn(&Status) -> u64;

const WAITED: [Counter; 3] = [
    |status| status.misses,
    |status| status.led,
    |status| status.followed,
];

pub async fn add_up(stack: &mut Stack, row: &mut Row) -> Result<()> {
    let [misses, led, followed] = sums(stack, WAITED).await?;
    // Misses and hits at every replica, whatever was killed in the cases before.
    stack.faults(50, false).await?;
    for id in [1, 2, 3, 1, 2, 3] {
        burst(&stack.http, &product(&stack.nginx.url(), id), 60).await;
    }
    let of: [Counter; 3] = [
        |status| status.requests,
        |status| status.hits,
        |status| status.misses,
    ];
    let [requests, hits, all_misses] = sums(stack, of).await?;
    row.at_least("requests", 360, requests);
    row.equation("requests = hits + misses", requests, hits, all_misses);
    // Where nginx hung up on a read that was slower than its patience, nobody knows what that would have got. Here it
    // hangs up on nobody.
    let now = sums(stack, WAITED).await?;
    row.equation(
        "misses = led + followed",
        now[0] - misses,
        now[1] - led,
        now[2] - followed,
    );
    let of: [Counter; 3] = [
        |status| status.led,
        |status| status.reads,
        |status| status.double_check_hits,
    ];
    let [led, reads, double_checks] = sums(stack, of).await?;
    row.equation("led = reads + double-check hits", led, reads, double_checks);
    Ok(())
}

/// Counters, each summed over the replicas.
async fn sums<const N: usize>(stack: &Stack, of: [Counter; N]) -> Result<[u64; N]> {
    let statuses = stack.statuses().await?;
    Ok(of.map(|counter| statuses.iter().map(counter).sum()))
}
