//! A body that somebody is typing: mended.

use coalesce::coalesce;

#[coalesce]
async fn get(name: String) -> usize {
    name.len()
}

fn main() {
    drop(get("a".to_owned()));
}
