//! One line to Redis: the few commands we send, each with its own limits.
//!
//! Nothing outside this file and [`keeper`](super::keeper) calls the client. Its scripting interface
//! ignores every limit, and dropping one of its futures does not take the command back.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use fred::clients::Client;
use fred::error::Error;
use fred::interfaces::{ClientLike as _, PubsubInterface as _};
use fred::types::config::Options;
use fred::types::{ClientState, ClusterHash, CustomCommand, Value};
use tokio::sync::Notify;

use super::breaker::{Breaker, Breakers};
use super::fault::{fault_of, is_unknown_script};
use super::health::Vitals;
use super::profile::Profile;
use super::replies::{self, Said};
use super::script::{Call, Script};
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
    pub(super) breakers: Breakers,
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
            breakers: Breakers::new(profile.is_clustered()),
            profile,
            vitals,
            resets: Notify::new(),
            room,
            nonces: AtomicU64::new(fastrand::u64(..)),
        }
    }

    /// GET, in one round trip.
    pub(super) async fn get(&self, name: Bytes) -> Result<Option<Bytes>, Fault> {
        self.read("GET", name, &[], replies::stored).await
    }

    /// HGETALL, in one round trip.
    pub(super) async fn hash(&self, name: String) -> Result<Vec<(String, String)>, Fault> {
        self.read("HGETALL", name.into(), &[], replies::hash).await
    }

    /// All of a sorted set, in one round trip.
    pub(super) async fn members(&self, name: String) -> Result<Vec<String>, Fault> {
        let all = &["0", "-1"];
        self.read("ZRANGE", name.into(), all, replies::members)
            .await
    }

    async fn read<A>(
        &self,
        command: &'static str,
        name: Bytes,
        more: &[&'static str],
        decode: fn(Value) -> Result<A, Fault>,
    ) -> Result<A, Fault> {
        let slot = fred::util::redis_keyslot(&name);
        let breaker = self.breakers.of(slot);
        breaker.admit()?;
        let client = self.client();
        let more = more.iter().copied().map(Bytes::from);
        let args = [name].into_iter().chain(more).collect();
        let reply = ask(&client, command, slot, args, self.limits()).await;
        let answer = reply.map_err(|error| fault_of(&error)).and_then(decode);
        if answer.as_ref().err() == Some(&Fault::Garbled) {
            self.distrust(&client);
        }
        self.reported(breaker, answer)
    }

    /// One run of a script. It is sent whole when the server does not know it.
    pub(super) async fn run(&self, script: &Script, call: Call) -> Result<(Said, Instant), Fault> {
        let breaker = self.breakers.of(call.slot);
        breaker.admit()?;
        let (client, sent, nonce) = (self.client(), now(), self.nonce());
        let reply = self.evaluate(&client, script, &call, &nonce, sent).await;
        let answer = match reply.map(|reply| Said::open(reply, &nonce)) {
            Ok(Ok(said)) => Ok((said, sent)),
            Ok(Err(replies::Misrouted)) => {
                self.distrust(&client);
                Err(Fault::Garbled)
            }
            Err(error) => Err(fault_of(&error)),
        };
        self.reported(breaker, answer)
    }

    async fn evaluate(
        &self,
        client: &Client,
        script: &Script,
        call: &Call,
        nonce: &str,
        sent: Instant,
    ) -> Result<Value, Error> {
        let args = arguments(script.sha(), call, nonce);
        let reply = ask(client, "EVALSHA", call.slot, args, self.limits()).await;
        match reply {
            Err(error) if is_unknown_script(&error) => {
                let left = self.profile.deadline().saturating_sub(now() - sent);
                let limits = Options {
                    timeout: Some(left.max(Duration::from_millis(1))),
                    ..self.limits()
                };
                let args = arguments(script.source(), call, nonce);
                ask(client, "EVAL", call.slot, args, limits).await
            }
            reply => reply,
        }
    }

    /// PING on the node of `slot`. Behind its answer, everything sent there before has been answered.
    ///
    /// With `patience` it waits for a connection that is just being made.
    pub(super) async fn ping(
        &self,
        client: &Client,
        slot: u16,
        patience: bool,
    ) -> Result<(), Fault> {
        let message = self.nonce();
        let limits = Options {
            fail_fast: !patience,
            ..self.limits()
        };
        let args = vec![Bytes::copy_from_slice(message.as_bytes())];
        let reply = ask(client, "PING", slot, args, limits).await;
        reply
            .map_err(|error| fault_of(&error))
            .and_then(|reply| replies::echo(reply, &message))
    }

    /// TIME, and when it was asked for.
    pub(super) async fn time(&self, client: &Client) -> Result<(ServerTime, Instant), Fault> {
        let sent = now();
        let reply = ask(client, "TIME", 0, Vec::new(), self.limits()).await;
        let time = reply
            .map_err(|error| fault_of(&error))
            .and_then(replies::time)?;
        Ok((time, sent))
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
        let (slot, message) = (slot_of_subscriptions(client), self.nonce());
        let pipeline = client.pipeline().with_options(&self.limits());
        let sent = async {
            for batch in channels.chunks(CHANNELS_AT_ONCE) {
                let batch = batch.to_vec();
                match sentence {
                    Sentence::Subscribe => pipeline.subscribe(batch).await?,
                    Sentence::Unsubscribe => pipeline.unsubscribe(batch).await?,
                }
            }
            let message = Value::Bytes(Bytes::copy_from_slice(message.as_bytes()));
            let _: Value = pipeline
                .custom(command("PING", slot), vec![message])
                .await?;
            pipeline.last().await
        };
        sent.await
            .map_err(|error| fault_of(&error))
            .and_then(|reply| replies::echo(reply, &message))
    }

    fn limits(&self) -> Options {
        Options {
            timeout: Some(self.profile.deadline()),
            max_attempts: Some(self.profile.attempts()),
            fail_fast: true,
            ..Options::default()
        }
    }

    fn reported<A>(&self, breaker: &Breaker, answer: Result<A, Fault>) -> Result<A, Fault> {
        let fault = answer.as_ref().err().copied();
        breaker.report(fault);
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
    /// The client's own way to reconnect waits behind a write that does not end, and in a cluster it
    /// leaves connections alone that look healthy.
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

/// Where a client's subscriptions are in a cluster: the client sends all of them to one node.
pub(super) fn slot_of_subscriptions(client: &Client) -> u16 {
    fred::util::redis_keyslot(client.id().as_bytes())
}

async fn ask(
    client: &Client,
    name: &'static str,
    slot: u16,
    args: Vec<Bytes>,
    limits: Options,
) -> Result<Value, Error> {
    let args = args.into_iter().map(Value::Bytes).collect();
    let limited = client.with_options(&limits);
    limited.custom(command(name, slot), args).await
}

fn command(name: &'static str, slot: u16) -> CustomCommand {
    CustomCommand::new_static(name, ClusterHash::Custom(slot), false)
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
