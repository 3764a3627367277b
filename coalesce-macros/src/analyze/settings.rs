//! The options that describe a call site, checked as far as they are literal.

use std::str::FromStr;

use bytesize::ByteSize;
use syn::{LitInt, LitStr};

use super::clocks::Clocks;
use super::{Setting, Value};
use crate::diagnostics::Diagnostics;
use crate::names::did_you_mean;
use crate::parse::{Size, Switch, Written};

/// What Redis holds in one string.
const LARGEST_PAYLOAD: u64 = 511 * 1024 * 1024;

/// On and off, and how people write them.
const SWITCH: [&str; 8] = ["true", "on", "yes", "1", "false", "off", "no", "0"];

/// The options that take one of a few words.
pub(crate) struct Words {
    pub(crate) missing_header: Option<Written<LitStr>>,
    pub(crate) errors: Option<Written<LitStr>>,
    pub(crate) on_redis_error: Option<Written<LitStr>>,
}

/// The other options that describe a call site.
pub(crate) struct Rest {
    pub(crate) header_keys: Option<Written<Vec<LitStr>>>,
    pub(crate) namespace: Option<Written<LitStr>>,
    pub(crate) version: Option<Written<LitInt>>,
    pub(crate) max_payload: Option<Written<Size>>,
    pub(crate) enabled: Option<Written<Switch>>,
    pub(crate) self_bypass: Option<Written<Switch>>,
}

/// What the call site is to be told, in the order it was written.
pub(crate) fn collect(
    clocks: Clocks,
    words: Words,
    rest: Rest,
    diagnostics: &mut Diagnostics,
) -> Vec<Setting> {
    let mut settings = clocks.settings(diagnostics);
    settings.extend(words.settings(diagnostics));
    settings.extend(rest.settings(diagnostics));
    settings.sort_by_key(|(position, _)| *position);
    settings.into_iter().map(|(_, setting)| setting).collect()
}

impl Words {
    fn settings(self, diagnostics: &mut Diagnostics) -> Vec<(usize, Setting)> {
        let mut settings = Vec::new();
        if let Some(written) = self.missing_header {
            check_word(&written, &["bypass", "error", "empty"], diagnostics);
            settings.push(setting(written, "missing_header", Value::Text));
        }
        if let Some(written) = self.errors {
            check_word(&written, &["share", "retry"], diagnostics);
            settings.extend(unless(written, "share", "errors"));
        }
        if let Some(written) = self.on_redis_error {
            check_word(&written, &["run", "fail"], diagnostics);
            settings.extend(unless(written, "run", "on_redis_error"));
        }
        settings
    }
}

impl Rest {
    fn settings(self, diagnostics: &mut Diagnostics) -> Vec<(usize, Setting)> {
        let mut settings = Vec::new();
        if let Some(written) = self.header_keys {
            check_headers(&written, diagnostics);
            settings.push(setting(written, "header_keys", Value::Texts));
        }
        if let Some(written) = self.namespace {
            if written.value.value().is_empty() {
                diagnostics.refuse(&written.value, "a namespace cannot be empty");
            }
            settings.push(setting(written, "namespace", Value::Text));
        }
        if let Some(written) = self.version {
            let version = written.value.base10_parse::<u32>().unwrap_or_else(|_| {
                diagnostics.refuse(&written.value, "a version is a number from 0 to 4294967295");
                0
            });
            settings.push(setting(written, "version", |_| Value::Number(version)));
        }
        if let Some(written) = self.max_payload {
            let bytes = diagnostics.keep(bytes(&written.value));
            let bytes = bytes.unwrap_or_else(|| LitStr::new("", written.name.span()));
            settings.push(setting(written, "max_payload", |_| Value::Text(bytes)));
        }
        if let Some(written) = self.enabled {
            let switch = switch(&written, "${ORDERS_COALESCE:true}", diagnostics);
            settings.push(setting(written, "enabled", |_| Value::Text(switch)));
        }
        if let Some(written) = self.self_bypass {
            let switch = switch(&written, "${ORDERS_SELF_BYPASS:true}", diagnostics);
            settings.push(setting(written, "self_bypass", |_| Value::Text(switch)));
        }
        settings
    }
}

fn setting<T>(
    written: Written<T>,
    name: &'static str,
    value: impl FnOnce(T) -> Value,
) -> (usize, Setting) {
    let setting = Setting {
        name,
        option: written.name,
        value: value(written.value),
    };
    (written.position, setting)
}

/// The setting `name`, unless the option is set to its `default`.
fn unless(written: Written<LitStr>, default: &str, name: &'static str) -> Option<(usize, Setting)> {
    let is_default = written.value.value() == default;
    (!is_default).then(|| setting(written, name, Value::Text))
}

fn check_word(written: &Written<LitStr>, words: &[&str], diagnostics: &mut Diagnostics) {
    let word = written.value.value();
    if words.contains(&word.as_str()) || word.contains("${") {
        return;
    }
    let name = &written.name;
    let known: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let advice = did_you_mean(&word, words.iter().copied())
        .map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"));
    let message = format!("`{name}` is one of {}{advice}", known.join(", "));
    diagnostics.refuse(&written.value, message);
}

fn check_headers(written: &Written<Vec<LitStr>>, diagnostics: &mut Diagnostics) {
    if written.value.is_empty() {
        diagnostics.refuse(&written.name, "`header_keys` names no header: leave it out");
    }
    for header in &written.value {
        let name = header.value();
        let is_interpolated = name.contains("${");
        if !is_interpolated && !is_header_name(&name) {
            diagnostics.refuse(header, format!("{name:?} is not the name of a header"));
        }
    }
}

/// Whether `name` is a token as HTTP defines it.
fn is_header_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

fn bytes(size: &Size) -> syn::Result<LitStr> {
    let text = match size {
        Size::Bytes(bytes) => LitStr::new(&bytes.base10_parse::<u64>()?.to_string(), bytes.span()),
        Size::Text(text) => text.clone(),
    };
    let value = text.value();
    if value.contains("${") {
        return Ok(text);
    }
    let refuse = |message: String| Err(syn::Error::new(text.span(), message));
    match ByteSize::from_str(&value) {
        Ok(size) if (1..=LARGEST_PAYLOAD).contains(&size.as_u64()) => Ok(text),
        Ok(_) => refuse(format!("{value:?} is not between 1 byte and 511 MiB")),
        Err(_) => refuse(format!(
            "{value:?} is not a size such as \"1MiB\" or \"64KB\""
        )),
    }
}

fn switch(written: &Written<Switch>, example: &str, diagnostics: &mut Diagnostics) -> LitStr {
    match &written.value {
        Switch::Fixed(fixed) => LitStr::new(&fixed.value().to_string(), fixed.span()),
        Switch::Text(text) => {
            let word = text.value().trim().to_ascii_lowercase();
            if !(word.contains("${") || SWITCH.contains(&word.as_str())) {
                let name = &written.name;
                let message =
                    format!("`{name}` is \"true\", \"false\", or interpolated: \"{example}\"");
                diagnostics.refuse(text, message);
            }
            text.clone()
        }
    }
}
