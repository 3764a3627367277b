//! The names of the options, the names that generated code uses, and "did you mean".

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

/// Every option, with a way to write it that error messages can show.
pub(crate) const OPTIONS: [(&str, &str); 21] = [
    ("key", "key = (tenant, id)"),
    ("skip", "skip(ctx, db)"),
    ("header_keys", "header_keys = [\"X-Tenant-Id\"]"),
    ("missing_header", "missing_header = \"error\""),
    ("namespace", "namespace = \"orders.v2\""),
    ("version", "version = 2"),
    ("fresh_ttl", "fresh_ttl = \"30s\""),
    ("stale_ttl", "stale_ttl = \"5m\""),
    ("pending_ttl", "pending_ttl = \"20s\""),
    ("wait_timeout", "wait_timeout = \"25s\""),
    ("errors", "errors = \"retry\""),
    ("keep_errors", "keep_errors = \"2s\""),
    ("on_redis_error", "on_redis_error = \"fail\""),
    ("max_payload", "max_payload = \"1MiB\""),
    ("codec", "codec = json"),
    ("enabled", "enabled = \"${ORDERS_COALESCE:true}\""),
    ("self_bypass", "self_bypass = true"),
    ("inline", "inline"),
    ("entry", "entry = get_order_entry"),
    ("coalescer", "coalescer = self.coalescer"),
    ("crate", "crate = my_crate::coalesce"),
];

/// What people write who know another library, and our word for it.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("ttl", "fresh_ttl"),
    ("time", "fresh_ttl"),
    ("expires", "fresh_ttl"),
    ("lock_ttl", "pending_ttl"),
    ("timeout", "wait_timeout"),
    ("headers", "header_keys"),
    ("ignore", "skip"),
    ("skip_all", "skip"),
    ("format", "codec"),
    ("serializer", "codec"),
    ("prefix", "namespace"),
    ("name", "namespace"),
];

/// What the hidden module is called inside a function whose `crate` option says where it is.
pub(crate) fn contract() -> Ident {
    Ident::new("__coalesce", Span::mixed_site())
}

/// The static that describes the call site.
pub(crate) fn site() -> Ident {
    Ident::new("__COALESCE_SITE", Span::mixed_site())
}

/// The local that holds the call before it runs.
pub(crate) fn call(span: Span) -> Ident {
    local("__coalesce_call", span)
}

/// The local that stands for the result type.
pub(crate) fn shape(span: Span) -> Ident {
    local("__coalesce_shape", span)
}

/// A local of generated code, shown to whoever meets it in an error as what stands at `span`.
fn local(name: &str, span: Span) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(span))
}

/// What `self` is called inside a body that owns a copy of the receiver.
///
/// The span is that of the `self` it stands for: errors point there, and a method that a
/// `macro_rules!` wrote keeps the hygiene of its `self`.
pub(crate) fn owned_self(span: Span) -> Ident {
    Ident::new(OWNED_SELF, span)
}

/// [`owned_self`] as text, for format strings that capture `self`.
pub(crate) const OWNED_SELF: &str = "__coalesce_self";

/// The name of an argument whose pattern has no single name.
pub(crate) fn nameless_argument(index: usize) -> Ident {
    format_ident!("__coalesce_argument_{index}")
}

/// What keeps clippy from saying that `_name` is used after all, or moved for nothing, where
/// generated code does so.
pub(crate) fn used_underscore(name: &Ident) -> Option<TokenStream> {
    is_underscored(name).then(|| {
        quote! {
            #[allow(clippy::no_effect_underscore_binding, clippy::used_underscore_binding)]
        }
    })
}

/// Whether a name says that it may be unused.
pub(crate) fn is_underscored(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}

/// How the option `name` is written, for error messages.
pub(crate) fn example(name: &str) -> &'static str {
    OPTIONS
        .iter()
        .find(|(option, _)| *option == name)
        .map_or("", |(_, example)| example)
}

/// The option that the author of `word` had in mind.
pub(crate) fn meant_option(word: &str) -> Option<&'static str> {
    let other = OTHER_WORDS
        .iter()
        .find(|(theirs, _)| *theirs == word)
        .map(|(_, ours)| *ours);
    other.or_else(|| did_you_mean(word, OPTIONS.iter().map(|(option, _)| *option)))
}

/// The candidate closest to `word`, if it is close enough to be a slip of the finger.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let tolerated = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerated)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many single-letter edits lie between two words; swapped neighbours are one edit.
fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for row in 1..=left.len() {
        let mut current = vec![row];
        for column in 1..=right.len() {
            let replaced = above[column - 1] + usize::from(left[row - 1] != right[column - 1]);
            let mut cheapest = replaced.min(above[column] + 1).min(current[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                cheapest = cheapest.min(before[column - 2] + 1);
            }
            current.push(cheapest);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[right.len()]
}
