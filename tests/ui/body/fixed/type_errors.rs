//! Type errors point at the user's own expressions: mended.

use coalesce::coalesce;

#[coalesce]
async fn last_expression(id: u64) -> String {
    let _ = id;
    String::new()
}

#[coalesce]
async fn early_return(id: u64) -> String {
    if id == 0 {
        return String::new();
    }
    String::new()
}

#[coalesce]
async fn question_mark(path: &str) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    std::fs::read(path)?;
    Ok(1)
}

#[coalesce]
async fn nothing_returned(id: u64) {
    let _ = id;
}

fn main() {}
