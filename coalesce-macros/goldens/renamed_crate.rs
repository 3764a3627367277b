//! `crate` says where generated code finds the library, `coalescer` which coalescer it uses.
mod before {
    impl Orders {
        #[coalesce(crate = crate::deps::co, coalescer = self.coalescer)]
        async fn get(&self, id: u64) -> u64 {
            id
        }
    }
}
mod after {
    impl Orders {
        async fn get(&self, id: u64) -> u64 {
            use crate::deps::co::__private as __coalesce;
            static __COALESCE_SITE: __coalesce::CallSite = __coalesce::CallSite::new(
                "get",
                __coalesce::place!(),
            );
            __coalesce::register!(& __COALESCE_SITE);
            let __coalesce_call = __coalesce::Call::new(
                    &__COALESCE_SITE,
                    __coalesce::path_of(|| {}),
                )
                .key(&[&id])
                .on(&self.coalescer);
            let __coalesce_shape = __coalesce::shape!(u64);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || async move {
                        if false {
                            return __coalesce::output::<u64>();
                        }
                        { id }
                    },
                )
                .await
        }
    }
}
