//! A function that returns a boxed future, by hand or as `#[async_trait]` writes it.
mod before {
    #[coalesce]
    fn by_hand(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        if n < 2 {
            return Box::pin(async move { n });
        }
        Box::pin(async move { by_hand(n - 1).await + by_hand(n - 2).await })
    }
    impl Store for Orders {
        #[coalesce]
        fn get<'life0, 'life1, 'async_trait>(
            &'life0 self,
            name: &'life1 str,
            __arg2: u64,
        ) -> ::core::pin::Pin<
            Box<
                dyn ::core::future::Future<
                    Output = Option<u64>,
                > + ::core::marker::Send + 'async_trait,
            >,
        >
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            Box::pin(async move {
                let __self = self;
                let name = name;
                __self.find(name).await
            })
        }
    }
}
mod after {
    fn by_hand(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        ::coalesce::__private::Box::pin(async move {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "by_hand",
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
                        (move || -> Pin<Box<dyn Future<Output = u64> + Send + '_>> {
                            if n < 2 {
                                return Box::pin(async move { n });
                            }
                            Box::pin(async move {
                                by_hand(n - 1).await + by_hand(n - 2).await
                            })
                        })()
                            .await
                    },
                )
                .await
        })
    }
    impl Store for Orders {
        fn get<'life0, 'life1, 'async_trait>(
            &'life0 self,
            name: &'life1 str,
            __arg2: u64,
        ) -> ::core::pin::Pin<
            Box<
                dyn ::core::future::Future<
                    Output = Option<u64>,
                > + ::core::marker::Send + 'async_trait,
            >,
        >
        where
            'life0: 'async_trait,
            'life1: 'async_trait,
            Self: 'async_trait,
        {
            ::coalesce::__private::Box::pin(async move {
                static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                    "get",
                    ::coalesce::__private::place!(),
                );
                ::coalesce::__private::register!(& __COALESCE_SITE);
                let __coalesce_call = ::coalesce::__private::Call::new(
                        &__COALESCE_SITE,
                        ::coalesce::__private::path_of(|| {}),
                    )
                    .key(&[&name]);
                let __coalesce_shape = ::coalesce::__private::shape!(Option < u64 >);
                __coalesce_call
                    .run(
                        __coalesce_shape,
                        move || {
                            let __coalesce_self = ::coalesce::__private::copied::<
                                Self,
                                _,
                            >(self);
                            let name = ::coalesce::__private::copied::<str, _>(name);
                            async move {
                                if false {
                                    return ::coalesce::__private::output::<Option<u64>>();
                                }
                                let __coalesce_self = ::coalesce::__private::lent(
                                    &__coalesce_self,
                                );
                                let name = ::coalesce::__private::lent(&name);
                                (move || -> ::core::pin::Pin<
                                    Box<
                                        dyn ::core::future::Future<
                                            Output = Option<u64>,
                                        > + ::core::marker::Send + '_,
                                    >,
                                > {
                                    Box::pin(async move {
                                        let __self = __coalesce_self;
                                        let name = name;
                                        __self.find(name).await
                                    })
                                })()
                                    .await
                            }
                        },
                    )
                    .await
            })
        }
    }
}
