//! A body that calls its own function says that its future is `Send`; a codec is part of the shape.
mod before {
    #[coalesce]
    async fn fibonacci(n: u64) -> u64 {
        if n < 2 { n } else { Box::pin(fibonacci(n - 1)).await }
    }
    #[coalesce(codec = json)]
    async fn get(id: u64) -> Result<Order, Error> {
        map.get(id).await
    }
    #[coalesce(codec = codecs::Own)]
    async fn list() -> Vec<Order> {
        load().await
    }
}
mod after {
    #[allow(clippy::manual_async_fn, refining_impl_trait)]
    fn fibonacci(
        n: u64,
    ) -> impl ::coalesce::__private::Future<Output = u64> + ::coalesce::__private::Send {
        async move {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "fibonacci",
                ::coalesce::__private::place!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::path_of(|| {}),
                )
                .key(&[&n]);
            let __coalesce_shape = ::coalesce::__private::shape!(u64);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || async move {
                        if false {
                            return ::coalesce::__private::output::<u64>();
                        }
                        { if n < 2 { n } else { Box::pin(fibonacci(n - 1)).await } }
                    },
                )
                .await
        }
    }
    async fn get(id: u64) -> Result<Order, Error> {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "get",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&id]);
        let __coalesce_shape = ::coalesce::__private::shape!(
            Result < Order, Error >, ::coalesce::__private::coding:: <
            ::coalesce::__private::codec::Json, _ > ()
        );
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<Result<Order, Error>>();
                    }
                    { map.get(id).await }
                },
            )
            .await
    }
    async fn list() -> Vec<Order> {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "list",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[]);
        let __coalesce_shape = ::coalesce::__private::shape!(
            Vec < Order >, ::coalesce::__private::coding:: < codecs::Own, _ > ()
        );
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<Vec<Order>>();
                    }
                    { load().await }
                },
            )
            .await
    }
}
