//! A float has several texts for one number.

use coalesce::coalesce;

#[coalesce(key = price)]
async fn get(price: f64) -> f64 {
    price
}

fn main() {}
