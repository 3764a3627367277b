//! Two holes without text between them: mended.

use coalesce::coalesce;

#[coalesce(key = "{tenant}/{id}")]
async fn get(tenant: &str, id: u64) -> u64 {
    let _ = tenant;
    id
}

fn main() {}
