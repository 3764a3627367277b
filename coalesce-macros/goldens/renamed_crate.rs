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
            static __COALESCE_SITE: crate::deps::co::__private::CallSite = crate::deps::co::__private::CallSite::new(
                "get",
                ::core::module_path!(),
                ::core::file!(),
                ::core::line!(),
            );
            crate::deps::co::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = crate::deps::co::__private::Call::new(
                    &__COALESCE_SITE,
                    crate::deps::co::__private::path_of(|| {}),
                )
                .key(&[&id])
                .on(&self.coalescer);
            let __coalesce_shape = crate::deps::co::__private::shape!(u64);
            __coalesce_call
                .run(
                    __coalesce_shape,
                    move || async move {
                        if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                            u64,
                        > {
                            return __coalesce_output;
                        }
                        { id }
                    },
                )
                .await
        }
    }
}
