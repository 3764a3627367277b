//! The survey: asks now and then who serves what in a cluster, and keeps the nodes up to what it hears.

use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::Error;
use fred::interfaces::ClientLike as _;
use fred::types::config::Options;
use fred::types::{ClusterHash, CustomCommand, Value};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::fault::fault_of;
use super::keeper::{Task, visit};
use super::nodes::Nodes;
use super::pace::{BEAT, Found, Pace};
use super::slots::{Place, SlotTable};
use crate::words::clock::now;
use crate::words::fault::Fault;

/// How long a node may take for its table.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long a node that is not connected to may take, from the first packet to its table.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// So many of the nodes that are well are asked at once: one may hang and not be known to, or be cut off from
/// the others and not know what they know.
const ASKED_AT_ONCE: usize = 3;

/// How much longer the others may take than the first that answers.
const GRACE: Duration = Duration::from_millis(50);

/// Events of a client that nobody listens to.
const NO_ROOM: usize = 1;

/// Starts it. It never ends by itself.
pub(super) fn spawn(nodes: &Arc<Nodes>) -> Task {
    let nodes = Arc::clone(nodes);
    Task::spawn(async move {
        // A survey may take long, and a question is waiting for the stranger.
        tokio::join!(keep_company(&nodes), keep_up(&nodes));
    })
}

async fn keep_company(nodes: &Nodes) {
    loop {
        nodes.meet_strangers();
        tokio::select! {
            () = nodes.door.notified() => {}
            () = sleep(BEAT) => {}
        }
    }
}

async fn keep_up(nodes: &Nodes) {
    let mut pace = Pace::default();
    loop {
        let pause = pace.pause(nodes.are_well(), now());
        if pause == Some(Duration::ZERO) {
            let found = survey(nodes).await;
            pace.surveyed(found, now(), 0.5 + fastrand::f64());
            continue;
        }
        tokio::select! {
            () = nodes.bell.notified(), if !pace.wanted => pace.wanted = true,
            () = sleep(pause.unwrap_or(BEAT)) => {}
        }
    }
}

/// What a node told, or why it told nothing.
type Told = Result<SlotTable, Fault>;

/// Asks nodes that are well, and if none of them answers, every address that was ever named.
async fn survey(nodes: &Nodes) -> Found {
    let views = match views_of(well(nodes)).await {
        Err(_) => views_of(named(nodes)).await,
        views => views,
    };
    let views = match views {
        Ok(views) => views,
        Err(fault) => {
            // Where nobody answers, a wrong password shows nowhere else.
            nodes.vitals.note_fault(fault);
            return Found::Nobody;
        }
    };
    let disputed = views.0.len() > 1;
    let is_news = nodes.settle(views.best());
    match (disputed, is_news) {
        (true, _) => Found::Dispute,
        (false, true) => Found::News,
        (false, false) => Found::Same,
    }
}

/// Some of the nodes that are well, each time others.
fn well(nodes: &Nodes) -> JoinSet<Told> {
    let mut well = nodes.all();
    well.retain(|node| node.is_well());
    fastrand::shuffle(&mut well);
    let by_name = nodes.profile.is_secured();
    let asked = well.into_iter().take(ASKED_AT_ONCE);
    let asked = asked.map(|node| async move {
        let reply = slots(&node.reads.client()).await;
        read(reply, &node.place, by_name)
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
    let by_name = nodes.profile.is_secured();
    let asked = places.into_iter().map(|place| {
        let (client, place) = (nodes.profile.at(place).client(NO_ROOM), place.clone());
        async move {
            // From the first packet to its table, since nobody is connected to it.
            let reply = visit(&client, FIRST_PATIENCE, Box::pin(slots(&client))).await;
            read(reply, &place, by_name)
        }
    });
    asked.collect()
}

fn read(reply: Result<Value, Error>, asked: &Place, by_name: bool) -> Told {
    let reply = reply.map_err(|error| fault_of(&error))?;
    SlotTable::read(reply, asked, by_name).ok_or(Fault::Refused)
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

/// Different tables, each with the number of those who have told it.
struct Views(Vec<(SlotTable, usize)>);

impl Views {
    fn add(&mut self, table: SlotTable) {
        match self.0.iter_mut().find(|(view, _)| view.agrees(&table)) {
            Some((_, count)) => *count += 1,
            None => self.0.push((table, 1)),
        }
    }

    /// What most of them have told, of several such the first.
    fn best(self) -> SlotTable {
        let best = self.0.into_iter().rev().max_by_key(|(_, count)| *count);
        best.map(|(table, _)| table).unwrap_or_default()
    }
}

/// The first table that anybody has to show, and those that come soon after it.
async fn views_of(mut asked: JoinSet<Told>) -> Result<Views, Fault> {
    let mut views = Views(Vec::new());
    views.add(first_of(&mut asked).await?);
    let others = async {
        while let Ok(table) = first_of(&mut asked).await {
            views.add(table);
        }
    };
    let _ = timeout(GRACE, others).await;
    Ok(views)
}

async fn first_of(asked: &mut JoinSet<Told>) -> Told {
    let mut told = Err(Fault::Disconnected);
    while let Some(answer) = asked.join_next().await {
        told = answer.unwrap_or(Err(Fault::Disconnected));
        if told.is_ok() {
            break;
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::backend::redis::connect::Address;
    use crate::backend::redis::node::Node;
    use crate::backend::redis::profile::Profile;
    use crate::backend::redis::redirect::{Setback, Turn};
    use crate::words::clock::ServerTime;

    fn table(port: u16) -> SlotTable {
        SlotTable::of_one(Place::new("h", port))
    }

    /// Which of these tables is settled, and how many different ones there are.
    fn best(ports: &[u16]) -> (u16, usize) {
        let mut views = Views(Vec::new());
        for port in ports {
            views.add(table(*port));
        }
        let different = views.0.len();
        (views.best().of(0).unwrap().port, different)
    }

    #[test]
    fn a_node_that_is_cut_off_from_the_others_is_not_believed() {
        assert_eq!(best(&[1, 2, 2]), (2, 2));
        assert_eq!(best(&[2, 1, 2]), (2, 2));
        assert_eq!(best(&[2, 2, 2]), (2, 1));
        assert_eq!(best(&[1, 2]), (1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn the_others_are_waited_for_a_little_longer_than_the_first() {
        let mut asked = JoinSet::new();
        for (after, told) in [
            (1, Err(Fault::Refused)),
            (2, Ok(table(1))),
            (3, Err(Fault::Timeout)),
            (30, Ok(table(2))),
            (40, Ok(table(2))),
            (400, Ok(table(1))),
        ] {
            asked.spawn(async move {
                sleep(Duration::from_millis(after)).await;
                told
            });
        }
        let views = views_of(asked).await.unwrap();
        let counts: Vec<_> = views.0.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [1, 2]);
        assert_eq!(
            views_of(JoinSet::new()).await.err(),
            Some(Fault::Disconnected)
        );
    }

    /// A seed that takes connections and says nothing keeps a survey for as long as it may take.
    #[tokio::test(start_paused = true)]
    async fn who_is_sent_to_a_stranger_does_not_wait_for_a_survey() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis-cluster://{}", silent.local_addr().unwrap());
        let address = Address::parse(&url).unwrap();
        let (server, seeds) = (address.place(), address.seeds());
        let profile = Profile::new(address, FIRST_PATIENCE).unwrap();
        let nodes = Arc::new(Nodes::new(profile, FIRST_PATIENCE, server, seeds));
        let _ = nodes.settle(SlotTable::of_one(Place::new("127.0.0.1", 1)));
        // It is nothing new, and its connections are not waited for.
        let known = ServerTime::from_micros(1);
        nodes.of(0).unwrap().clock.refine(known, now());
        let _survey = spawn(&nodes);
        // The survey has begun.
        sleep(GRACE).await;
        let question = async |node: Arc<Node>, _: Turn| match node.place.port {
            1 => Err(Setback::Moved(Place::new("127.0.0.1", 2))),
            _ => Ok(()),
        };
        // A node may take half of a second until it is connected to.
        let patience = FIRST_PATIENCE.mul_f64(0.4);
        assert_eq!(nodes.ask(0, patience, question).await, Ok(()));
    }
}
