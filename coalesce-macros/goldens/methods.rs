//! Receivers: a borrowed one is copied when a flight starts, an owned one is captured.
mod before {
    impl Orders {
        #[coalesce(key = (self.tenant, id))]
        async fn get(&self, id: u64) -> String {
            println!("{self} {}", self.name);
            fn helper(x: &X) -> u64 {
                x.0
            }
            self::load(id, vec![self.id]).await
        }
        #[coalesce]
        async fn shared(self: Arc<Self>, id: u64) -> String {
            self.load(id).await
        }
        #[coalesce]
        async fn untouched(&self, id: u64) -> Self {
            Self::new(id)
        }
    }
}
mod after {
    impl Orders {
        async fn get(&self, id: u64) -> String {
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
                .key(&[&self.tenant, &id]);
            let __coalesce_shape = ::coalesce::__private::shape!(String);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || {
                        let __coalesce_self = <Self as ::core::clone::Clone>::clone(
                            self,
                        );
                        async move {
                            if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                                String,
                            > {
                                return __coalesce_output;
                            }
                            let __coalesce_self = &__coalesce_self;
                            {
                                println!("{__coalesce_self} {}", __coalesce_self.name);
                                fn helper(x: &X) -> u64 {
                                    x.0
                                }
                                self::load(id, vec![__coalesce_self.id]).await
                            }
                        }
                    },
                )
                .await
        }
        async fn shared(self: Arc<Self>, id: u64) -> String {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "shared",
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::path_of(|| {}),
                )
                .key(&[&id]);
            let __coalesce_shape = ::coalesce::__private::shape!(String);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || async move {
                        if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                            String,
                        > {
                            return __coalesce_output;
                        }
                        { self.load(id).await }
                    },
                )
                .await
        }
        async fn untouched(&self, id: u64) -> Self {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "untouched",
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::path_of(|| {}),
                )
                .key(&[&id]);
            let __coalesce_shape = ::coalesce::__private::shape!(Self);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || async move {
                        if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                            Self,
                        > {
                            return __coalesce_output;
                        }
                        { Self::new(id) }
                    },
                )
                .await
        }
    }
}
