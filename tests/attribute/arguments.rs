//! Arguments: patterns, borrows, generics, attributes, and how long they live.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex};

use coalesce::{KeyPart, coalesce};
use serde::{Serialize, de::DeserializeOwned};
use tokio::task::yield_now;

use super::ready;

/// As web frameworks hand arguments over.
struct Extract<T>(T);

struct Paging {
    page: u64,
    #[expect(dead_code, reason = "a pattern with `..`")]
    size: u64,
}

#[coalesce(key = (id, page, left), skip(right))]
async fn patterns(
    Extract(id): Extract<u64>,
    Extract(Paging { page, .. }): Extract<Paging>,
    (left, mut right): (u64, u64),
    _: Extract<()>,
) -> u64 {
    right += 1;
    yield_now().await;
    id + page + left + right
}

#[coalesce(key = "{id}", skip(extra))]
async fn mutable(mut id: u64, mut extra: u64) -> u64 {
    id += 1;
    extra += 1;
    yield_now().await;
    id + extra
}

#[coalesce(skip(db, borrowed_list, names))]
#[expect(clippy::too_many_arguments, reason = "one of every kind")]
async fn borrowed<'a>(
    db: &'a Arc<Mutex<u64>>,
    text: &'a str,
    list: &[u64],
    maybe: Option<&str>,
    borrowed_list: Option<&'a [u64]>,
    names: &Vec<String>,
    eternal: &'static str,
    number: &u64,
) -> String {
    yield_now().await;
    let db: &Arc<Mutex<u64>> = db;
    let text: &str = text;
    let list: &[u64] = list;
    let maybe: Option<&str> = maybe;
    let sum: u64 = list.iter().chain(borrowed_list.unwrap_or_default()).sum();
    format!(
        "{text} {sum} {maybe:?} {} {eternal} {number} {}",
        names.len(),
        db.lock().unwrap()
    )
}

#[coalesce(skip(path))]
async fn unsized_path(path: &Path, id: u64) -> String {
    format!("{}{id}", path.display())
}

#[coalesce(inline, skip(text, dynamic, out))]
async fn in_place(
    text: Cow<'_, str>,
    dynamic: &(dyn Fn(u64) -> u64 + Sync),
    out: &mut Vec<u64>,
    list: &[&str],
) -> u64 {
    yield_now().await;
    out.push(dynamic(1));
    text.len() as u64 + list.len() as u64
}

#[coalesce]
async fn generic<T, const N: usize>(id: T, list: [u8; N]) -> Vec<T>
where
    T: KeyPart + Clone + Serialize + DeserializeOwned + Send + 'static,
{
    yield_now().await;
    vec![id; list.len() + N]
}

#[coalesce(key = id, skip(name, by_reference))]
async fn impl_trait(
    id: u64,
    name: impl Into<String> + Send + 'static,
    by_reference: &(impl ToString + Clone + Send + Sync + 'static),
) -> String {
    yield_now().await;
    format!("{id}{}{}", name.into(), by_reference.to_string())
}

#[coalesce(skip(callback))]
async fn callbacks(id: u64, callback: Arc<dyn Fn(&str) -> u64 + Send + Sync>) -> u64 {
    yield_now().await;
    callback("abc") + id
}

#[coalesce(skip(gone_too))]
async fn conditional(#[cfg(any())] gone: NoSuchType, #[cfg(any())] gone_too: u8, id: u64) -> u64 {
    id
}

#[coalesce]
async fn raw(r#type: u64, r#match: &str) -> String {
    yield_now().await;
    format!("{type}{match}", match = r#match, type = r#type)
}

#[tokio::test]
async fn patterns_bind_what_the_key_and_the_body_use() {
    ready().await;
    let paging = Paging { page: 2, size: 0 };
    assert_eq!(
        patterns(Extract(1), Extract(paging), (3, 4), Extract(())).await,
        11
    );
    assert_eq!(mutable(1, 1).await, 4);
}

#[tokio::test]
async fn borrowed_arguments_arrive_under_their_names_and_types() {
    ready().await;
    let db = Arc::new(Mutex::new(9));
    let answer = {
        let (text, names) = ("t".to_owned(), vec![String::new()]);
        borrowed(&db, &text, &[1, 2], Some("m"), Some(&[3]), &names, "e", &7).await
    };
    assert_eq!(answer, "t 6 Some(\"m\") 1 e 7 9");
    assert_eq!(unsized_path(Path::new("p"), 1).await, "p1");
}

#[tokio::test]
async fn inline_bodies_use_the_callers_own_arguments() {
    ready().await;
    let mut out = Vec::new();
    assert_eq!(
        in_place(Cow::Borrowed("ab"), &|n| n + 1, &mut out, &["x"]).await,
        3
    );
    assert_eq!(out, [2]);
}

#[tokio::test]
async fn generics_and_impl_trait_arguments_work() {
    ready().await;
    assert_eq!(generic(1_u8, [0; 1]).await, [1, 1]);
    assert_eq!(generic("a".to_owned(), []).await, [] as [String; 0]);
    assert_eq!(impl_trait(1, "a", &"b").await, "1ab");
    assert_eq!(callbacks(1, Arc::new(|text| text.len() as u64)).await, 4);
}

#[tokio::test]
async fn attributes_on_arguments_and_raw_names_work() {
    ready().await;
    assert_eq!(conditional(1).await, 1);
    assert_eq!(raw(1, "m").await, "1m");
}

/// Writes its name down when it is dropped.
struct Guard(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

async fn plain(first: Guard, _second: Guard, third: Guard) {
    let _local = Guard("local", Arc::clone(&first.1));
    yield_now().await;
    let _ = &third;
}

#[coalesce(skip(first, _second, third))]
async fn coalesced(first: Guard, _second: Guard, third: Guard) {
    let _local = Guard("local", Arc::clone(&first.1));
    yield_now().await;
    let _ = &third;
}

#[tokio::test]
async fn arguments_are_dropped_after_the_body_as_in_a_plain_function() {
    ready().await;
    let order = || {
        let order: Arc<Mutex<Vec<&'static str>>> = Arc::default();
        let guard = |name| Guard(name, Arc::clone(&order));
        (
            Arc::clone(&order),
            guard("first"),
            guard("second"),
            guard("third"),
        )
    };
    let (expected, first, second, third) = order();
    plain(first, second, third).await;
    let (actual, first, second, third) = order();
    coalesced(first, second, third).await;
    assert_eq!(*actual.lock().unwrap(), *expected.lock().unwrap());
}
