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

/// Makes callers of an async function share one execution, in one process and across processes.
///
/// Callers with equal keys at the same time are one flight: one of them runs the body, the others
/// wait for its outcome. With `fresh_ttl` the outcome is also served to those who come later.
///
/// ```text
/// #[coalesce(key = order_id, skip(db), fresh_ttl = "${ORDERS_FRESH_TTL:30s}", stale_ttl = "5m")]
/// async fn get_order(db: &Db, order_id: u64) -> Result<Order, OrderError> {
///     db.order(order_id).await
/// }
/// ```
///
/// # Options
///
/// | option | meaning | default |
/// |---|---|---|
/// | `key = order_id`, `key = (tenant, req.id)`, `key = "{tenant}/{req.id}"` | what names the work: an expression, a tuple of them, or a template whose holes are expressions | every argument |
/// | `skip(ctx, db)` | arguments that are not part of the identity | none |
/// | `header_keys = ["X-Tenant-Id"]` | request headers that are part of the key | none |
/// | `missing_header = "bypass"`, `"error"`, `"empty"` | what a call without such a header does | `"bypass"` |
/// | `namespace = "orders.v2"` | the call site's name in Redis | the path of the function and its type arguments |
/// | `version = 2` | a new number starts fresh entries, for a changed return type | 0 |
/// | `fresh_ttl = "30s"` | below this age a stored value is served and nothing else happens | 0 |
/// | `stale_ttl = "5m"` | below this age a stored value is served while one refresh runs behind it | `fresh_ttl` |
/// | `pending_ttl = "20s"` | the longest that one flight may hold its key | 30 s |
/// | `wait_timeout = "25s"`, `"none"` | the longest that a caller waits for somebody else's flight | 45 s |
/// | `errors = "share"`, `"retry"` | what those who waited for a failed flight do | `"share"` |
/// | `keep_errors = "2s"` | how long an `Err` is served to later callers | 0 |
/// | `on_redis_error = "run"`, `"fail"` | what happens while Redis cannot be asked | `"run"` |
/// | `max_payload = "1MiB"` | above this size a value is not stored | `"1MiB"` |
/// | `enabled = "${ORDERS_COALESCE:true}"` | whether the attribute does anything | `true` |
/// | `inline` | run the body in the caller's own task, on the caller's own arguments | detached |
/// | `entry = get_order_entry` | also emit a function that gives the typed entry, to look at, refresh or invalidate it; `Self::get_order_entry` for an associated function without `self` | none |
/// | `coalescer = self.coalescer` | the coalescer to use | the process-wide one |
/// | `crate = my_crate::coalesce` | where generated code finds this library | `::coalesce` |
///
/// A clock is a number of seconds, a string such as `"1h 30m"`, or the path of a `Duration`
/// constant. A string may interpolate values that are known when the program starts: `"${NAME}"`
/// or `"${NAME:default}"`.
///
/// # What the body may use
///
/// The body runs in a task of its own, so that a caller who gives up does not stop work that
/// others wait for. Arguments are moved there, references are copied with `ToOwned` and `&self`
/// with `Clone`, all of it only when a flight starts. With `inline` nothing is copied and nothing
/// has to be `'static` or `Send`, but the flight ends with the caller.
///
/// A body that awaits its own function, boxed, needs `inline`, or a signature that returns
/// `Pin<Box<dyn Future<Output = T> + Send>>`: the compiler cannot see that a future which contains
/// itself is `Send`.
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
    let tokens = derive::key_part(input.into());
    tokens
        .unwrap_or_else(|errors| errors.to_compile_error())
        .into()
}
