//! The world of a case: two processes on one store, a key space of its own, and time that passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use coalesce_runtime::Key;
use coalesce_runtime::coordination::{
    AbandonAsk, BeginAnswer, BeginAsk, Coordinator, Envelope, FinishAnswer, FinishAsk, Listener,
    Message, Notice, RenewAnswer, RenewAsk, ReplaceAsk, Reply, ServerTime, Token,
};
use tokio::time::{Instant, sleep, timeout};

/// A kind of coordinator that the suite is run on.
pub(crate) trait Subject {
    /// Runs a case in a world of its own.
    fn run(case: impl AsyncFnOnce(&World));
}

/// Puts raw bytes where a key's state is, behind the coordinator's back.
pub(crate) trait Plant {
    /// The bytes live for `life`.
    fn plant<'a>(&'a self, key: &'a Key, state: Bytes, life: Duration) -> Reply<'a, ()>;
}

/// What a case is given.
pub(crate) struct World {
    /// The coordinator of one process.
    pub(crate) here: Side,
    /// The coordinator of another process, on the same store.
    pub(crate) there: Side,
    plant: Box<dyn Plant>,
    grain: Duration,
    number: u64,
}

impl World {
    /// A world with keys of its own. `grain` is how much later than asked an expiry may be noticed.
    pub(crate) fn new(
        here: Arc<dyn Coordinator>,
        there: Arc<dyn Coordinator>,
        plant: Box<dyn Plant>,
        grain: Duration,
    ) -> Self {
        static WORLDS: AtomicU64 = AtomicU64::new(0);
        Self {
            here: Side(here),
            there: Side(there),
            plant,
            grain,
            number: WORLDS.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// A key that no other case has.
    pub(crate) fn key(&self, name: &str) -> Key {
        Key::new(format!("conformance::world_{}", self.number), &[&name])
    }

    /// Returns when `span` is over and whatever was to end with it has ended.
    pub(crate) async fn pass(&self, span: Duration) {
        sleep(span + self.grain).await;
    }

    /// Puts raw bytes where the key's state is.
    pub(crate) async fn plant(&self, key: &Key, state: impl Into<Bytes>) {
        let life = Duration::from_mins(1);
        self.plant.plant(key, state.into(), life).await.unwrap();
    }
}

/// A coordinator whose every question must be answered.
#[derive(Clone)]
pub(crate) struct Side(Arc<dyn Coordinator>);

impl Side {
    pub(crate) async fn begin(&self, key: &Key, ask: BeginAsk) -> BeginAnswer {
        self.0.begin(key, &ask).await.unwrap()
    }

    pub(crate) async fn renew(&self, ask: RenewAsk) -> RenewAnswer {
        self.renew_all(&[ask]).await[0]
    }

    pub(crate) async fn renew_all(&self, asks: &[RenewAsk]) -> Vec<RenewAnswer> {
        let answers = self.0.renew(asks).await.unwrap();
        answers.into_iter().map(Result::unwrap).collect()
    }

    pub(crate) async fn finish(&self, key: &Key, ask: FinishAsk) -> FinishAnswer {
        self.0.finish(key, &ask).await.unwrap()
    }

    pub(crate) async fn abandon(&self, key: &Key, token: Token) -> bool {
        self.0
            .abandon(key, AbandonAsk::body_failed(token))
            .await
            .unwrap()
    }

    pub(crate) async fn replace(&self, key: &Key, ask: ReplaceAsk) -> bool {
        self.0.replace(key, &ask).await.unwrap()
    }

    pub(crate) async fn read(&self, key: &Key) -> Option<Bytes> {
        self.0.read(key).await.unwrap()
    }

    /// The key's state, which must be there and readable.
    pub(crate) async fn state(&self, key: &Key) -> Envelope {
        let bytes = self.read(key).await.expect("a state");
        Envelope::decode(key, &bytes).expect("a readable state")
    }

    pub(crate) async fn listen(&self, key: &Key) -> Ear {
        Ear(self.0.listen(key).await.unwrap())
    }

    pub(crate) fn listening(&self, key: &Key) -> Option<Ear> {
        self.0.listening(key).map(Ear)
    }

    /// The time on the coordinator's clock, as far as this process knows.
    pub(crate) fn now(&self) -> ServerTime {
        let clock = self.0.clock(&Key::new("any", &[]));
        clock.server_at(Instant::now())
    }

    /// The coordinator itself.
    pub(crate) fn coordinator(&self) -> &dyn Coordinator {
        &*self.0
    }
}

/// A listener that hears what it is meant to hear, or fails the case.
pub(crate) struct Ear(Listener);

impl Ear {
    /// The next message.
    pub(crate) async fn hears(&mut self) -> Message {
        let heard = timeout(Duration::from_secs(5), self.0.next()).await;
        match heard.expect("something to be heard") {
            Notice::Message(message) => message,
            Notice::Gap => panic!("the subscription broke"),
        }
    }

    /// The next outcome, and since when it was fenced.
    pub(crate) async fn hears_outcome(&mut self) -> (Envelope, Option<ServerTime>) {
        match self.hears().await {
            Message::Outcome {
                envelope,
                fenced_at,
            } => (envelope, fenced_at),
            other => panic!("heard {other:?} and not an outcome"),
        }
    }

    /// Whether nothing has been said on the channel, up to a message said now and heard in its turn.
    pub(crate) async fn has_heard_nothing(&mut self, side: &Side, key: &Key) {
        let said_now = super::asks::put(Token::random(), b"said now");
        let token = said_now.envelope.token;
        side.replace(key, said_now).await;
        assert_eq!(self.hears_outcome().await.0.token, token);
    }
}
