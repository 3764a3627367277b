//! What is generated for an argument under `#[cfg]` stands under the same `#[cfg]`.
mod before {
    #[coalesce(skip(trace))]
    async fn get(
        #[cfg(feature = "tenants")]
        tenant: u64,
        #[cfg(test)]
        trace: Trace,
        id: u64,
    ) {}
}
mod after {
    async fn get(
        #[cfg(feature = "tenants")]
        tenant: u64,
        #[cfg(test)]
        trace: Trace,
        id: u64,
    ) {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "get",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[#[cfg(feature = "tenants")] &tenant, &id]);
        let __coalesce_shape = ::coalesce::__private::shape!(());
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<()>();
                    }
                    #[cfg(test)]
                    let trace = trace;
                    {}
                },
            )
            .await
    }
}
