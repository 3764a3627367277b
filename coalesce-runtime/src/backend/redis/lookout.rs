//! The lookout: notices that an address leads to another primary, while its connections stay at the one before.
//!
//! A name, or a balancer's address, goes on to the new primary; connections stay where they are as long as the old
//! one lives on as its copy. That one answers whoever reads, so nobody is cut off before another has been seen.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::Error;
use fred::types::{ClusterHash, CustomCommand};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::client::{Line, ask};
use super::keeper::{Task, visit};
use super::redirect::Turn;
use super::replies::text;

/// Between two looks. One costs a connection.
const REST: Duration = Duration::from_millis(500);

/// How long a look may take, at the old place and at the new one each.
const PATIENCE: Duration = Duration::from_secs(1);

/// Events of a client that nobody listens to.
const NO_ROOM: usize = 1;

/// Looks whenever `doubt` rings, since the first of these lines is at a server that takes no writes.
pub(super) fn look_out(doubt: Arc<Notify>, lines: [Arc<Line>; 3]) -> Task {
    Task::spawn(async move {
        loop {
            doubt.notified().await;
            if has_moved(&lines[0]).await {
                for line in &lines {
                    line.reset(&line.client());
                }
            }
            sleep(REST).await;
        }
    })
}

/// Whether the address leads to a primary, and this line to another server, which is none.
async fn has_moved(line: &Line) -> bool {
    let client = line.profile.client(NO_ROOM);
    let Ok(here) = Box::pin(identity(&line.client())).await else {
        return false;
    };
    // It may be one again by now.
    let there = visit(&client, PATIENCE, Box::pin(identity(&client)));
    !here.is_primary && matches!(there.await, Ok(there) if there.is_primary && there.id != here.id)
}

/// Who a server is.
struct Identity {
    id: String,
    is_primary: bool,
}

async fn identity(client: &Client) -> Result<Identity, Error> {
    let command = CustomCommand::new_static("INFO", ClusterHash::FirstKey, false);
    let told = ask(client, (command, Vec::new()), Turn::within(PATIENCE)).await?;
    let told = text(told).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let field = |name| told.lines().find_map(|line| line.strip_prefix(name));
    Ok(Identity {
        id: field("run_id:").unwrap_or_default().to_owned(),
        is_primary: field("role:") == Some("master"),
    })
}
