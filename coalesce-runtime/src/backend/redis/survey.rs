//! The survey: asks now and then who serves what in a cluster, and keeps the nodes up to what it hears.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::{Error, ErrorKind};
use fred::interfaces::ClientLike as _;
use fred::types::config::Options;
use fred::types::{ClusterHash, CustomCommand, Value};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::fault::fault_of;
use super::keeper::Task;
use super::nodes::Nodes;
use super::slots::{Place, SlotTable};
use crate::words::clock::{Instant, now};
use crate::words::fault::Fault;

/// While a node is not well, somebody is asked so often who serves its slots.
const BEAT: Duration = Duration::from_millis(500);

/// Between two surveys, whatever the reason.
const REST: Duration = Duration::from_millis(100);

/// How long a node may take for its table.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a node that is not connected to may take, from the first packet to its table.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// So many of the nodes that are well are asked at once, as one may hang and not be known to.
const ASKED_AT_ONCE: usize = 2;

/// Events of a client that nobody listens to.
const NO_ROOM: usize = 1;

/// Starts it. It never ends by itself.
pub(super) fn spawn(nodes: &Arc<Nodes>) -> Task {
    let nodes = Arc::clone(nodes);
    Task::spawn(async move {
        let (mut wanted, mut last) = (true, None::<Instant>);
        loop {
            let rested = last.is_none_or(|last| last + REST <= now());
            if rested && (wanted || !nodes.are_well()) {
                wanted = !survey(&nodes).await;
                last = Some(now());
            }
            tokio::select! {
                () = nodes.bell.notified() => wanted = true,
                () = sleep(if wanted { REST } else { BEAT }) => {}
            }
            nodes.meet_strangers();
        }
    })
}

/// What a node told, or why it told nothing.
type Told = Result<SlotTable, Fault>;

/// Asks nodes that are well, and if none of them answers, every address that was ever named. Whether
/// there was an answer.
async fn survey(nodes: &Nodes) -> bool {
    let told = match first_of(well(nodes)).await {
        Err(_) => first_of(named(nodes)).await,
        told => told,
    };
    // Where nobody answers, a wrong password shows nowhere else.
    let told = told.inspect_err(|fault| nodes.vitals.note_fault(*fault));
    told.map(|table| nodes.settle(table)).is_ok()
}

/// Some of the nodes that are well, each time others.
fn well(nodes: &Nodes) -> JoinSet<Told> {
    let mut well = nodes.all();
    well.retain(|node| node.is_well());
    fastrand::shuffle(&mut well);
    let asked = well.into_iter().take(ASKED_AT_ONCE);
    let asked = asked.map(|node| async move {
        let reply = slots(&node.reads.client()).await;
        read(reply, &node.place)
    });
    asked.collect()
}

/// Every address: of the URL, and those that nodes have named.
fn named(nodes: &Nodes) -> JoinSet<Told> {
    let map = nodes.map();
    let heard_of = map.table.primaries().iter().chain(map.table.replicas());
    let mut places: Vec<_> = nodes.seeds.iter().chain(heard_of).collect();
    places.sort();
    places.dedup();
    let asked = places.into_iter().map(|place| {
        let (client, place) = (nodes.profile.at(place).client(NO_ROOM), place.clone());
        async move { read(at_first(&client).await, &place) }
    });
    asked.collect()
}

fn read(reply: Result<Value, Error>, asked: &Place) -> Told {
    let reply = reply.map_err(|error| fault_of(&error))?;
    SlotTable::read(reply, asked).ok_or(Fault::Refused)
}

/// The same of a node that is not connected to.
async fn at_first(client: &Client) -> Result<Value, Error> {
    let asked = async {
        let _connection = connected(client).await?;
        slots(client).await
    };
    let silent = Err(Error::new(ErrorKind::Timeout, "no answer"));
    timeout(FIRST_PATIENCE, asked).await.unwrap_or(silent)
}

/// A connection that ends with the task which is answered. The client's own way to wait for one leaves it
/// open when nobody waits any more.
async fn connected(client: &Client) -> Result<Task<Result<(), Error>>, Error> {
    let mut connection = None;
    let connecting = async {
        connection = Some(Task::of(client.connect()));
        pending::<()>().await;
    };
    tokio::select! {
        // What comes of it is heard by those who have begun to wait.
        biased;
        connected = client.wait_for_connect() => connected?,
        () = connecting => {}
    }
    connection.ok_or_else(Error::new_canceled)
}

async fn slots(client: &Client) -> Result<Value, Error> {
    let limits = Options {
        timeout: Some(PATIENCE),
        max_attempts: Some(1),
        fail_fast: true,
        ..Options::default()
    };
    let command = CustomCommand::new_static("CLUSTER", ClusterHash::FirstKey, false);
    let limited = client.with_options(&limits);
    limited.custom(command, vec!["SLOTS"]).await
}

/// The first table that anybody has to show.
async fn first_of(mut asked: JoinSet<Told>) -> Told {
    let mut told = Err(Fault::Disconnected);
    while let Some(answer) = asked.join_next().await {
        told = answer.unwrap_or(Err(Fault::Disconnected));
        if told.is_ok() {
            break;
        }
    }
    told
}
