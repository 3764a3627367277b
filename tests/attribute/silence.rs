//! Annotated functions under every lint that people deny. That this compiles, also under clippy, is
//! the test.
#![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used
)]
#![deny(
    deprecated,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    missing_docs,
    rust_2018_idioms,
    single_use_lifetimes,
    trivial_casts,
    unreachable_pub,
    unused_lifetimes,
    unused_qualifications,
    unused_results
)]
#![forbid(unsafe_code)]

use std::sync::Arc;

use coalesce::coalesce;

use super::{Failure, ready};

#[coalesce]
async fn plain(id: u64, _unused: u64) -> u64 {
    id
}

#[coalesce(key = id, skip(db, _guard, tags))]
async fn borrowed(db: &Arc<u64>, id: &str, mut tags: Vec<u64>, _guard: Arc<u64>) -> String {
    tags.push(**db);
    format!("{id}{}", tags.len())
}

#[coalesce(key = "{id}/{page}", fresh_ttl = "30s", stale_ttl = 60, entry = template_entry)]
#[must_use]
async fn template(id: u64, page: u32) -> Option<u64> {
    if page == 0 {
        return None;
    }
    Some(id)
}

#[coalesce(key = "only-one")]
async fn nothing() {}

#[coalesce(inline, skip(out))]
async fn in_place(out: &mut Vec<u64>, id: u64) -> Result<(), Failure> {
    out.push(id);
    Ok(())
}

#[derive(Clone)]
struct Service {
    name: String,
}

impl Service {
    #[coalesce(entry = get_entry)]
    #[expect(clippy::unreadable_literal, reason = "met in the body")]
    async fn get(&self, id: Option<&str>, _unused: &str) -> String {
        use std::fmt::Write as _;
        const SEPARATOR: char = '/';
        let mut text = self.name.clone();
        text.truncate(1000000);
        let _ = write!(text, "{SEPARATOR}{id:?}");
        text
    }

    #[coalesce]
    fn boxed(&self, id: u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send + '_>> {
        Box::pin(async move { id + self.name.len() as u64 })
    }
}

#[tokio::test]
async fn no_lint_speaks_of_generated_code() {
    ready().await;
    assert_eq!(plain(1, 2).await, 1);
    assert_eq!(
        borrowed(&Arc::new(1), "a", vec![], Arc::default()).await,
        "a1"
    );
    assert_eq!(template(1, 1).await, Some(1));
    assert_eq!(template_entry(1, 0).call().await, None);
    nothing().await;
    assert_eq!(in_place(&mut vec![], 1).await, Ok(()));
    let service = Service {
        name: "s".to_owned(),
    };
    assert_eq!(service.get(Some("a"), "").await, "s/Some(\"a\")");
    assert_eq!(service.get_entry(None, "").call().await, "s/None");
    assert_eq!(service.boxed(1).await, 2);
}
