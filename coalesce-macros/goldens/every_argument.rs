//! Nothing is set: all arguments, in order, name the work.
mod before {
    /// Adds.
    #[coalesce]
    pub(crate) async fn add(left: u64, right: u64) -> u64 {
        left + right
    }
}
mod after {
    /// Adds.
    pub(crate) async fn add(left: u64, right: u64) -> u64 {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "add",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&left, &right]);
        let __coalesce_shape = ::coalesce::__private::shape!(u64);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<u64>();
                    }
                    { left + right }
                },
            )
            .await
    }
}
