//! M1 to M13, M54: methods, traits, boxed futures, generics.

use std::pin::Pin;
use std::sync::Arc;

use coalesce::{KeyPart, coalesce};
use serde::{Serialize, de::DeserializeOwned};

use super::ready;

#[derive(Clone)]
struct Shop {
    n: u64,
    name: String,
}

fn shop() -> Shop {
    Shop {
        n: 1,
        name: "shop".to_owned(),
    }
}

impl Shop {
    const K: u64 = 10;

    #[coalesce(key = id)]
    async fn m1(&self, id: u64) -> u64 {
        self.n + id
    }

    #[coalesce]
    async fn m2(id: u64) -> u64 {
        id
    }

    #[coalesce(key = id)]
    async fn m4_arc(self: Arc<Self>, id: u64) -> u64 {
        self.n + id
    }

    #[coalesce(key = id)]
    async fn m4_mut(mut self, id: u64) -> u64 {
        self.n += 1;
        self.n + id
    }

    #[coalesce(key = id, inline)]
    async fn m4_borrowed(&mut self, id: u64) -> u64 {
        let this = &mut self.n;
        *this += 1;
        *this + id
    }

    #[coalesce(key = id)]
    async fn m5(&self, id: u64) -> (u64, Self2) {
        macro_rules! n {
            () => {
                self.n
            };
        }
        (n!() + Self::K + id, Self2 { n: self.n })
    }

    #[coalesce(key = id)]
    async fn m6(&self, id: u64) -> String {
        format!("{} {id} {name}", self.name, name = self.n)
    }
}

#[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Self2 {
    n: u64,
}

#[tokio::test]
async fn m1_methods_with_self() {
    ready().await;
    assert_eq!(shop().m1(1).await, 2);
}

#[tokio::test]
async fn m2_associated_functions() {
    ready().await;
    assert_eq!(Shop::m2(1).await, 1);
}

mod one {
    //! The first of two implementations.
    pub(super) struct A;
    impl A {
        #[coalesce::coalesce(entry = Self::get_entry)]
        pub(super) async fn get(id: u64) -> u8 {
            u8::from(id > 0)
        }
    }
}

mod other {
    //! The second.
    pub(super) struct B;
    impl B {
        #[coalesce::coalesce(entry = Self::get_entry)]
        pub(super) async fn get(id: u64) -> String {
            id.to_string()
        }
    }
}

#[tokio::test]
async fn m3_methods_of_one_name_share_nothing() {
    ready().await;
    let (a, b) = tokio::join!(one::A::get(1), other::B::get(1));
    assert_eq!((a, b.as_str()), (1, "1"));
    let (a, b) = (
        one::A::get_entry(1).key().await,
        other::B::get_entry(1).key().await,
    );
    assert_ne!(a.unwrap(), b.unwrap());
}

#[tokio::test]
async fn m4_every_receiver() {
    ready().await;
    assert_eq!(Arc::new(shop()).m4_arc(1).await, 2);
    assert_eq!(shop().m4_mut(1).await, 3);
    assert_eq!(shop().m4_borrowed(1).await, 3);
}

#[tokio::test]
async fn m5_self_in_the_body_and_in_its_macros() {
    ready().await;
    assert_eq!(shop().m5(1).await, (12, Self2 { n: 1 }));
}

#[tokio::test]
async fn m6_format_strings_that_mention_self() {
    ready().await;
    assert_eq!(shop().m6(1).await, "shop 1 1");
}

trait Catalogue {
    async fn m7(&self, id: u64) -> u64;

    #[coalesce(key = id)]
    async fn m8(&self, id: u64) -> u64
    where
        Self: Clone + Send + Sync + 'static,
    {
        let _ = self;
        id
    }
}

impl Catalogue for Shop {
    #[coalesce(key = id)]
    async fn m7(&self, id: u64) -> u64 {
        self.n + id
    }
}

#[tokio::test]
async fn m7_native_async_methods_of_a_trait() {
    ready().await;
    assert_eq!(shop().m7(1).await, 2);
}

#[tokio::test]
async fn m8_default_methods_of_a_trait() {
    ready().await;
    assert_eq!(shop().m8(1).await, 1);
}

#[async_trait::async_trait]
trait Boxed {
    async fn m9(&self, id: u64) -> u64;
}

#[async_trait::async_trait]
impl Boxed for Shop {
    #[coalesce]
    async fn m9(&self, id: u64) -> u64 {
        self.n + id
    }
}

#[tokio::test]
async fn m9_methods_under_async_trait() {
    ready().await;
    let boxed: Box<dyn Boxed> = Box::new(shop());
    assert_eq!(boxed.m9(1).await, 2);
}

#[coalesce]
fn m10(id: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    let doubled = id * 2;
    Box::pin(async move { doubled })
}

#[tokio::test]
async fn m10_boxed_futures_written_by_hand() {
    ready().await;
    assert_eq!(m10(2).await, 4);
}

#[coalesce(skip(c))]
async fn m11<T, U>(c: &Shop, a: T, b: U) -> u64
where
    T: AsRef<str> + KeyPart + Send + Sync + 'static,
    U: AsRef<str> + KeyPart + Send + Sync + 'static,
{
    c.n + (a.as_ref().len() + b.as_ref().len()) as u64
}

struct Wrapper<T>(T);

impl<T> Wrapper<T>
where
    T: KeyPart + Clone + Send + Sync + 'static,
{
    #[coalesce(key = self.0, entry = m11_entry)]
    async fn m11(&self) -> u64
    where
        Self: Clone,
    {
        let _ = &self.0;
        1
    }
}

impl<T: Clone> Clone for Wrapper<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[tokio::test]
async fn m11_where_clauses() {
    ready().await;
    assert_eq!(m11(&shop(), "a", "bc".to_owned()).await, 4);
    assert_eq!(Wrapper(1_u8).m11().await, 1);
    assert_eq!(Wrapper(1_u8).m11_entry().call().await, 1);
}

#[coalesce]
async fn m12<T>(id: T) -> Option<T>
where
    T: KeyPart + Serialize + DeserializeOwned + Send + 'static,
{
    Some(id)
}

#[tokio::test]
async fn m12_generic_arguments_and_results() {
    ready().await;
    let (number, text) = tokio::join!(m12(1_u8), m12("a".to_owned()));
    assert_eq!((number, text), (Some(1), Some("a".to_owned())));
}

#[coalesce]
async fn m13<const N: usize, const B: bool>(ids: [u8; N]) -> usize {
    if B { ids.len() } else { N + 1 }
}

#[tokio::test]
async fn m13_constant_generics() {
    ready().await;
    let answers = tokio::join!(m13::<2, true>([1, 2]), m13::<2, false>([1, 2]));
    assert_eq!(answers, (2, 3));
}
