//! The keeper: makes a line's connections, and makes them again whenever they end or are given up.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use fred::clients::Client;
use fred::error::{Error, ErrorKind};
use fred::interfaces::{ClientLike as _, EventInterface as _};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::client::Line;
use super::fault::fault_of;
use crate::words::clock::now;

/// Between two clients, at first and at most: it is all outage once the server is back.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];

/// A client that lived this long had a connection worth the name.
const LIFE: Duration = Duration::from_secs(2);

/// A task that ends when this is dropped.
#[derive(Debug)]
pub(super) struct Task<T = ()>(JoinHandle<T>);

impl Task {
    pub(super) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(future))
    }
}

impl<T> Task<T> {
    /// A task that runs already.
    pub(super) const fn of(running: JoinHandle<T>) -> Self {
        Self(running)
    }

    /// Ends it, and waits until it has ended.
    pub(super) async fn stop(mut self) {
        self.0.abort();
        self.ended().await;
    }

    /// Waits until it has ended by itself.
    pub(super) async fn ended(&mut self) {
        // Why it ended does not matter: the connection is gone in any case.
        let _ = (&mut self.0).await;
    }

    pub(super) fn is_running(&self) -> bool {
        !self.0.is_finished()
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks something on a connection of its own, which ends with the answer.
pub(super) async fn visit<A>(
    client: &Client,
    patience: Duration,
    question: impl Future<Output = Result<A, Error>>,
) -> Result<A, Error> {
    let asked = async {
        let _connection = connected(client).await?;
        question.await
    };
    let silent = Err(Error::new(ErrorKind::Timeout, "no answer"));
    timeout(patience, asked).await.unwrap_or(silent)
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

/// Keeps `line` connected until the task is dropped.
///
/// `crew` starts the tasks that work with one client. They are there before it connects, so that they
/// miss nothing, and end with it.
pub(super) fn keep(line: Arc<Line>, crew: impl Fn(&Client) -> Vec<Task> + Send + 'static) -> Task {
    Task::spawn(async move {
        let mut pause = PAUSES[0];
        loop {
            let (client, started) = (line.client(), now());
            let hands = crew(&client);
            let mut errors = client.error_rx();
            let mut connection = Task::of(client.connect());
            let given_up = loop {
                tokio::select! {
                    () = connection.ended() => break false,
                    () = line.resets.notified() => break true,
                    // A wrong password shows nowhere else.
                    Ok((error, _)) = errors.recv() => line.vitals.note_fault(fault_of(&error)),
                }
            };
            // The sockets close with the task that owned them.
            drop((connection, hands));
            line.replace_client();
            if given_up || now() - started > LIFE {
                pause = PAUSES[0];
            }
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
            pause = (2 * pause).min(PAUSES[1]);
        }
    })
}
