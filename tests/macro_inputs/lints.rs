//! M30 to M33, M35: annotated functions under every lint that people deny. That this compiles, also
//! under clippy, is half of the test.
#![deny(warnings, clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(
    missing_docs,
    unused,
    unused_must_use,
    clippy::double_must_use,
    clippy::clone_on_copy
)]

use coalesce::{KeyPart, coalesce};

use super::ready;

mod public {
    //! M31: what is seen from outside.

    /// Above the attribute.
    #[deprecated = "use the other one"]
    #[must_use]
    #[inline]
    #[coalesce::coalesce]
    pub(super) async fn m30_above(id: u64) -> u64 {
        id
    }

    #[coalesce::coalesce(entry = m30_entry)]
    /// Below the attribute.
    #[must_use = "it was paid for"]
    #[inline]
    pub(super) async fn m30_below(id: u64) -> u64 {
        id
    }
}

#[tokio::test]
async fn m30_docs_and_attributes_are_kept() {
    ready().await;
    #[expect(deprecated, reason = "it is, once: an expectation is met")]
    let above = public::m30_above(1);
    assert_eq!((above.await, public::m30_below(1).await), (1, 1));
}

#[tokio::test]
async fn m31_visibilities_are_kept() {
    ready().await;
    assert_eq!(public::m30_entry(1).call().await, 1);
}

#[derive(Clone, Copy, KeyPart)]
enum Kind {
    One,
    Of(u8),
    With { id: u64 },
}

#[derive(Clone, KeyPart)]
struct Shop {
    name: &'static str,
    kinds: Vec<Kind>,
}

/// M35: six functions of different forms, and two types.
#[coalesce(fresh_ttl = "1m")]
async fn m35_plain(kind: Kind, _unused: u64) -> u64 {
    match kind {
        Kind::One => 1,
        Kind::Of(n) => n.into(),
        Kind::With { id } => id,
    }
}

#[coalesce(key = (shop, name), skip(db), entry = m35_borrowed_entry)]
async fn m35_borrowed(db: &[u64], shop: &Shop, name: Option<&str>) -> String
where
    Shop: Clone,
{
    let _ = name;
    format!("{}{}{}", shop.name, shop.kinds.len(), db.len())
}

#[coalesce]
async fn m35_recursive(n: u64) -> u64 {
    if n == 0 {
        return n;
    }
    Box::pin(m35_recursive(n - 1)).await
}

#[coalesce(key = "{id}/{name}", inline, skip(out))]
async fn m35_inline(id: u64, name: &str, out: &mut Vec<u64>) -> Result<(), super::Failure> {
    out.push(id);
    let _ = name;
    Ok(())
}

impl Shop {
    #[coalesce]
    async fn m35_method(&self, id: u64) -> usize {
        self.kinds.len() + usize::try_from(id).unwrap_or_default()
    }

    #[coalesce]
    fn m35_boxed(&self, id: u64) -> std::pin::Pin<Box<dyn Future<Output = u64> + Send + '_>> {
        Box::pin(async move { id + self.kinds.len() as u64 })
    }
}

#[tokio::test]
async fn m35_no_lint_speaks_of_generated_code() {
    ready().await;
    let shop = Shop {
        name: "s",
        kinds: vec![Kind::One],
    };
    let mut out = Vec::new();
    assert_eq!(
        m35_plain(Kind::One, 1).await + m35_plain(Kind::Of(2), 1).await,
        3
    );
    assert_eq!(m35_plain(Kind::With { id: 4 }, 1).await, 4);
    assert_eq!(m35_borrowed_entry(&[1], &shop, None).call().await, "s11");
    assert_eq!(
        (m35_recursive(3).await, m35_inline(1, "a", &mut out).await),
        (0, Ok(()))
    );
    assert_eq!((shop.m35_method(1).await, shop.m35_boxed(1).await), (2, 2));
    assert_eq!(m35_borrowed(&[1], &shop, None).await, "s11");
}
