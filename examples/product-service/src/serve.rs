//! The life of a replica: it starts, serves, drains and ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::serve::ListenerExt as _;
use coalesce::{BuildError, Coalescer};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

use crate::catalog::Catalog;
use crate::config::Config;
use crate::faults::{Faults, Faulty};
use crate::http::{Replica, router};
use crate::limiter::Limiter;
use crate::postgres::Postgres;
use crate::telemetry::recorder;

/// Why a replica did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database could not be reached, or its tables not brought up to date.
    #[error("the database: {0}")]
    Database(#[source] sqlx::Error),
    /// The call sites and the configuration do not go together.
    #[error("coalescing: {0}")]
    Coalescer(#[from] BuildError),
    /// The limiter's client does not understand the URL of Redis.
    #[error("the limiter: {0}")]
    Limiter(#[from] redis::RedisError),
    /// The address is taken, or not ours.
    #[error("listening: {0}")]
    Listen(#[from] io::Error),
}

/// A replica that has started and listens.
#[derive(Debug)]
pub struct Started {
    replica: Arc<Replica>,
    database: Postgres,
    listener: TcpListener,
    address: SocketAddr,
}

impl Started {
    /// Connects to everything, and listens. A Redis that is not there is no error, and met at each request.
    ///
    /// # Errors
    ///
    /// See [`StartError`].
    pub async fn new(config: Config) -> Result<Self, StartError> {
        // Before the coalescer: what is counted without a recorder goes nowhere.
        let metrics = recorder();
        let database = Postgres::connect(config.database_url.as_str(), config.database_wait).await;
        let database = database.map_err(StartError::Database)?;
        let faults = Arc::new(Faults::new(config.database_delay, config.database_fails));
        let coalescer = coalescer(&config).await?;
        let repository = Arc::new(Faulty::new(database.clone(), Arc::clone(&faults)));
        let limiter = Limiter::new(
            config.redis_url.as_str(),
            config.limit,
            config.limiter_deadline,
        )?;
        limiter.warm_up().await;
        let listener = listen(config.listen)?;
        let address = listener.local_addr()?;
        let replica = Replica {
            catalog: Catalog::new(repository, coalescer.clone()),
            config,
            faults,
            limiter,
            coalescer,
            draining: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            not_found: AtomicU64::new(0),
            metrics,
        };
        Ok(Self {
            replica: Arc::new(replica),
            database,
            listener,
            address,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its routes share.
    pub const fn replica(&self) -> &Arc<Replica> {
        &self.replica
    }

    /// Serves until `told`, then drains: first `/readyz` says so and connections are closed behind their answers,
    /// then nothing new is taken, then the writes in progress end, and the reads end or are handed over.
    ///
    /// # Errors
    ///
    /// When the listener breaks.
    pub async fn serve_until(self, told: impl Future<Output = ()>) -> io::Result<()> {
        let Self {
            replica,
            database,
            listener,
            ..
        } = self;
        let Config {
            drain_delay,
            drain_timeout,
            ..
        } = replica.config;
        let service = router(&replica).into_make_service_with_connect_info::<SocketAddr>();
        let listener = listener.tap_io(|stream| {
            // An answer is one small packet that must not wait for another.
            let _ = stream.set_nodelay(true);
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(listener, service).with_graceful_shutdown(async {
            // A sender that is gone means the same.
            let _ = stopped.await;
        });
        let mut serving = tokio::spawn(serving.into_future());
        tokio::select! {
            broken = &mut serving => return broken?,
            () = told => {}
        }
        tracing::info!("draining");
        replica.draining.store(true, Ordering::Relaxed);
        tokio::time::sleep(drain_delay).await;
        drop(stop);
        let ended = tokio::time::timeout(drain_timeout, &mut serving).await;
        // No request stands for a write whose client has gone. Each has its deadlines.
        replica.catalog.writes_have_ended().await;
        // Reads that nobody here waits for any more may still have followers elsewhere.
        let grace = if ended.is_ok() {
            LAST_READS
        } else {
            Duration::ZERO
        };
        replica.coalescer.shutdown(grace).await;
        serving.abort();
        database.close().await;
        tracing::info!(in_time = ended.is_ok(), "ended");
        Ok(())
    }
}

/// Connections that may wait to be taken. Where a stampede finds no place, its clients try again after a second.
const BACKLOG: u32 = 4_096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A replica that starts again takes the port whose last connections are still remembered.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// How long a read has whose callers here have all gone.
const LAST_READS: Duration = Duration::from_millis(500);

/// How often a replica that waits for another's read asks Redis for itself: at first, and in the end. Who waits while
/// Redis hangs has its 503 behind one pause and two deadlines.
const POLLS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));

/// What the replicas share reads through. The options of the annotated read are given as values, so that a
/// process can hold several replicas, as tests do.
async fn coalescer(config: &Config) -> Result<Coalescer, BuildError> {
    let text = |duration| humantime::format_duration(duration).to_string();
    Coalescer::builder()
        .redis(config.redis_url.as_str())
        .lease(config.pending_ttl)
        // A longer one is refused: a lease has to bear several questions that are lost.
        .operation_deadline(config.redis_deadline.min(config.pending_ttl / 6))
        .polls(POLLS.0, POLLS.1)
        .value("FRESH_TTL", text(config.fresh_ttl))
        .value("READ_LIMIT", text(config.read_limit))
        .value("WAIT_TIMEOUT", text(config.wait_timeout))
        .value("PRODUCTS_ON_REDIS_ERROR", config.on_redis_error.word())
        .metrics()
        .build()
        .await
}
