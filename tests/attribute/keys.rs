//! Keys: what tells two calls apart.

use coalesce::coalesce;

use super::{ready, tenant};

#[derive(Clone)]
struct Request {
    tenant: String,
    id: u64,
}

#[coalesce(entry = all_entry)]
async fn all(tenant: &str, id: u64) -> u64 {
    let _ = tenant;
    id
}

#[coalesce(key = id, skip(tenant), entry = single_entry)]
async fn single(tenant: &str, id: u64) -> u64 {
    let _ = tenant;
    id
}

#[coalesce(key = (req.tenant, req.id + 1), entry = tuple_entry)]
async fn tuple(req: &Request) -> u64 {
    req.id
}

#[coalesce(key = "{req.tenant}/{req.id}", entry = template_entry)]
async fn template(req: &Request) -> u64 {
    req.id
}

#[coalesce(key = "everything", skip(_id), entry = constant_entry)]
async fn constant(_id: u64) -> u64 {
    0
}

#[coalesce(key = (), skip(_id), entry = nothing_entry)]
async fn nothing(_id: u64) -> u64 {
    0
}

#[coalesce(key = price.to_bits(), entry = expression_entry)]
async fn expression(price: f64) -> f64 {
    price
}

#[coalesce(key = id, header_keys = ["X-Tenant"], missing_header = "empty", entry = header_entry)]
async fn header(id: u64) -> u64 {
    id
}

#[coalesce(namespace = "orders.v2", version = 3, entry = named_entry)]
async fn named(id: u64) -> u64 {
    id
}

#[coalesce(entry = original_entry)]
async fn original(mut id: u64) -> u64 {
    id += 1;
    id
}

mod first {
    //! A type with a method of a common name.
    pub(super) struct Same;
    impl Same {
        #[coalesce::coalesce(entry = Self::get_entry)]
        pub(super) async fn get(id: u64) -> u8 {
            u8::from(id > 0)
        }
    }
}

mod second {
    //! Another type with a method of the same name.
    pub(super) struct Same;
    impl Same {
        #[coalesce::coalesce(entry = Self::get_entry)]
        pub(super) async fn get(id: u64) -> String {
            id.to_string()
        }
    }
}

#[coalesce(entry = generic_entry)]
async fn generic<T: coalesce::KeyPart + Send + 'static>(id: T) -> u64 {
    drop(id);
    0
}

#[coalesce(entry = nameless_entry)]
async fn nameless(id: impl coalesce::KeyPart + Send + 'static) -> u64 {
    drop(id);
    0
}

#[coalesce(entry = constants_entry)]
async fn constants<const N: usize, const YES: bool>(ids: [u8; N]) -> bool {
    ids.len() == N && YES
}

#[coalesce(entry = r#move)]
async fn r#match(id: u64) -> u64 {
    id
}

macro_rules! tag {
    ($entry:expr) => {
        $entry
            .key()
            .await
            .expect("these calls have a key")
            .tag()
            .to_owned()
    };
}

fn request() -> Request {
    Request {
        tenant: "acme".to_owned(),
        id: 7,
    }
}

#[tokio::test]
async fn key_is_made_of_what_was_written() {
    ready().await;
    assert_eq!(tag!(all_entry("acme", 7)), "attribute::keys::all:acme:7");
    assert_eq!(tag!(single_entry("acme", 7)), "attribute::keys::single:7");
    assert_eq!(
        tag!(tuple_entry(&request())),
        "attribute::keys::tuple:acme:8"
    );
    assert_eq!(
        tag!(template_entry(&request())),
        "attribute::keys::template:acme/7"
    );
    assert_eq!(
        tag!(constant_entry(1)),
        "attribute::keys::constant:everything"
    );
    assert_eq!(tag!(constant_entry(1)), tag!(constant_entry(2)));
    assert_eq!(tag!(nothing_entry(1)), tag!(nothing_entry(2)));
    assert_ne!(tag!(expression_entry(1.5)), tag!(expression_entry(1.25)));
}

#[tokio::test]
async fn header_is_part_of_the_key() {
    ready().await;
    let key = |name| tenant(name).scope(async { tag!(header_entry(1)) });
    assert_ne!(key("acme").await, key("globex").await);
    assert_ne!(key("").await, tag!(header_entry(1)));
}

#[tokio::test]
async fn namespace_and_version_are_part_of_the_key() {
    ready().await;
    let tag = tag!(named_entry(7));
    assert!(tag.starts_with("orders.v2") && tag.contains('3'), "{tag}");
}

#[tokio::test]
async fn key_is_taken_before_the_body_changes_an_argument() {
    ready().await;
    let before = tag!(original_entry(1));
    assert_eq!(original(1).await, 2);
    assert_eq!(before, tag!(original_entry(1)));
}

#[tokio::test]
async fn namespace_tells_types_and_generic_arguments_apart() {
    ready().await;
    assert_eq!(
        tag!(first::Same::get_entry(1)),
        "attribute::keys::first::Same::get:1"
    );
    assert_eq!(
        tag!(second::Same::get_entry(1)),
        "attribute::keys::second::Same::get:1"
    );
    assert_ne!(tag!(generic_entry(1_u8)), tag!(generic_entry(1_u16)));
    assert_eq!(tag!(generic_entry(1_u8)), "attribute::keys::generic<u8>:1");
}

#[tokio::test]
async fn an_entry_with_nameless_types_has_the_name_of_its_function() {
    ready().await;
    let tag = tag!(nameless_entry(1_u8));
    assert!(
        tag.starts_with("attribute::keys::nameless") && !tag.contains("entry"),
        "{tag}"
    );
    assert_ne!(tag, tag!(nameless_entry(1_u16)));
    assert_eq!(nameless(1_u8).await, 0);
}

#[tokio::test]
async fn constants_are_part_of_the_namespace() {
    ready().await;
    assert_eq!(
        tag!(constants_entry::<1, true>([7])),
        "attribute::keys::constants<1,%20true>:~[7]"
    );
    assert_ne!(
        tag!(constants_entry::<1, true>([7])),
        tag!(constants_entry::<1, false>([7]))
    );
    assert!(constants::<1, true>([7]).await);
}

#[tokio::test]
async fn raw_names_are_written_without_their_prefix() {
    ready().await;
    assert_eq!(tag!(r#move(1)), "attribute::keys::match:1");
    assert_eq!(r#match(1).await, 1);
}

#[tokio::test]
async fn every_annotated_function_of_this_file_runs() {
    ready().await;
    let req = request();
    assert_eq!(
        all("a", 1).await + single("a", 1).await + tuple(&req).await,
        9
    );
    assert_eq!(
        template(&req).await + constant(1).await + nothing(1).await,
        7
    );
    assert_eq!(header(1).await + named(1).await + generic(1_u8).await, 2);
    assert_eq!(u64::from(first::Same::get(1).await), 1);
    assert_eq!(second::Same::get(1).await, "1");
    assert!((expression(1.5).await - 1.5).abs() < f64::EPSILON);
}
