//! Methods and traits: the same attribute, whatever the receiver.
//!
//! ```text
//! cargo run --example methods_and_traits
//! ```

use std::sync::Arc;

use coalesce::{Coalescer, KeyPart, coalesce};
use serde::{Serialize, de::DeserializeOwned};

/// Cheap to clone: a flight has a copy of it.
#[derive(Clone)]
struct Shop {
    tenant: Arc<str>,
    lookups: u32,
    coalescer: Coalescer,
}

impl Shop {
    /// The receiver is no part of the key unless `key` says so.
    #[coalesce(key = (self.tenant, id), coalescer = self.coalescer)]
    async fn order(&self, id: u64) -> String {
        format!("{}/{id}", self.tenant)
    }

    /// In the caller's own task: `&mut self` is possible there, such as for a connection that is used up by
    /// asking. What the body changes is changed for its own caller alone: a follower's body does not run.
    #[coalesce(key = (self.tenant, id), coalescer = self.coalescer, inline)]
    async fn looked_up(&mut self, id: u64) -> String {
        self.lookups += 1;
        format!("{}/{id}", self.tenant)
    }

    /// Every generic argument is part of the namespace: `u8` and `String` share nothing.
    #[coalesce]
    async fn echo<T>(value: T) -> Vec<T>
    where
        T: KeyPart + Serialize + DeserializeOwned + Send + 'static,
    {
        vec![value]
    }
}

trait Prices {
    async fn price(&self, item: u64) -> u64;

    /// A default method that every implementation has.
    #[coalesce]
    async fn discounted(&self, item: u64) -> u64
    where
        Self: Clone + Send + Sync + 'static,
    {
        let _ = self;
        item * 90
    }
}

impl Prices for Shop {
    #[coalesce(key = (self.tenant, item))]
    async fn price(&self, item: u64) -> u64 {
        self.tenant.len() as u64 + item * 100
    }
}

/// A function that calls itself needs no help, except the box that every recursive future needs. Two that call
/// each other, and one with an `entry`, need `inline` or a signature that says `Pin<Box<dyn Future + Send>>`.
#[coalesce]
async fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    Box::pin(fibonacci(n - 1)).await + Box::pin(fibonacci(n - 2)).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let coalescer = Coalescer::builder().in_process().build().await?;
    coalescer.clone().make_default()?;
    let mut shop = Shop {
        tenant: "acme".into(),
        lookups: 0,
        coalescer: coalescer.clone(),
    };

    assert_eq!(shop.order(7).await, "acme/7");
    assert_eq!(
        (shop.looked_up(7).await.as_str(), shop.lookups),
        ("acme/7", 1)
    );
    assert_eq!(Shop::echo(7_u8).await, [7]);
    assert_eq!((shop.price(7).await, shop.discounted(7).await), (706, 630));
    assert_eq!(fibonacci(20).await, 6765);
    #[expect(clippy::print_stdout, reason = "an example shows what happened")]
    {
        println!(
            "fibonacci(20) = {}, {:?}",
            fibonacci(20).await,
            coalescer.counts()
        );
    }
    Ok(())
}
