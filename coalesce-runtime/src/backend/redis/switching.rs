//! The kill switch in Redis: a hash, and a channel of the same name.

use bytes::Bytes;

use super::RedisCoordinator;
use super::replies::Said;
use super::script::SWITCH;
use crate::ports::coordinator::{Listener, Reply};
use crate::words::switch::switch_key;

impl RedisCoordinator {
    pub(super) fn read_switches(&self) -> Reply<'_, Vec<(String, String)>> {
        let shared = &self.0.shared;
        Box::pin(shared.reads.hash(shared.names.switch()))
    }

    pub(super) fn write_switch(
        &self,
        field: &str,
        text: Option<&str>,
    ) -> Reply<'_, Option<String>> {
        let call = self.0.shared.names.switched(field, text);
        let as_text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        self.ask(&SWITCH, call, move |said: Said| {
            Ok(said.look()?.map(as_text))
        })
    }

    pub(super) fn hear_of_switches(&self) -> Reply<'_, Listener> {
        Box::pin(async move {
            let name = self.0.shared.names.switch();
            self.0.subscriber.listen(&name, switch_key()).await
        })
    }

    /// The channels of keys: all but the switch's.
    pub(super) fn key_subscriptions(&self) -> usize {
        let subscriber = &self.0.subscriber;
        let switch = subscriber.has(&self.0.shared.names.switch());
        subscriber.len() - usize::from(switch)
    }
}
