//! References are owned by the flight and lent back under their names and types.
mod before {
    #[coalesce(skip(db, guard, log))]
    async fn search<'a, T: Entity>(
        db: &'a Arc<Pool>,
        mut guard: Guard,
        log: &impl Log,
        name: &'a str,
        tags: Option<&[Tag]>,
        entity: &T,
        never_mentioned: &str,
        limit: &'static str,
    ) -> Vec<T> {
        guard.touch(log);
        db.search(name, tags, entity, limit).await
    }
}
mod after {
    async fn search<'a, T: Entity>(
        db: &'a Arc<Pool>,
        guard: Guard,
        log: &impl Log,
        name: &'a str,
        tags: Option<&[Tag]>,
        entity: &T,
        never_mentioned: &str,
        limit: &'static str,
    ) -> Vec<T> {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "search",
            ::core::module_path!(),
            ::core::file!(),
            ::core::line!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&name, &tags, &entity, &never_mentioned, &limit]);
        let __coalesce_shape = ::coalesce::__private::shape!(Vec < T >);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || {
                    let db = <Arc<Pool> as ::std::borrow::ToOwned>::to_owned(db);
                    let log = ::std::borrow::ToOwned::to_owned(log);
                    let name = <str as ::std::borrow::ToOwned>::to_owned(name);
                    let tags = ::core::option::Option::map(
                        tags,
                        <[Tag] as ::std::borrow::ToOwned>::to_owned,
                    );
                    let entity = <T as ::std::borrow::ToOwned>::to_owned(entity);
                    async move {
                        if let ::core::option::Option::Some(__coalesce_output) = ::core::option::Option::None::<
                            Vec<T>,
                        > {
                            return __coalesce_output;
                        }
                        let db: &Arc<Pool> = ::core::borrow::Borrow::borrow(&db);
                        let mut guard = guard;
                        let log = &log;
                        let name: &str = ::core::borrow::Borrow::borrow(&name);
                        let tags: ::core::option::Option<&[Tag]> = ::core::option::Option::map(
                            ::core::option::Option::as_ref(&tags),
                            ::core::borrow::Borrow::borrow,
                        );
                        let entity: &T = ::core::borrow::Borrow::borrow(&entity);
                        {
                            guard.touch(log);
                            db.search(name, tags, entity, limit).await
                        }
                    }
                },
            )
            .await
    }
}
