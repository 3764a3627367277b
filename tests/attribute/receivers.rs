//! Methods: every receiver, and bodies that mention it in every way.

use std::fmt;
use std::sync::Arc;

use coalesce::coalesce;
use tokio::task::yield_now;

use super::ready;

mod arithmetic {
    //! A path that starts with `self`.
    pub(super) const fn double(n: u64) -> u64 {
        n * 2
    }
}

#[derive(Clone)]
struct Shop {
    tenant: u64,
    name: String,
}

impl fmt::Display for Shop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Shop {
    const FACTOR: u64 = 10;

    fn new(tenant: u64) -> Self {
        Self {
            tenant,
            name: "shop".to_owned(),
        }
    }

    #[coalesce(key = (self.tenant, id))]
    async fn borrowed(&self, id: u64) -> u64 {
        yield_now().await;
        self.tenant + id
    }

    #[coalesce(key = (self.tenant, id))]
    #[expect(clippy::needless_lifetimes, reason = "a lifetime that is written out")]
    async fn with_a_lifetime<'a>(&'a self, id: u64) -> u64 {
        yield_now().await;
        self.tenant + id
    }

    #[coalesce(key = (self.tenant, id))]
    async fn shared(self: Arc<Self>, id: u64) -> u64 {
        yield_now().await;
        self.tenant + id
    }

    #[coalesce(key = (self.tenant, id))]
    async fn shared_borrowed(self: &Arc<Self>, id: u64) -> u64 {
        yield_now().await;
        Arc::clone(self).tenant + id
    }

    #[coalesce(key = (self.tenant, id))]
    async fn owned(mut self, id: u64) -> u64 {
        self.tenant += 1;
        yield_now().await;
        self.tenant + id
    }

    #[coalesce(key = (self.tenant, id), inline)]
    async fn mutated(&mut self, id: u64) -> u64 {
        self.tenant += 1;
        yield_now().await;
        self.tenant + id
    }

    #[coalesce]
    async fn without_receiver(id: u64) -> u64 {
        yield_now().await;
        Self::FACTOR * id
    }

    #[coalesce(key = (self.tenant, id))]
    #[expect(unused_qualifications, reason = "`self` as a module")]
    async fn mentioned_everywhere(&self, id: u64) -> String {
        use std::fmt::Write as _;
        macro_rules! tenant {
            () => {
                self.tenant
            };
        }
        fn nested(shop: &Shop) -> u64 {
            struct Inner(u64);
            impl Inner {
                fn value(&self) -> u64 {
                    self.0
                }
            }
            Inner(shop.tenant).value()
        }
        let closure = |n: u64| self.tenant + n;
        let mut text = String::new();
        write!(text, "{self} {:?} ", self.name).unwrap();
        let Self { tenant, .. } = self;
        let list = [
            tenant!(),
            *tenant,
            nested(self),
            closure(id),
            Self::FACTOR,
            self::arithmetic::double(id),
        ];
        text.push_str(&list.map(|n| n.to_string()).join(" "));
        text
    }
}

#[tokio::test]
async fn every_receiver_reaches_the_body() {
    ready().await;
    let mut shop = Shop::new(1);
    let shared = Arc::new(shop.clone());
    assert_eq!(shop.borrowed(1).await, 2);
    assert_eq!(shop.with_a_lifetime(1).await, 2);
    assert_eq!(Arc::clone(&shared).shared(1).await, 2);
    assert_eq!(shared.shared_borrowed(1).await, 2);
    assert_eq!(shop.clone().owned(1).await, 3);
    assert_eq!(shop.mutated(1).await, 3);
    assert_eq!(shop.tenant, 2);
    assert_eq!(Shop::without_receiver(2).await, 20);
}

#[tokio::test]
async fn body_mentions_its_receiver_in_every_way() {
    ready().await;
    let text = Shop::new(3).mentioned_everywhere(4).await;
    assert_eq!(text, "shop \"shop\" 3 3 3 7 10 8");
}

/// Neither `Clone` nor anything else: a body that does not look at `self` needs no copy of it.
struct Bare;

impl Bare {
    #[coalesce]
    async fn never_looked_at(&self, id: u64) -> u64 {
        id
    }

    #[coalesce(inline)]
    async fn looked_at_in_place(&self, id: u64) -> u64 {
        let _: &Self = self;
        id
    }
}

#[tokio::test]
async fn receiver_is_copied_only_where_it_must_be() {
    ready().await;
    assert_eq!(
        Bare.never_looked_at(1).await + Bare.looked_at_in_place(1).await,
        2
    );
}

trait Catalogue {
    fn factor(&self) -> u64;

    async fn price(&self, id: u64) -> u64;

    #[coalesce]
    async fn by_default(&self, id: u64) -> u64
    where
        Self: Clone + Send + Sync + 'static,
    {
        yield_now().await;
        self.factor() * id
    }
}

impl Catalogue for Shop {
    fn factor(&self) -> u64 {
        self.tenant
    }

    #[coalesce(key = (self.tenant, id))]
    async fn price(&self, id: u64) -> u64 {
        yield_now().await;
        self.tenant * id
    }
}

#[tokio::test]
async fn trait_methods_can_be_annotated_in_the_impl_and_as_defaults() {
    ready().await;
    let shop = Shop::new(5);
    assert_eq!((shop.price(2).await, shop.by_default(3).await), (10, 15));
}
