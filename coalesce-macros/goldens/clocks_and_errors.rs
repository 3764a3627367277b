//! Options end up in one static, in the order they were written.
mod before {
    #[coalesce(
        key = order_id,
        header_keys = ["X-Tenant-Id"],
        missing_header = "error",
        fresh_ttl = "${ORDERS_FRESH_TTL:30s}",
        stale_ttl = STALE,
        pending_ttl = 20,
        wait_timeout = "none",
        errors = "share",
        keep_errors = "2s",
        on_redis_error = "fail",
        max_payload = 4096,
        enabled = false,
        version = 3,
        namespace = "orders.v2",
    )]
    async fn get_order(order_id: u64) -> Result<Order, OrderError> {
        #![allow(unused)]
        use std::collections::HashMap;
        let order = load(order_id).await?;
        Ok(order)
    }
}
mod after {
    async fn get_order(order_id: u64) -> Result<Order, OrderError> {
        #![allow(unused)]
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "get_order",
                ::coalesce::__private::place!(),
            )
            .header_keys(&["X-Tenant-Id"])
            .missing_header("error")
            .fresh_ttl("${ORDERS_FRESH_TTL:30s}")
            .stale_ttl_is(STALE)
            .pending_ttl("20s")
            .wait_timeout("none")
            .keep_errors("2s")
            .on_redis_error("fail")
            .max_payload("4096")
            .enabled("false")
            .version(3)
            .namespace("orders.v2");
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&order_id]);
        let __coalesce_shape = ::coalesce::__private::shape!(
            Result < Order, OrderError >
        );
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<
                            Result<Order, OrderError>,
                        >();
                    }
                    {
                        use std::collections::HashMap;
                        let order = load(order_id).await?;
                        Ok(order)
                    }
                },
            )
            .await
    }
}
