//! `${NAME:default}` in options: resolved once, from the environment, then from values given to the builder.

/// A default may hold another placeholder; this deep and no deeper.
const DEEPEST: usize = 16;

/// Where values come from.
pub(crate) trait Lookup {
    /// The value of `name`, when there is one.
    fn value(&self, name: &str) -> Option<String>;
}

impl<F: Fn(&str) -> Option<String>> Lookup for F {
    fn value(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// `text` with every placeholder replaced; `$$` is a dollar.
///
/// # Errors
///
/// A sentence that says what is missing or malformed, and what to write.
pub(crate) fn resolve(text: &str, lookup: &dyn Lookup) -> Result<String, String> {
    resolve_at(text, lookup, 0)
}

fn resolve_at(text: &str, lookup: &dyn Lookup, depth: usize) -> Result<String, String> {
    if depth > DEEPEST {
        return Err(format!("defaults are nested more than {DEEPEST} deep"));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        if let Some(after) = behind.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(inside) = behind.strip_prefix('{') {
            let end = closing_brace(inside).ok_or("`${` is never closed by `}`")?;
            out.push_str(&placeholder(&inside[..end], lookup, depth)?);
            rest = &inside[end + 1..];
        } else {
            return Err(
                "a lone `$`: write `${NAME}` or `${NAME:default}`, or `$$` for a dollar".to_owned(),
            );
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Where the placeholder that has just been opened is closed, past the ones nested in its default.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 0 => return Some(at),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

fn placeholder(inside: &str, lookup: &dyn Lookup, depth: usize) -> Result<String, String> {
    let (name, default) = match inside.split_once(':') {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_name(name) {
        return Err(format!(
            "`{name}` is not a name: letters, digits, `_` and `.`, not starting with a digit"
        ));
    }
    match (lookup.value(name), default) {
        (Some(value), _) if value.trim().is_empty() => Err(format!("`{name}` is set, but empty")),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => resolve_at(default, lookup, depth + 1),
        (None, None) => Err(format!(
            "`{name}` is not set, and there is no default: write `${{{name}:default}}`"
        )),
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    name.bytes()
        .next()
        .is_some_and(|first| !first.is_ascii_digit())
        && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<String, String> {
        resolve(text, &|name: &str| match name {
            "SET" => Some("7s".to_owned()),
            "EMPTY" => Some(String::new()),
            "ORDERS.TTL" => Some("9s".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_set_value_wins_over_its_default() {
        assert_eq!(with("${SET:30s}").as_deref(), Ok("7s"));
        assert_eq!(with("${ORDERS.TTL}").as_deref(), Ok("9s"));
    }

    #[test]
    fn an_unset_name_falls_back_to_its_default_even_a_nested_one() {
        assert_eq!(with("${UNSET:30s}").as_deref(), Ok("30s"));
        assert_eq!(with("${UNSET:${ALSO:${SET}}}").as_deref(), Ok("7s"));
        assert_eq!(with("${UNSET:}").as_deref(), Ok(""));
    }

    #[test]
    fn a_default_may_hold_colons() {
        assert_eq!(with("${UNSET:a:b}").as_deref(), Ok("a:b"));
    }

    #[test]
    fn text_around_placeholders_stays_and_two_dollars_are_one() {
        assert_eq!(
            with("orders.${UNSET:v2}-$$5").as_deref(),
            Ok("orders.v2-$5")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, says) in [
            ("${UNSET}", "is not set"),
            ("${EMPTY:30s}", "empty"),
            ("${SET", "never closed"),
            ("$SET", "lone `$`"),
            ("${9X:1}", "not a name"),
            ("${:1}", "not a name"),
        ] {
            let message = with(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("{}x{}", "${U:".repeat(100_000), "}".repeat(100_000));
        assert!(with(&deep).unwrap_err().contains("nested"));
    }
}
