//! Type errors point at the user's own expressions.

use coalesce::coalesce;

#[coalesce]
async fn last_expression(id: u64) -> String {
    let _ = id;
    ""
}

#[coalesce]
async fn early_return(id: u64) -> String {
    if id == 0 {
        return "";
    }
    String::new()
}

#[coalesce]
async fn question_mark(path: &str) -> u64 {
    std::fs::read(path)?;
    1
}

#[coalesce]
async fn nothing_returned(id: u64) -> String {
    let _ = id;
}

fn main() {}
