//! The list of call sites: every annotated function of the program, and what is configured for it here.

use std::fmt;
use std::sync::Arc;

use super::builder::sites;
use super::coalescer::{Coalescer, environment};
use super::default::made_default;
use super::site::{CallSite, Place};
use crate::words::error::Problem;
use crate::words::policy::{MissingHeader, OnError, OnRedisError, Policy};

/// One annotated function of the program, with its policy in this process: every text resolved.
///
/// Its `Display` form is one line, for a log at the start or for an operator who asks.
#[derive(Clone, Debug)]
pub struct ConfiguredSite {
    site: &'static CallSite,
    policy: Arc<Policy>,
    problems: Vec<Problem>,
}

/// Every annotated function of the program, ordered by file and line. No round trip.
///
/// Values come from the process-wide coalescer; before there is one, from the environment alone, and
/// then what is wrong is among the [`problems`](ConfiguredSite::problems).
///
/// ```
/// # extern crate coalesce_runtime as coalesce;
/// for site in coalesce::call_sites() {
///     println!("{site}");
/// }
/// ```
pub fn call_sites() -> Vec<ConfiguredSite> {
    list(|site| match made_default() {
        Some(coalescer) => coalescer.configured(site),
        None => {
            let mut problems = Vec::new();
            let policy = Arc::new(site.policy(&environment, &mut problems));
            ConfiguredSite {
                site,
                policy,
                problems,
            }
        }
    })
}

impl Coalescer {
    /// Every annotated function of the program as this coalescer sees it, ordered by file and line,
    /// those included that name another coalescer. No round trip.
    pub fn call_sites(&self) -> Vec<ConfiguredSite> {
        list(|site| self.configured(site))
    }

    fn configured(&self, site: &'static CallSite) -> ConfiguredSite {
        ConfiguredSite {
            site,
            policy: self.policy_of(site),
            problems: Vec::new(),
        }
    }
}

fn list(configured: impl Fn(&'static CallSite) -> ConfiguredSite) -> Vec<ConfiguredSite> {
    let mut list: Vec<_> = sites().map(configured).collect();
    list.sort_by_key(|it| (it.site.place.file, it.site.place.line, it.site.function));
    list
}

impl ConfiguredSite {
    /// The function's name.
    pub const fn function(&self) -> &'static str {
        self.site.function
    }

    /// The module that it is in, with its crate.
    pub const fn module(&self) -> &'static str {
        self.site.place.module
    }

    /// The file that it is in, as the compiler was told.
    pub const fn file(&self) -> &'static str {
        self.site.place.file
    }

    /// The line of its attribute.
    pub const fn line(&self) -> u32 {
        self.site.place.line
    }

    /// The namespace that was written. `None`: the path of the function, with its `Self` type and its
    /// generic arguments, which only a call knows.
    pub fn namespace(&self) -> Option<&str> {
        self.policy.namespace.as_deref()
    }

    /// Whether the attribute does anything.
    pub fn enabled(&self) -> bool {
        self.policy.enabled
    }

    /// The policy, resolved and checked: for [`DirectCall::policy`](crate::DirectCall::policy), and to read its
    /// [`clocks`](Policy::clocks). Everything else of it is in the `Display` form.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What is wrong with it; the policy has a default in each such place. Empty once a coalescer is
    /// built: with problems none can be.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfiguredSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CallSite {
            function, place, ..
        } = self.site;
        let Place { module, file, line } = place;
        let policy = &*self.policy;
        let clocks = policy.clocks();
        let short = humantime::format_duration;
        write!(f, "{file}:{line} ")?;
        match &policy.namespace {
            Some(namespace) => write!(f, "{namespace} ({module}::{function})")?,
            None => write!(f, "{module}::{function}")?,
        }
        if let Some(version) = policy.version {
            write!(f, " version {version}")?;
        }
        if !policy.enabled {
            f.write_str(" DISABLED")?;
        }
        if policy.self_bypass {
            f.write_str(" self_bypass")?;
        }
        write!(f, " fresh {}", short(clocks.fresh()))?;
        write!(f, " stale {}", short(clocks.stale()))?;
        write!(f, " pending {}", short(clocks.pending()))?;
        match clocks.wait() {
            Some(wait) => write!(f, " wait {}", short(wait))?,
            None => f.write_str(" wait none")?,
        }
        let errors = match policy.on_error {
            OnError::Share => "share",
            OnError::Retry => "retry",
        };
        write!(f, " errors {errors}")?;
        if !policy.keep_errors.is_zero() {
            write!(f, " kept {}", short(policy.keep_errors))?;
        }
        let on_redis_error = match policy.on_redis_error {
            OnRedisError::Run => "run",
            OnRedisError::Fail => "fail",
        };
        let payload = bytesize::ByteSize::b(policy.max_payload as u64);
        write!(f, " on_redis_error {on_redis_error} max_payload {payload}")?;
        if policy.header_keys.is_empty() {
            return Ok(());
        }
        let missing = match policy.missing_header {
            MissingHeader::Bypass => "bypass",
            MissingHeader::Error => "error",
            MissingHeader::Empty => "empty",
        };
        write!(
            f,
            " headers {} missing {missing}",
            policy.header_keys.join(",")
        )
    }
}
