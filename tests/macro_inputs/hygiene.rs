//! M37 to M40, M47: names of users that could meet names of ours.

use super::ready;

#[::coalesce::coalesce]
async fn m37(
    key: String,
    cache: u64,
    result: u64,
    lock: u64,
    value: u64,
    redis: u64,
    client: u64,
) -> u64 {
    key.len() as u64 + cache + result + lock + value + redis + client
}

#[tokio::test]
async fn m37_arguments_of_any_name() {
    ready().await;
    assert_eq!(m37("a".to_owned(), 1, 1, 1, 1, 1, 1).await, 7);
}

mod hostile {
    //! Types and modules with the names that generated code could stumble over.
    #![expect(dead_code, reason = "these are in the way, not in use")]

    mod std {}
    mod core {}
    mod tracing {}
    mod tokio {}
    mod coalesce {}
    pub(super) struct Ok;
    pub(super) struct Some;
    pub(super) struct String;
    pub(super) struct Vec;
    pub(super) enum Result {
        A,
    }

    #[::coalesce::coalesce]
    pub(super) async fn m38(id: u64) -> ::std::result::Result<u64, super::super::Failure> {
        ::std::result::Result::Ok(id)
    }
}

#[tokio::test]
async fn m38_types_and_modules_of_any_name() {
    ready().await;
    assert_eq!(hostile::m38(1).await, Ok(1));
}

trait Get {
    fn get(&self) -> u64;
    fn run(&self) -> u64;
    fn shape(&self) -> u64;
}

impl Get for u64 {
    fn get(&self) -> u64 {
        *self
    }
    fn run(&self) -> u64 {
        *self
    }
    fn shape(&self) -> u64 {
        *self
    }
}

#[::coalesce::coalesce]
async fn m39(id: u64) -> u64 {
    id.get() + id.run() + id.shape()
}

#[tokio::test]
async fn m39_no_trait_of_ours_is_in_scope() {
    ready().await;
    assert_eq!(m39(1).await, 3);
}

#[::coalesce::coalesce(entry = m40_entry)]
async fn r#match(r#type: u64) -> u64 {
    r#type
}

#[tokio::test]
async fn m40_raw_identifiers() {
    ready().await;
    assert_eq!(r#match(1).await, 1);
    let key = m40_entry(1).key().await.unwrap();
    assert_eq!(key.tag(), "macro_inputs::hygiene::match:1");
}

mod facade {
    //! A crate that exports the library as part of its own.
    pub(crate) use ::coalesce as co;
}

#[facade::co::coalesce(crate = facade::co)]
async fn m47(id: u64) -> u64 {
    id
}

#[derive(facade::co::KeyPart)]
#[key(crate = facade::co)]
struct Id(u64);

#[facade::co::coalesce(crate = facade::co, key = id, codec = messagepack)]
async fn m47_derived(id: Id) -> u64 {
    id.0
}

#[tokio::test]
async fn m47_the_library_under_another_name() {
    ready().await;
    assert_eq!((m47(1).await, m47_derived(Id(1)).await), (1, 1));
}
