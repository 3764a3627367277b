//! Options that make no sense together.

use crate::diagnostics::Diagnostics;
use crate::parse::{Options, Written};

/// Refuses each pair of options that cannot both be meant. The caret goes to the second of them.
pub(crate) fn refuse(options: &Options, diagnostics: &mut Diagnostics) {
    let mut pair =
        |left: Option<(&syn::Ident, usize)>, right: Option<(&syn::Ident, usize)>, why| {
            if let (Some((left, left_position)), Some((right, right_position))) = (left, right) {
                let second = if left_position > right_position {
                    left
                } else {
                    right
                };
                let message = format!("`{left}` and `{right}` cannot be used together: {why}");
                diagnostics.refuse(second, message);
            }
        };
    pair(
        written(options.inline.as_ref()),
        written(options.entry.as_ref()),
        "an entry may outlive the call, and an inline body lives inside it",
    );
    pair(
        written(options.inline.as_ref()),
        written(options.stale_ttl.as_ref()),
        "a stale value is refreshed in the background, and an inline body has no task of its own",
    );
    pair(
        written(options.keep_errors.as_ref()),
        written(
            options
                .errors
                .as_ref()
                .filter(|errors| errors.value.value() == "retry"),
        ),
        "kept errors are served to later callers, and `errors = \"retry\"` shares none",
    );
    if let (Some(missing), None) = (&options.missing_header, &options.header_keys) {
        let name = &missing.name;
        diagnostics.refuse(name, "`missing_header` means nothing without `header_keys`");
    }
}

fn written<T>(option: Option<&Written<T>>) -> Option<(&syn::Ident, usize)> {
    option.map(|option| (&option.name, option.position))
}
