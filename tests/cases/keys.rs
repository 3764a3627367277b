//! Keys: what is the same work, what is not, and what a stored value of another key is worth.

use std::collections::HashMap;

use coalesce::{Headers, coalesce};
use coalesce_rig::Value;

use crate::scene::{MS, Pod, Scene, answers, callers};

/// Nothing is skipped: the context is part of the identity.
#[coalesce(skip(pod), coalescer = pod.coalescer)]
async fn every_argument(pod: &Pod, id: u64, context: String) -> String {
    pod.ledger.run(100 * MS).await;
    context
}

#[coalesce(skip(pod, context), coalescer = pod.coalescer)]
async fn without_context(pod: &Pod, id: u64, context: String) -> String {
    pod.ledger.run(100 * MS).await;
    context
}

#[coalesce(skip(pod), coalescer = pod.coalescer)]
async fn of_a_map(pod: &Pod, fields: HashMap<String, u64>) -> u64 {
    pod.ledger.run(100 * MS).await
}

mod first {
    //! A type with a method of a common name.
    use crate::scene::{MS, Pod};

    pub(super) struct Service;
    impl Service {
        #[coalesce::coalesce(skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s")]
        pub(super) async fn get(pod: &Pod, id: u64) -> u64 {
            pod.ledger.run(50 * MS).await;
            1
        }
    }
}

mod second {
    //! Another type of the same name, with a method of the same name.
    use crate::scene::{MS, Pod};

    pub(super) struct Service;
    impl Service {
        #[coalesce::coalesce(skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s")]
        pub(super) async fn get(pod: &Pod, id: u64) -> u64 {
            pod.ledger.run(50 * MS).await;
            2
        }
    }
}

#[coalesce(key = text, skip(pod), coalescer = pod.coalescer, fresh_ttl = "60s", entry = by_text_entry)]
async fn by_text(pod: &Pod, text: String) -> String {
    pod.ledger.run(MS).await;
    text
}

#[coalesce(skip(pod), coalescer = pod.coalescer, namespace = "orders.v2")]
async fn through_one_door(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(100 * MS).await
}

#[coalesce(skip(pod), coalescer = pod.coalescer, namespace = "orders.v2")]
async fn through_another_door(pod: &Pod, id: u64) -> u64 {
    pod.ledger.run(100 * MS).await
}

macro_rules! with_headers {
    ($($function:ident $headers:tt)*) => {$(
        #[coalesce(
            skip(pod),
            coalescer = pod.coalescer,
            namespace = "with-headers",
            header_keys = $headers,
            fresh_ttl = "60s"
        )]
        async fn $function(pod: &Pod, id: u64) -> u64 {
            pod.ledger.run(MS).await
        }
    )*};
}

with_headers! {
    tenant_then_role ["X-Tenant", "X-Role"]
    role_then_tenant ["x-role", "X-TENANT"]
}

/// I-08.
#[tokio::test]
async fn a_context_that_is_not_skipped_shares_nothing_and_the_counts_say_so() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let got = answers(callers(50, |number| {
        let pod = pod.clone();
        async move { every_argument(&pod, 1, format!("request {number}")).await }
    }))
    .await;
    for (number, context) in got.into_iter().enumerate() {
        assert_eq!(context, format!("request {number}"));
    }
    let counts = pod.coalescer.counts();
    assert_eq!(
        (
            counts.executions,
            counts.led,
            counts.followed + counts.fresh
        ),
        (50, 50, 0)
    );
    assert_eq!(scene.ledger.runs(), 50);
}

/// I-09.
#[tokio::test]
async fn a_context_that_is_skipped_is_the_leaders_for_everybody() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let mut got = answers(callers(50, |number| {
        let pod = pod.clone();
        async move { without_context(&pod, 1, format!("request {number}")).await }
    }))
    .await;
    assert_eq!((got.len(), scene.ledger.runs()), (50, 1));
    got.dedup();
    assert!(got.len() == 1 && got[0].starts_with("request "), "{got:?}");
    assert_eq!(pod.coalescer.counts().followed, 49);
}

/// I-16.
#[tokio::test]
async fn one_map_is_one_key_in_whatever_order_its_fields_come() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let got = answers(callers(50, |number| {
        let pod = pod.clone();
        // Each map has an order of its own, and so has the way it was filled.
        let mut fields: Vec<_> = (0..20)
            .map(|field| (format!("field {field}"), field))
            .collect();
        fields.rotate_left(number % 20);
        async move { of_a_map(&pod, fields.into_iter().collect()).await }
    }));
    assert_eq!(got.await, [1; 50]);
}

///
#[tokio::test]
async fn types_of_one_name_in_two_modules_share_nothing() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    for _ in 0..2 {
        let both = tokio::join!(first::Service::get(&pod, 1), second::Service::get(&pod, 1));
        assert_eq!(both, (1, 2));
        assert_eq!(scene.ledger.runs(), 2);
    }
}

/// J-A20.
#[tokio::test]
async fn two_functions_may_share_a_namespace_and_then_share_their_work() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let both = tokio::join!(through_one_door(&pod, 1), through_another_door(&pod, 1));
    assert_eq!((both, scene.ledger.runs()), ((1, 1), 1));
}

/// J-K01, J-K02.
#[tokio::test]
async fn headers_name_one_key_in_any_order_any_case_and_any_padding() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    for (tenant, role, run) in [
        ("acme", "admin", 1),
        (" acme\t", "admin ", 1),
        ("admin", "acme", 2),
        ("", "admin", 3),
    ] {
        let headers = || Headers::new([("X-Role", role), ("X-Tenant", tenant)]);
        assert_eq!(headers().scope(tenant_then_role(&pod, 1)).await, run);
        assert_eq!(headers().scope(role_then_tenant(&pod, 1)).await, run);
    }
    assert_eq!(scene.ledger.runs(), 3);
}

/// J-K07, J-K08: an argument cannot be null, and a blank one is a value like any other.
#[tokio::test]
async fn blank_texts_are_told_apart_and_shared_with_nobody() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    for text in ["", " ", "   ", "\t", "\0", "null", "None", "a:b", "a%3Ab"] {
        assert_eq!(by_text(&pod, text.to_owned()).await, text);
    }
    assert_eq!(scene.ledger.runs(), 9);
}

/// 2³² keys of 64 bits are even odds for one pair that collides.
#[tokio::test]
async fn long_keys_differ_by_a_digest_of_at_least_128_bits() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let mut tags = Vec::new();
    for number in 0..200 {
        let text = format!("{}{number}", "x".repeat(300));
        let key = by_text_entry(&pod, text.clone()).key().await.unwrap();
        assert!(key.tag().len() < 256, "{}", key.tag());
        let (_, digest) = key.tag().split_once("~#").unwrap();
        let digits = digest.chars().filter(char::is_ascii_hexdigit).count();
        assert!(4 * digits >= 128, "{digest}");
        tags.push(key.tag().to_owned());
        assert_eq!(by_text(&pod, text.clone()).await, text);
    }
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 200);
}

/// should two keys have one name in Redis all the same.
#[tokio::test]
async fn a_value_of_another_key_under_this_ones_name_is_a_miss() {
    let scene = Scene::new();
    let pod = scene.pod().await;
    let name = |text: &str| format!("coalesce:state:{{cases::keys::by_text:{text}}}");
    assert_eq!(by_text(&pod, "theirs".to_owned()).await, "theirs");
    let copied = scene
        .server
        .command(&["COPY", &name("theirs"), &name("ours")]);
    assert_eq!(copied, Value::Number(1));
    for _ in 0..2 {
        assert_eq!(by_text(&pod, "ours".to_owned()).await, "ours");
    }
    assert_eq!(scene.ledger.runs(), 2);
    assert_eq!(pod.coalescer.counts().undecodable, 1);
}
