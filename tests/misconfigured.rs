//! A process whose configuration is wrong, and that builds no coalescer at its start: calls run, and what is to change
//! something says that it does not.

use coalesce::coalesce;

#[coalesce(
    namespace = "shop.price",
    fresh_ttl = "${MISCONFIGURED_FRESH}",
    entry = price_entry
)]
async fn price(id: u64) -> u64 {
    10 * id
}

#[tokio::test]
async fn without_a_coalescer_calls_run_looking_finds_nothing_and_changing_is_an_error() {
    assert_eq!(price(7).await, 70);
    assert_eq!(price_entry(7).call().await, 70);
    assert_eq!(price_entry(7).refresh().await, 70);
    assert_eq!(price_entry(7).peek().await, Ok(None));
    assert!(price_entry(7).key().await.is_none());
    for changed in [
        price_entry(7).invalidate().await,
        price_entry(7).put(65).await,
    ] {
        let error = changed.unwrap_err();
        assert_eq!(
            (error.label(), error.namespace()),
            ("not_configured", "shop.price")
        );
        assert!(error.to_string().contains("shop.price"), "{error}");
    }
}
