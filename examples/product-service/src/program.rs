//! What the program `product-service` does; `stack` does it as well, in processes of its own.

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
    tracing::info!("{config}");
    // Asked for before anything is started: a signal that comes early must not be missed.
    let (mut term, mut int) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let started = Started::new(config).await?;
    tracing::info!("listening on {}", started.address());
    let told = async {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    };
    started.serve_until(told).await?;
    Ok(())
}
