//! A pod: one coalescer, one shop and its callers, between two pipes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use coalesce::CoalescerBuilder;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::ledger::Ledger;
use crate::shop::{OrderError, Shop};
use crate::wire::{Answer, Failure, Outcome, Plan, Report};

/// What a pod gives its last flights before it goes.
const GRACE: Duration = Duration::from_secs(1);

/// Lives as long as `orders` is open: gets ready, waits for the barrier, and lets all callers go at once.
pub async fn serve<R, W>(
    plan: Plan,
    builder: CoalescerBuilder,
    orders: R,
    reports: W,
) -> Result<(), Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let shop = open(&plan, builder).await?;
    let (tell, told) = unbounded_channel();
    tokio::spawn(write(told, reports));
    shop.warm_up(plan.pod).await;
    tell.send(Report::Ready)?;
    let mut orders = BufReader::new(orders).lines();
    if orders.next_line().await?.is_some() {
        let work = async {
            stampede(&plan, &shop, &tell).await;
            settle(&shop).await;
            let takeovers = shop.coalescer.counts().takeovers;
            // Nobody hears it when the parent is gone; then the pipe is closed, too.
            let _ = tell.send(Report::Idle { takeovers });
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = work => {}
            _ = orders.next_line() => {}
        }
    }
    shop.coalescer.shutdown(GRACE).await;
    Ok(())
}

async fn open(plan: &Plan, builder: CoalescerBuilder) -> Result<Shop, Failure> {
    let coalescer = builder
        .value("STAMPEDE_RUN", &plan.run)
        .value("STAMPEDE_COALESCE", plan.coalesced.to_string())
        .build()
        .await?;
    Ok(Shop {
        coalescer,
        ledger: Arc::new(Ledger::open(&plan.ledger, plan.pod, &plan.run)?),
        body: Duration::from_millis(plan.body_ms),
        fails: plan.fail,
    })
}

async fn stampede(plan: &Plan, shop: &Shop, tell: &UnboundedSender<Report>) {
    // One clock for all: what the scheduler takes to start the last caller counts as its wait.
    let opened = Instant::now();
    let first = plan.pod as u64 * plan.callers;
    let mut callers: JoinSet<()> = (first..first + plan.callers)
        .map(|caller| {
            let (shop, tell) = (shop.clone(), tell.clone());
            let asked = caller % plan.keys;
            async move {
                let outcome = call(&shop, asked).await;
                let waited_us = u64::try_from(opened.elapsed().as_micros()).unwrap_or(u64::MAX);
                let _ = tell.send(Report::Answer(Answer {
                    asked,
                    waited_us,
                    outcome,
                }));
            }
        })
        .collect();
    // A caller that panicked has sent no answer, and is missed by the parent.
    while callers.join_next().await.is_some() {}
}

async fn call(shop: &Shop, asked: u64) -> Outcome {
    match shop.get_order(asked).await {
        Ok(order) => Outcome::Value(order.stamp),
        Err(OrderError::Down(stamp)) => Outcome::Down(stamp),
        Err(stray @ OrderError::Unshared(_)) => Outcome::Stray(stray.to_string()),
    }
}

/// Waits for what goes on behind the last answer, so that its traffic is counted as well.
async fn settle(shop: &Shop) {
    let patience = Instant::now() + GRACE;
    while shop.coalescer.in_flight() > 0 && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Writes what has gathered in one go: 50 answers at once must not cost 50 system calls.
async fn write<W: AsyncWrite + Unpin>(mut told: UnboundedReceiver<Report>, mut reports: W) {
    let mut batch = Vec::new();
    while told.recv_many(&mut batch, 256).await > 0 {
        let mut text = Vec::new();
        for report in batch.drain(..) {
            if serde_json::to_writer(&mut text, &report).is_ok() {
                text.push(b'\n');
            }
        }
        // A parent that has gone reads nothing.
        if reports.write_all(&text).await.is_err() || reports.flush().await.is_err() {
            return;
        }
    }
}
