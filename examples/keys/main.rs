//! What keys look like: the parts of a call, and the text that names it in Redis.
//!
//! ```text
//! cargo run --example keys
//! ```
//!
//! Every process and every build prints the same lines; `tests/goldens/keys.txt` holds them, and
//! `foreign_keys.txt` beside it those of other crates' types, which the features of their names add.

mod foreign;
mod values;

#[expect(clippy::print_stdout, reason = "an example shows what happened")]
fn main() {
    let lines = [values::all(), foreign::all()].concat();
    for (written, tag) in lines {
        println!("{written:<44} {tag}");
    }
}
