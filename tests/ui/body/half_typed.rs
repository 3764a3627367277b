//! A body that somebody is typing: the function is there for everybody else.

use coalesce::coalesce;

#[coalesce]
async fn get(name: String) -> usize {
    name.
}

fn main() {
    drop(get("a".to_owned()));
}
