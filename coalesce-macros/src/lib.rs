//! The `#[coalesce]` attribute, and `#[derive(KeyPart)]`.
//!
//! It is used through the crate that exports it. The way of a function through this crate:
//! `parse` reads what is written, `analyze` says what it means or everything that is wrong with
//! it, `expand` prints it. `goldens/` shows the result for representative functions.

mod analyze;
mod attribute;
mod derive;
mod diagnostics;
mod expand;
#[cfg(test)]
mod fuzzing;
mod names;
mod parse;
#[cfg(test)]
mod tests;
mod tokens;

use proc_macro2::TokenStream;

/// The options at a glance.
///
/// | option | meaning | default |
/// |---|---|---|
/// | `key = order_id`, `key = (tenant, req.id)`, `key = "{tenant}/{req.id}"` | what names the work: an expression, a tuple of them, or a template whose holes are expressions | every argument |
/// | `skip(ctx, db)` | arguments that are not part of the identity | none |
/// | `header_keys = ["X-Tenant-Id"]` | request headers that are part of the key | none |
/// | `missing_header = "bypass"`, `"error"`, `"empty"` | what a call without such a header does | `"bypass"` |
/// | `namespace = "orders.v2"` | the call site's name in Redis | the path of the function and its type arguments |
/// | `version = 2` | a new number starts fresh entries, for a changed return type | none, which is not `0` |
/// | `fresh_ttl = "30s"` | below this age a stored value is served and nothing else happens | 0 |
/// | `stale_ttl = "5m"` | below this age a stored value is served while one refresh runs behind it | `fresh_ttl` |
/// | `pending_ttl = "20s"` | the longest that one flight may hold its key | 30 s |
/// | `wait_timeout = "25s"`, `"none"` | the longest that a caller waits for somebody else's flight | 45 s |
/// | `errors = "share"`, `"retry"` | what those who waited for a failed flight do | `"share"` |
/// | `keep_errors = "2s"` | how long an `Err` is served to later callers | 0 |
/// | `on_redis_error = "run"`, `"fail"` | what happens while Redis cannot be asked | `"run"` |
/// | `max_payload = "1MiB"` | above this size a value is not stored | `"1MiB"` |
/// | `codec = messagepack`, `json`, `postcard`, `my::Codec` | how values are written; the second and the third with the feature of that name | `messagepack`, with names |
/// | `enabled = "${ORDERS_COALESCE:true}"` | whether the attribute does anything | `true` |
/// | `self_bypass = true` | go straight through while coalescing measurably saves nothing, and try again from time to time | `false` |
/// | `inline` | run the body in the caller's own task, on the caller's own arguments | detached |
/// | `entry = get_order_entry` | also emit a function that gives the typed entry, to look at, refresh or invalidate it; `Self::get_order_entry` for an associated function without `self` | none |
/// | `coalescer = self.coalescer` | the coalescer to use | the process-wide one |
/// | `crate = my_crate::coalesce` | where generated code finds this library | `::coalesce` |
#[proc_macro_attribute]
pub fn coalesce(
    arguments: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let item = TokenStream::from(item);
    attribute::applied(arguments.into(), item).into()
}

/// Makes a type part of a key: every field of it, or the variant and every field of that.
///
/// The fields of a struct are written with their names, in the order of the names, so that moving a
/// field changes no key. A struct of one nameless field is written as that field.
///
/// ```text
/// #[derive(KeyPart)]
/// struct Sku { shop: u32, code: String }        // ~(code~=A-1,shop~=7)
///
/// #[derive(KeyPart)]
/// enum Payment { Cash, Card(u64) }              // ~@Cash   ~@Card~(7)
/// ```
///
/// A type parameter has to be a key part itself, whatever it is used for. Where the library has another
/// name, say so: `#[key(crate = my_crate::coalesce)]`.
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn key_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    derive::key_part(input.into()).into()
}
