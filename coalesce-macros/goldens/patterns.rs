//! Patterns stay in the signature; the key and the body use the variables they bind.
mod before {
    #[coalesce(key = (id, page, r#type), skip(db, trace))]
    async fn handler(
        Path(id): Path<u64>,
        Extension(mut db): Extension<Db>,
        Query(Paging { page, .. }): Query<Paging>,
        _: Guard,
        #[cfg(feature = "trace")]
        #[expect(unused)]
        mut trace: u64,
        mut r#type: u8,
    ) -> Json<Order> {
        db.get(id, page, r#type).await
    }
}
mod after {
    async fn handler(
        Path(id): Path<u64>,
        Extension(db): Extension<Db>,
        Query(Paging { page, .. }): Query<Paging>,
        _: Guard,
        #[cfg(feature = "trace")]
        #[expect(unused)]
        trace: u64,
        mut r#type: u8,
    ) -> Json<Order> {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "handler",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&id, &page, &r#type]);
        let __coalesce_shape = ::coalesce::__private::shape!(Json < Order >);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<Json<Order>>();
                    }
                    let mut db = db;
                    #[cfg(feature = "trace")]
                    let mut trace = trace;
                    { db.get(id, page, r#type).await }
                },
            )
            .await
    }
}
