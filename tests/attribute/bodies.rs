//! Bodies: types are inferred, and control flows, as in the plain function.

use coalesce::coalesce;
use tokio::task::yield_now;

use super::{Failure, ready};

type Boxed = Box<dyn std::error::Error + Send + Sync>;

#[coalesce]
async fn question_marks(id: u64) -> Result<String, Boxed> {
    if id == 0 {
        Err("boom")?;
    }
    if id == 1 {
        return Err("bang".into());
    }
    let number: u64 = "5".parse()?;
    yield_now().await;
    Ok(number.to_string())
}

#[coalesce]
async fn coerced(id: u64) -> Result<u64, Boxed> {
    if id == 0 {
        return Err(Box::new(Failure::Own("first".to_owned())));
    }
    Err(Box::from("second"))
}

impl std::error::Error for Failure {}

#[coalesce]
async fn collected(id: u64) -> Vec<u64> {
    if id == 0 {
        return vec![];
    }
    (0..id).collect()
}

#[coalesce]
async fn statements_first(id: u64) -> u64 {
    #![expect(unused_variables, reason = "inner attributes stay")]
    use std::collections::HashMap;
    const TWO: u64 = 2;
    let unused = 1;
    let map: HashMap<u64, u64> = HashMap::from([(id, TWO)]);
    map[&id]
}

#[coalesce]
async fn loops(id: u64) -> u64 {
    let mut sum = 0;
    'outer: loop {
        for n in 0.. {
            sum += n;
            yield_now().await;
            if n == id {
                break 'outer;
            }
        }
    }
    sum
}

#[coalesce]
async fn unit(_id: u64) {
    yield_now().await;
}

#[coalesce(inline)]
async fn recursive(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        Box::pin(recursive(n - 1)).await + Box::pin(recursive(n - 2)).await
    }
}

#[coalesce]
async fn recursive_detached(n: u64, words: &[u8]) -> Result<u64, Failure> {
    if n < 2 {
        return Ok(n + words.len() as u64);
    }
    let one = Box::pin(recursive_detached(n - 1, words)).await?;
    Ok(one + Box::pin(recursive_detached(n - 2, words)).await?)
}

#[derive(Clone)]
struct Tree(u64);

trait Depth {
    async fn depth(&self, n: u64) -> u64;
}

impl Depth for Tree {
    #[coalesce]
    async fn depth(&self, n: u64) -> u64 {
        if n == self.0 {
            return n;
        }
        Box::pin(self.depth(n + 1)).await
    }
}

impl Tree {
    #[coalesce(key = n, skip(name))]
    async fn down<T: Clone + Send + Sync + 'static>(&self, mut n: u64, name: &T) -> u64 {
        n += 1;
        if n > self.0 {
            return n;
        }
        Box::pin(Self::down(self, n, name)).await
    }

    /// Not recursive: it is another one's function of that name.
    #[coalesce]
    async fn get(&self, id: usize) -> u64 {
        [self.0].get(id).copied().unwrap_or_default()
    }
}

#[coalesce]
fn recursive_boxed(n: u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send>> {
    if n < 2 {
        return Box::pin(async move { n });
    }
    Box::pin(async move { recursive_boxed(n - 1).await + recursive_boxed(n - 2).await })
}

macro_rules! functions {
    ($($name:ident: $ty:ty = $value:expr;)*) => {$(
        #[coalesce(key = id)]
        async fn $name(id: $ty) -> $ty {
            id + $value
        }
    )*};
}

functions! {
    made_by_a_macro: u64 = 1;
    also_made_by_it: i32 = 2;
}

macro_rules! methods {
    ($ty:ty: $name:ident($argument:ty)) => {
        impl $ty {
            #[coalesce]
            async fn $name(&self, id: $argument) -> usize {
                self.0 + id.len()
            }
        }
    };
}

#[derive(Clone)]
struct Macro(usize);
methods!(Macro: length(&str));

#[tokio::test]
async fn question_mark_return_and_coercion_mean_what_they_meant() {
    ready().await;
    assert_eq!(question_marks(0).await.unwrap_err().to_string(), "boom");
    assert_eq!(question_marks(1).await.unwrap_err().to_string(), "bang");
    assert_eq!(question_marks(2).await.unwrap(), "5");
    assert_eq!(coerced(0).await.unwrap_err().to_string(), "first");
    assert_eq!(coerced(1).await.unwrap_err().to_string(), "second");
    assert_eq!(
        (collected(0).await, collected(2).await),
        (vec![], vec![0, 1])
    );
}

#[tokio::test]
async fn statements_loops_and_units_work() {
    ready().await;
    assert_eq!(statements_first(1).await, 2);
    assert_eq!(loops(3).await, 6);
    unit(1).await;
}

#[tokio::test]
async fn recursion_works_inline_boxed_and_detached() {
    ready().await;
    assert_eq!((recursive(6).await, recursive_boxed(6).await), (8, 8));
}

#[tokio::test]
async fn recursion_needs_no_help_in_a_detached_async_function() {
    const fn sent<T: Send>(future: T) -> T {
        future
    }
    ready().await;
    assert_eq!(sent(recursive_detached(6, &[])).await, Ok(8));
    let tree = Tree(5);
    assert_eq!(tree.depth(1).await, 5);
    assert_eq!(tree.down(1, &"name").await, 6);
    assert_eq!(tree.get(0).await, 5);
}

#[tokio::test]
async fn functions_made_by_macro_rules_work() {
    ready().await;
    assert_eq!((made_by_a_macro(1).await, also_made_by_it(1).await), (2, 3));
    assert_eq!(Macro(1).length("ab").await, 3);
}

#[tokio::test]
async fn futures_can_be_sent_and_stay_small() {
    const fn sent<T: Send>(future: T) -> T {
        future
    }
    ready().await;
    let future = sent(collected(1));
    // The body is not in here: it lives in the flight.
    assert!(size_of_val(&future) < 4096, "{}", size_of_val(&future));
    drop(future);
}
