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
        ::std::boxed::Box::pin(async move {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "by_hand",
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
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
                        if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                            u64,
                        > {
                            return __coalesce_output;
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
            ::std::boxed::Box::pin(async move {
                static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                    "get",
                    ::core::module_path!(),
                    ::core::file!(),
                    ::core::line!(),
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
                            let __coalesce_self = <Self as ::core::clone::Clone>::clone(
                                self,
                            );
                            let name = <str as ::std::borrow::ToOwned>::to_owned(name);
                            async move {
                                if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                                    Option<u64>,
                                > {
                                    return __coalesce_output;
                                }
                                let __coalesce_self = &__coalesce_self;
                                let name: &str = ::core::borrow::Borrow::borrow(&name);
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
