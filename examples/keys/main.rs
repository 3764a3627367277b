//! What keys look like: the parts of a call, and the text that names it in Redis.
//!
//! ```text
//! cargo run --example keys
//! ```
//!
//! Every process and every build prints the same lines; `tests/goldens/keys.txt` holds them.

mod values;

#[expect(clippy::print_stdout, reason = "an example shows what happened")]
fn main() {
    for (written, tag) in values::all() {
        println!("{written:<44} {tag}");
    }
}
