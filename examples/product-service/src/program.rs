//! What the program `product-service` does; `stack` does it as well, in processes of its own.

use std::pin::pin;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::serve::Started;
use crate::telemetry;

/// One replica, from what its environment tells it to the signal that ends it.
pub async fn main() -> ExitCode {
    telemetry::log();
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::from_env()?;
    // Asked for before anything is started: a signal that comes early must not be missed.
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    tracing::info!("{config}");
    let mut told = pin!(async {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    });
    let started = tokio::select! {
        started = Started::new(config) => started?,
        () = &mut told => {
            tracing::info!("ended before it had started");
            return Ok(());
        }
    };
    tracing::info!("listening on {}", started.address());
    started.serve_until(told).await?;
    Ok(())
}
