//! The function that `entry` emits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use coalesce::coalesce;
use tokio::task::yield_now;

use super::ready;

static PRICES: AtomicU64 = AtomicU64::new(0);

#[coalesce(fresh_ttl = "1m", entry = price_entry)]
async fn price(id: u64) -> u64 {
    yield_now().await;
    id * 100 + PRICES.fetch_add(1, Ordering::SeqCst)
}

#[derive(Clone)]
struct Shop(u64);

impl Shop {
    #[coalesce(key = (self.0, id, name), skip(_list), fresh_ttl = "1m", entry = order_entry)]
    #[expect(
        clippy::needless_lifetimes,
        reason = "a lifetime that the entry has to outlive"
    )]
    async fn order<'a>(&self, mut id: u64, name: &'a str, (_list, _): (Vec<u8>, u8)) -> String {
        id += self.0;
        yield_now().await;
        format!("{name}{id}")
    }

    #[coalesce(entry = shared_entry)]
    async fn shared(self: Arc<Self>, id: u64) -> u64 {
        self.0 + id
    }

    #[coalesce(entry = Self::associated_entry)]
    async fn associated<T, const N: usize>(id: T) -> Vec<T>
    where
        T: coalesce::KeyPart + serde::Serialize + serde::de::DeserializeOwned + Send + 'static,
    {
        let _ = N;
        vec![id]
    }
}

#[tokio::test]
async fn entry_looks_stores_removes_and_refreshes() {
    ready().await;
    assert_eq!(price_entry(1).peek().await, Ok(None));
    assert_eq!(price(1).await, 100);
    assert_eq!(price_entry(1).peek().await, Ok(Some(100)));
    assert_eq!(price_entry(1).refresh().await, 101);
    assert_eq!(price(1).await, 101);
    price_entry(1).put(7).await.unwrap();
    assert_eq!(price(1).await, 7);
    price_entry(1).invalidate().await.unwrap();
    assert_eq!(price(1).await, 102);
    assert_eq!(price_entry(1).bypass().await, 103);
    assert_eq!(price_entry(1).call().await, 102);
}

#[tokio::test]
async fn entry_takes_the_arguments_of_its_function() {
    ready().await;
    let shop = Shop(1);
    let name = "n".to_owned();
    assert_eq!(shop.order(1, &name, (vec![], 0)).await, "n2");
    assert_eq!(
        shop.order_entry(1, &name, (vec![], 0)).peek().await,
        Ok(Some("n2".to_owned()))
    );
    let shared = Arc::new(shop);
    assert_eq!(
        Arc::clone(&shared).shared_entry(1).call().await,
        shared.shared(1).await
    );
    assert_eq!(Shop::associated::<u8, 3>(1).await, [1]);
    assert_eq!(Shop::associated_entry::<u8, 3>(1).call().await, [1]);
}
