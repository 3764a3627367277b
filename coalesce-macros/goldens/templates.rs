//! A template is taken apart while it is compiled.
mod before {
    #[coalesce(key = "{req.tenant}/orders/{id + 1}", skip(db))]
    async fn get(db: Pool, req: Request, id: u64) -> u64 {
        db.get(req, id).await
    }
    #[coalesce(key = "everything")]
    async fn all() -> u64 {
        1
    }
}
mod after {
    async fn get(db: Pool, req: Request, id: u64) -> u64 {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "get",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .template(
                &[
                    ::coalesce::__private::Piece::Hole(&req.tenant),
                    ::coalesce::__private::Piece::Text("/orders/"),
                    ::coalesce::__private::Piece::Hole(&(id + 1)),
                ],
            );
        let __coalesce_shape = ::coalesce::__private::shape!(u64);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<u64>();
                    }
                    let db = db;
                    { db.get(req, id).await }
                },
            )
            .await
    }
    async fn all() -> u64 {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "all",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&"everything"]);
        let __coalesce_shape = ::coalesce::__private::shape!(u64);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<u64>();
                    }
                    { 1 }
                },
            )
            .await
    }
}
