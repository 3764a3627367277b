//! M14 to M21, M51, M55, M56: arguments.

use std::sync::{Arc, Mutex};

use coalesce::coalesce;

use super::ready;

#[coalesce]
async fn m14_explicit<'a>(a: &'a str, b: &'a str) -> String {
    format!("{a}{b}")
}

#[coalesce]
async fn m14_elided(a: &str, b: &[u8]) -> usize {
    a.len() + b.len()
}

#[tokio::test]
async fn m14_lifetimes() {
    ready().await;
    let (a, b) = ("a".to_owned(), "b".to_owned());
    assert_eq!(
        (m14_explicit(&a, &b).await, m14_elided(&a, &[1]).await),
        ("ab".to_owned(), 2)
    );
}

#[coalesce(key = (id, name, list))]
async fn m15(id: Option<&str>, name: &str, list: &[u64]) -> u64 {
    id.map_or(0, |id| id.len() as u64) + name.len() as u64 + list.iter().sum::<u64>()
}

#[tokio::test]
async fn m15_borrowed_key_parts() {
    ready().await;
    assert_eq!(
        tokio::join!(m15(Some("a"), "b", &[3]), m15(None, "b", &[3])),
        (5, 4)
    );
}

#[coalesce(key = id, skip(name))]
async fn m16(id: u64, name: impl Into<String> + Clone + Send + 'static) -> String {
    format!("{id}{}", name.into())
}

#[tokio::test]
async fn m16_impl_trait_arguments() {
    ready().await;
    assert_eq!(m16(1, "a").await, "1a");
}

/// As web frameworks hand arguments over.
struct Path<T>(T);

struct Query {
    page: u64,
}

#[coalesce(key = (id, page, left, right))]
async fn m17(Path(id): Path<u64>, Query { page }: Query, (left, right): (u64, u64)) -> u64 {
    id + page + left + right
}

#[tokio::test]
async fn m17_patterns() {
    ready().await;
    assert_eq!(m17(Path(1), Query { page: 2 }, (3, 4)).await, 10);
}

/// Notes when it is dropped.
struct Guard(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

async fn plain(_: Guard, _named: Guard, log: &Mutex<Vec<&'static str>>) {
    log.lock().unwrap().push("body");
    tokio::task::yield_now().await;
}

#[coalesce(inline, skip(_named, log))]
async fn m18(_: Guard, _named: Guard, log: &Mutex<Vec<&'static str>>) {
    log.lock().unwrap().push("body");
}

#[tokio::test]
async fn m18_underscores_drop_as_in_a_plain_function() {
    ready().await;
    let logs = [Arc::default(), Arc::default()];
    let guards = |log: &Arc<Mutex<Vec<&'static str>>>| {
        (
            Guard("_", Arc::clone(log)),
            Guard("_named", Arc::clone(log)),
        )
    };
    let (nameless, named) = guards(&logs[0]);
    plain(nameless, named, &logs[0]).await;
    let (nameless, named) = guards(&logs[1]);
    m18(nameless, named, &logs[1]).await;
    assert_eq!(*logs[0].lock().unwrap(), ["body", "_named", "_"]);
    assert_eq!(*logs[0].lock().unwrap(), *logs[1].lock().unwrap());
}

type Log = Arc<Mutex<Vec<&'static str>>>;

async fn plain_recursive(_: Guard, (_, n): (Guard, u64), log: Log) {
    log.lock().unwrap().push("body");
    if n > 0 {
        let guards = (Guard("_", Arc::clone(&log)), Guard("(_)", Arc::clone(&log)));
        Box::pin(plain_recursive(guards.0, (guards.1, n - 1), log)).await;
    }
}

#[coalesce(skip(log))]
async fn m18_recursive(_: Guard, (_, n): (Guard, u64), log: Log) {
    log.lock().unwrap().push("body");
    if n > 0 {
        let guards = (Guard("_", Arc::clone(&log)), Guard("(_)", Arc::clone(&log)));
        Box::pin(m18_recursive(guards.0, (guards.1, n - 1), log)).await;
    }
}

#[tokio::test]
async fn m18_underscores_of_a_recursive_function_drop_as_in_a_plain_one() {
    ready().await;
    let logs: [Log; 2] = [Arc::default(), Arc::default()];
    let guard = |name, log: &Log| Guard(name, Arc::clone(log));
    let [plain, ours] = &logs;
    plain_recursive(
        guard("_", plain),
        (guard("(_)", plain), 1),
        Arc::clone(plain),
    )
    .await;
    m18_recursive(guard("_", ours), (guard("(_)", ours), 1), Arc::clone(ours)).await;
    let of_plain = plain.lock().unwrap().clone();
    assert_eq!(of_plain, ["body", "body", "(_)", "_", "(_)", "_"]);
    assert_eq!(of_plain, *ours.lock().unwrap());
}

#[coalesce(entry = m19_entry)]
async fn m19(mut id: u64) -> u64 {
    id += 1;
    id
}

#[tokio::test]
async fn m19_the_key_is_taken_before_the_body_changes_an_argument() {
    ready().await;
    let before = m19_entry(1).key().await.unwrap();
    assert_eq!(m19(1).await, 2);
    assert_eq!(before, m19_entry(1).key().await.unwrap());
    assert!(before.tag().ends_with(":1"), "{}", before.tag());
}

#[coalesce]
async fn m20(#[cfg(any())] a: NoSuchType, #[cfg(not(any()))] id: u64) -> u64 {
    id
}

#[tokio::test]
async fn m20_attributes_on_arguments() {
    ready().await;
    assert_eq!(m20(1).await, 1);
}

macro_rules! make {
    ($($name:ident: $type:ty)*) => {$(
        #[coalesce(key = id)]
        async fn $name(id: $type) -> $type {
            id
        }
    )*};
}
make! {
    m21_number: u64
    m21_text: String
}

#[tokio::test]
async fn m21_functions_made_by_macro_rules() {
    ready().await;
    assert_eq!(
        (m21_number(1).await, m21_text("a".into()).await),
        (1, "a".to_owned())
    );
}

trait Db: Send + Sync {
    fn load(&self, id: u64) -> u64;
}

/// Neither `Clone` nor anything else.
struct Pool;

impl Db for Pool {
    fn load(&self, id: u64) -> u64 {
        id
    }
}

#[coalesce(key = id, inline)]
async fn m55_in_place(_: &dyn Db, id: u64) -> u64 {
    id
}

#[coalesce(key = id, skip(db))]
async fn m55_shared(db: Arc<dyn Db>, id: u64) -> u64 {
    db.load(id)
}

#[tokio::test]
async fn m55_trait_objects_as_skipped_arguments() {
    ready().await;
    assert_eq!(
        (
            m55_in_place(&Pool, 1).await,
            m55_shared(Arc::new(Pool), 1).await
        ),
        (1, 1)
    );
}

#[coalesce(key = (tenant, id), skip(db))]
async fn m56(db: &Arc<Pool>, tenant: &str, id: u64) -> u64 {
    db.load(id) + tenant.len() as u64
}

#[tokio::test]
async fn m56_arguments_that_are_not_part_of_the_key() {
    ready().await;
    assert_eq!(m56(&Arc::new(Pool), "a", 1).await, 2);
}
