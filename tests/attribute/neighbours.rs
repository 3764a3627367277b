//! Other attributes on the same function, above and below.

use std::sync::{Arc, Mutex};

use coalesce::coalesce;
use tokio::task::yield_now;
use tracing::instrument;
use tracing::span::{Attributes, Id, Record};

use super::ready;

/// Above: it expands first, and its span is part of the body.
#[instrument(skip(name))]
#[coalesce(fresh_ttl = "1m")]
async fn above(id: u64, name: &str) -> u64 {
    yield_now().await;
    id + name.len() as u64
}

/// Below: it expands last, and its span is around the call.
#[coalesce(fresh_ttl = "1m")]
#[instrument(skip(name))]
async fn below(id: u64, name: &str) -> u64 {
    yield_now().await;
    id + name.len() as u64
}

#[derive(Clone)]
struct Shop {
    tenant: u64,
}

impl Shop {
    #[instrument(skip(self), fields(tenant = self.tenant), err)]
    #[coalesce]
    async fn method_above(&self, id: u64) -> Result<u64, super::Failure> {
        yield_now().await;
        Ok(self.tenant + id)
    }

    #[coalesce]
    #[instrument(skip(self), fields(tenant = self.tenant), ret)]
    async fn method_below(&self, id: u64) -> Result<u64, super::Failure> {
        yield_now().await;
        Ok(self.tenant + id)
    }
}

#[async_trait::async_trait]
trait Store {
    async fn find(&self, name: &str, _: u64) -> Option<u64>;
    async fn of_all(self: Arc<Self>, list: &[u64]) -> Result<u64, super::Failure>;
}

#[async_trait::async_trait]
impl Store for Shop {
    #[coalesce(key = (self.tenant, name))]
    async fn find(&self, name: &str, _: u64) -> Option<u64> {
        yield_now().await;
        if name.is_empty() {
            return None;
        }
        Some(self.tenant + name.len() as u64)
    }

    #[coalesce]
    async fn of_all(self: Arc<Self>, list: &[u64]) -> Result<u64, super::Failure> {
        let first = list
            .first()
            .ok_or_else(|| super::Failure::Own("empty".to_owned()))?;
        yield_now().await;
        Ok(self.tenant + first)
    }
}

#[coalesce]
#[tokio::test]
async fn attribute_stands_above_that_of_a_test() {
    yield_now().await;
}

/// Notes the names of spans that are opened.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<&'static str>>>);

impl tracing::Subscriber for Spans {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().contains("neighbours")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.lock().unwrap().push(span.metadata().name());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &tracing::Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn span_covers_the_execution_above_and_the_call_below() {
    ready().await;
    let spans = Spans::default();
    coalesce_rig::hear_everything();
    let _guard = tracing::subscriber::set_default(spans.clone());
    for _ in 0..2 {
        assert_eq!(above(1, "a").await + below(1, "a").await, 4);
    }
    // The second calls are hits: no execution, but two calls.
    let names = spans.0.lock().unwrap().clone();
    let count = |wanted| names.iter().filter(|name| **name == wanted).count();
    assert_eq!((count("above"), count("below")), (1, 2));
}

#[tokio::test]
async fn instrumented_methods_work_in_either_order() {
    ready().await;
    let shop = Shop { tenant: 1 };
    assert_eq!(
        (shop.method_above(1).await, shop.method_below(1).await),
        (Ok(2), Ok(2))
    );
}

#[tokio::test]
async fn async_trait_methods_work() {
    ready().await;
    let shop = Shop { tenant: 1 };
    assert_eq!(
        (shop.find("abc", 9).await, shop.find("", 9).await),
        (Some(4), None)
    );
    let store: Arc<dyn Store + Send + Sync> = Arc::new(shop);
    assert_eq!(Arc::clone(&store).of_all(&[2]).await, Ok(3));
    assert!(store.of_all(&[]).await.is_err());
}
