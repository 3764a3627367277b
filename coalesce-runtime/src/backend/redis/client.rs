//! One line to Redis: the few commands we send, each with its own limits.
//!
//! Nothing outside this file and [`keeper`](super::keeper) calls the client. Its scripting interface
//! ignores every limit, and dropping one of its futures does not take the command back.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use fred::clients::Client;
use fred::error::Error;
use fred::interfaces::{ClientLike as _, PubsubInterface as _};
use fred::types::config::Options;
use fred::types::{ClientState, ClusterHash, CustomCommand, Value};
use tokio::sync::Notify;

use super::breaker::Breaker;
use super::fault::{fault_of, is_unknown_script};
use super::health::Vitals;
use super::profile::Profile;
use super::redirect::{Setback, Turn};
use super::replies::{self, Said};
use super::script::{Call, Script};
use crate::ports::health::BreakerState;
use crate::words::clock::{Instant, ServerTime, now};
use crate::words::fault::Fault;

/// Channels in one command.
const CHANNELS_AT_ONCE: usize = 500;

/// What can be said about channels.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sentence {
    Subscribe,
    Unsubscribe,
}

/// A line that is kept up. The client behind it is replaced when it cannot be trusted any more.
pub(super) struct Line {
    pub(super) profile: Profile,
    pub(super) breaker: Breaker,
    pub(super) vitals: Arc<Vitals>,
    pub(super) resets: Notify,
    /// How many events and messages the client keeps for those who are slow to take them.
    room: usize,
    client: RwLock<Client>,
    nonces: AtomicU64,
}

impl Line {
    /// A line that is not connected.
    pub(super) fn new(profile: Profile, vitals: Arc<Vitals>, room: usize) -> Self {
        Self {
            client: RwLock::new(profile.client(room)),
            breaker: Breaker::default(),
            profile,
            vitals,
            resets: Notify::new(),
            room,
            nonces: AtomicU64::new(fastrand::u64(..)),
        }
    }

    /// GETRANGE from the beginning, in one round trip: as much of a state as is taken.
    pub(super) async fn get(&self, name: Bytes, turn: Turn) -> Result<Option<Bytes>, Setback> {
        let args = vec![name, Bytes::from_static(b"0"), self.profile.last_byte()];
        self.read("GETRANGE", args, replies::stored, turn).await
    }

    /// HGETALL, in one round trip.
    pub(super) async fn hash(
        &self,
        name: String,
        turn: Turn,
    ) -> Result<Vec<(String, String)>, Setback> {
        let args = vec![name.into()];
        self.read("HGETALL", args, replies::hash, turn).await
    }

    /// All of a sorted set, in one round trip.
    pub(super) async fn members(&self, name: String, turn: Turn) -> Result<Vec<String>, Setback> {
        // With their scores, which nobody reads: names alone might be another question's.
        let all = ["0", "-1", "WITHSCORES"].map(Bytes::from);
        let args = [name.into()].into_iter().chain(all).collect();
        self.read("ZRANGE", args, replies::members, turn).await
    }

    async fn read<A>(
        &self,
        command: &'static str,
        args: Vec<Bytes>,
        decode: fn(Value) -> Result<A, Fault>,
        turn: Turn,
    ) -> Result<A, Setback> {
        self.breaker.admit()?;
        let client = self.client();
        let reply = ask(&client, words(command, args), turn).await;
        let answer = reply
            .map_err(|error| Setback::from(&error))
            .and_then(|reply| Ok(decode(reply)?));
        if answer.as_ref().err() == Some(&Setback::Fault(Fault::Garbled)) {
            self.distrust(&client);
        }
        self.reported(answer)
    }

    /// One run of a script. It is sent whole when the server does not know it.
    pub(super) async fn run(
        &self,
        script: &Script,
        call: &Call,
        turn: Turn,
    ) -> Result<(Said, Instant), Setback> {
        self.breaker.admit()?;
        let (client, sent, nonce) = (self.client(), now(), self.nonce());
        let reply = evaluate(&client, script, call, &nonce, turn).await;
        let answer = match reply.map(|reply| Said::open(reply, &nonce)) {
            Ok(Ok(said)) => Ok((said, sent)),
            Ok(Err(replies::Misrouted)) => {
                self.distrust(&client);
                Err(Fault::Garbled.into())
            }
            Err(error) => Err(Setback::from(&error)),
        };
        self.reported(answer)
    }

    /// PING. Behind its answer, everything sent before has been answered.
    ///
    /// With `patience` it waits for a connection that is just being made.
    pub(super) async fn ping(&self, client: &Client, patience: bool) -> Result<(), Fault> {
        let message = self.nonce();
        let limits = Options {
            fail_fast: !patience,
            ..limits(self.turn())
        };
        let args = vec![Value::Bytes(Bytes::copy_from_slice(message.as_bytes()))];
        let limited = client.with_options(&limits);
        let reply = limited.custom(command("PING"), args).await;
        reply
            .map_err(|error| fault_of(&error))
            .and_then(|reply| replies::echo(reply, &message))
    }

    /// TIME, and when it was asked for.
    pub(super) async fn time(&self, turn: Turn) -> Result<(ServerTime, Instant), Setback> {
        self.breaker.admit()?;
        let answer = time(&self.client(), turn).await;
        self.reported(answer.map_err(Setback::from))
    }

    /// The same for who tries the line.
    pub(super) async fn probe_time(&self, client: &Client) -> Result<(ServerTime, Instant), Fault> {
        time(client, self.turn()).await
    }

    /// SUBSCRIBE or UNSUBSCRIBE, and PING right behind it on the same connection. The answer is PING's.
    ///
    /// They leave in one pipeline: the server's refusal of the first is taken for the answer to PING, but
    /// only when PING is on its way by then. Had it come earlier, nobody would have noticed it.
    pub(super) async fn say(
        &self,
        client: &Client,
        sentence: Sentence,
        channels: &[String],
    ) -> Result<(), Fault> {
        let message = self.nonce();
        let pipeline = client.pipeline().with_options(&limits(self.turn()));
        let sent = async {
            for batch in channels.chunks(CHANNELS_AT_ONCE) {
                let batch = batch.to_vec();
                match sentence {
                    Sentence::Subscribe => pipeline.subscribe(batch).await?,
                    Sentence::Unsubscribe => pipeline.unsubscribe(batch).await?,
                }
            }
            let message = Value::Bytes(Bytes::copy_from_slice(message.as_bytes()));
            let _: Value = pipeline.custom(command("PING"), vec![message]).await?;
            pipeline.last().await
        };
        sent.await
            .map_err(|error| fault_of(&error))
            .and_then(|reply| replies::echo(reply, &message))
    }

    /// As long as one question may take.
    fn turn(&self) -> Turn {
        Turn::within(self.profile.deadline())
    }

    fn reported<A>(&self, answer: Result<A, Setback>) -> Result<A, Setback> {
        // A node that names another one, or knows what it is, is well.
        let fault = match &answer {
            Err(Setback::Fault(fault)) => Some(*fault),
            _ => None,
        };
        self.breaker.report(fault);
        if let Some(fault) = fault {
            self.vitals.note_fault(fault);
        }
        answer
    }
}

/// The client behind the line.
impl Line {
    /// The client of the moment.
    pub(super) fn client(&self) -> Client {
        self.client
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Puts a new client in the old one's place.
    pub(super) fn replace_client(&self) {
        let client = self.profile.client(self.room);
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = client;
    }

    /// Gives up `client` and its connections, unless that has happened. The keeper makes new ones.
    ///
    /// The client's own way to reconnect waits behind a write that does not end.
    pub(super) fn reset(&self, client: &Client) {
        if self.client().id() == client.id() {
            self.resets.notify_one();
        }
    }

    /// Gives up a client that has handed out another request's reply: all later ones may be shifted.
    pub(super) fn distrust(&self, client: &Client) {
        self.vitals.note_misrouted();
        self.reset(client);
    }

    /// Whether questions are asked here.
    pub(super) fn is_well(&self) -> bool {
        self.is_connected() && self.breaker.state_now() != BreakerState::Open
    }

    pub(super) fn is_connected(&self) -> bool {
        self.client().state() == ClientState::Connected
    }

    /// A text that no other request of this line has.
    fn nonce(&self) -> String {
        self.nonces.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The profile knows the password.
        f.debug_struct("Line")
            .field("connected", &self.is_connected())
            .finish_non_exhaustive()
    }
}

async fn time(client: &Client, turn: Turn) -> Result<(ServerTime, Instant), Fault> {
    let sent = now();
    let reply = ask(client, words("TIME", Vec::new()), turn).await;
    let time = reply
        .map_err(|error| fault_of(&error))
        .and_then(replies::time)?;
    Ok((time, sent))
}

async fn evaluate(
    client: &Client,
    script: &Script,
    call: &Call,
    nonce: &str,
    turn: Turn,
) -> Result<Value, Error> {
    let args = arguments(script.sha(), call, nonce);
    match ask(client, words("EVALSHA", args), turn).await {
        Err(error) if is_unknown_script(&error) => {
            let args = arguments(script.source(), call, nonce);
            ask(client, words("EVAL", args), turn).await
        }
        reply => reply,
    }
}

/// One command and its reply.
///
/// ASKING counts for the very next command of its connection. The client writes a pipeline to its one server
/// without anything in between, or, when the connection ends meanwhile, not the rest of it.
pub(super) async fn ask(
    client: &Client,
    (name, args): (CustomCommand, Vec<Value>),
    turn: Turn,
) -> Result<Value, Error> {
    let limits = limits(turn);
    if !turn.asking {
        let limited = client.with_options(&limits);
        return limited.custom(name, args).await;
    }
    let pipeline = client.pipeline().with_options(&limits);
    let _: Value = pipeline
        .custom(command("ASKING"), Vec::<Value>::new())
        .await?;
    let _: Value = pipeline.custom(name, args).await?;
    pipeline.last().await
}

fn words(name: &'static str, args: Vec<Bytes>) -> (CustomCommand, Vec<Value>) {
    let args = args.into_iter().map(Value::Bytes).collect();
    (command(name), args)
}

fn command(name: &'static str) -> CustomCommand {
    CustomCommand::new_static(name, ClusterHash::FirstKey, false)
}

fn limits(turn: Turn) -> Options {
    Options {
        timeout: Some(turn.left()),
        // A reply that was lost says nothing about its command.
        max_attempts: Some(1),
        fail_fast: true,
        ..Options::default()
    }
}

/// What EVAL and EVALSHA take: the script, how many keys, the keys, the nonce, the other arguments.
fn arguments(script: Bytes, call: &Call, nonce: &str) -> Vec<Bytes> {
    let mut args = Vec::with_capacity(3 + call.keys.len() + call.args.len());
    args.extend([script, call.keys.len().to_string().into()]);
    args.extend(call.keys.iter().cloned());
    args.push(Bytes::copy_from_slice(nonce.as_bytes()));
    args.extend(call.args.iter().cloned());
    args
}
