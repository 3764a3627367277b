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
                ::coalesce::__private::place!(),
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
                        let __coalesce_self = ::coalesce::__private::copied::<
                            Self,
                            _,
                        >(self);
                        async move {
                            if false {
                                return ::coalesce::__private::output::<String>();
                            }
                            let __coalesce_self = ::coalesce::__private::lent(
                                &__coalesce_self,
                            );
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
                ::coalesce::__private::place!(),
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
                        if false {
                            return ::coalesce::__private::output::<String>();
                        }
                        { self.load(id).await }
                    },
                )
                .await
        }
        async fn untouched(&self, id: u64) -> Self {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "untouched",
                ::coalesce::__private::place!(),
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
                        if false {
                            return ::coalesce::__private::output::<Self>();
                        }
                        { Self::new(id) }
                    },
                )
                .await
        }
    }
}
