//! Annotated functions of every form in a crate of edition 2021: that it compiles is most of the test.
#![cfg(test)]

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use coalesce::{coalesce, CarriesErrors, KeyPart, Shared};

#[derive(Clone, Debug, PartialEq, KeyPart, serde::Serialize, serde::Deserialize)]
struct Sku {
    shop: u32,
    code: String,
}

#[coalesce(fresh_ttl = "1m", entry = plain_entry)]
async fn plain(id: u64) -> u64 {
    id
}

#[coalesce(key = (name, tags, sku), skip(db, log), codec = json)]
async fn borrowed<'a>(
    db: &'a Arc<u64>,
    name: &'a str,
    tags: Option<&[u8]>,
    sku: &Sku,
    log: &(impl Clone + Send + Sync + 'static),
) -> Option<Sku> {
    let _ = (db, name, tags, log.clone());
    Some(sku.clone())
}

#[coalesce(key = "{left}/{right}", skip(error))]
async fn generic<L, R, E, const N: usize>(left: L, right: [R; N], error: E) -> Result<L, E>
where
    L: Shared + KeyPart + Clone + Send + Sync + 'static,
    R: KeyPart + Send + Sync + 'static,
    E: CarriesErrors + Send + 'static,
{
    if N == 0 {
        return Err(error);
    }
    Ok(left)
}

#[coalesce(skip(name))]
async fn recursive(n: usize, name: &str) -> usize {
    if n == 0 {
        return name.len();
    }
    Box::pin(recursive(n - 1, name)).await + 1
}

#[coalesce(inline, skip(seen))]
async fn in_place(id: u64, seen: &mut Vec<u64>) {
    seen.push(id);
}

#[coalesce]
fn boxed(id: u64, name: &str) -> Pin<Box<dyn Future<Output = usize> + Send + '_>> {
    Box::pin(async move { name.len() + usize::try_from(id).unwrap_or_default() })
}

trait Catalogue {
    fn price(&self, id: u64) -> impl Future<Output = u64> + Send;

    #[coalesce]
    async fn twice(&self, id: u64) -> u64
    where
        Self: Clone + Send + Sync + 'static,
    {
        self.price(id).await * 2
    }
}

#[async_trait]
trait Store {
    async fn find(&self, name: &str) -> Option<usize>;
}

#[derive(Clone)]
struct Shop {
    tenant: u64,
}

impl Catalogue for Shop {
    #[coalesce(key = (self.tenant, id))]
    async fn price(&self, id: u64) -> u64 {
        self.tenant + id
    }
}

#[async_trait]
impl Store for Shop {
    #[coalesce]
    async fn find(&self, name: &str) -> Option<usize> {
        Some(name.len())
    }
}

macro_rules! functions {
    ($($name:ident: $type:ty = $value:expr;)*) => {$(
        #[coalesce(key = id)]
        async fn $name(id: $type) -> $type {
            id + $value
        }
    )*};
}
functions! { made_by_a_macro: u32 = 1; }

#[tokio::test]
async fn annotated_functions_work_in_the_edition_before() {
    let coalescer = coalesce::Coalescer::builder().in_process().build().await;
    coalescer
        .expect("a coalescer")
        .make_default()
        .expect("the first one");
    let sku = Sku {
        shop: 1,
        code: "a".to_owned(),
    };
    let found = borrowed(&Arc::new(1), "a", Some(&[1]), &sku, &"log").await;
    assert_eq!((plain(7).await, found), (7, Some(sku)));
    assert_eq!(plain_entry(7).peek().await, Ok(Some(7)));
    let text = generic(
        5_u8,
        ["a"],
        Box::<dyn std::error::Error + Send + Sync>::from("no"),
    );
    assert_eq!(text.await.ok(), Some(5));
    let mut seen = Vec::new();
    in_place(3, &mut seen).await;
    assert_eq!((seen, recursive(2, "abc").await), (vec![3], 5));
    assert_eq!((boxed(1, "ab").await, made_by_a_macro(1).await), (3, 2));
    let shop = Shop { tenant: 1 };
    assert_eq!((shop.price(1).await, shop.twice(1).await), (2, 4));
    assert_eq!(shop.find("abc").await, Some(3));
}
