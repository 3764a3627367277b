//! Call sites as JSON: where each is, and what is configured for it.

use serde::Serialize;

use crate::roof::site_list::ConfiguredSite;
use crate::words::policy::{MissingHeader, OnError, OnRedisError};

#[derive(Debug, Serialize)]
pub(super) struct Site {
    function: &'static str,
    module: &'static str,
    file: &'static str,
    line: u32,
    /// Null: the path of the function, with what only a call knows.
    namespace: Option<String>,
    enabled: bool,
    version: Option<u32>,
    fresh_seconds: f64,
    stale_seconds: f64,
    pending_seconds: f64,
    /// Null: as long as it takes.
    wait_seconds: Option<f64>,
    keep_errors_seconds: f64,
    errors: &'static str,
    on_redis_error: &'static str,
    max_payload_bytes: usize,
    header_keys: Vec<String>,
    missing_header: &'static str,
}

impl Site {
    pub(super) fn of(site: &ConfiguredSite) -> Self {
        let policy = site.policy();
        let clocks = policy.clocks();
        Self {
            function: site.function(),
            module: site.module(),
            file: site.file(),
            line: site.line(),
            namespace: site.namespace().map(str::to_owned),
            enabled: site.enabled(),
            version: policy.version,
            fresh_seconds: clocks.fresh().as_secs_f64(),
            stale_seconds: clocks.stale().as_secs_f64(),
            pending_seconds: clocks.pending().as_secs_f64(),
            wait_seconds: clocks.wait().map(|wait| wait.as_secs_f64()),
            keep_errors_seconds: policy.keep_errors.as_secs_f64(),
            errors: match policy.on_error {
                OnError::Share => "share",
                OnError::Retry => "retry",
            },
            on_redis_error: match policy.on_redis_error {
                OnRedisError::Run => "run",
                OnRedisError::Fail => "fail",
            },
            max_payload_bytes: policy.max_payload,
            header_keys: policy.header_keys.iter().map(ToString::to_string).collect(),
            missing_header: match policy.missing_header {
                MissingHeader::Bypass => "bypass",
                MissingHeader::Error => "error",
                MissingHeader::Empty => "empty",
            },
        }
    }
}
