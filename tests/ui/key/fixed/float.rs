//! A float has several texts for one number: mended.

use coalesce::coalesce;

#[coalesce(key = price.to_bits())]
async fn get(price: f64) -> f64 {
    price
}

fn main() {}
