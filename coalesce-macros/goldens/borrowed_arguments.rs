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
            ::coalesce::__private::place!(),
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
                    let db = ::coalesce::__private::copied::<Arc<Pool>, _>(db);
                    let log = ::coalesce::__private::copied(log);
                    let name = ::coalesce::__private::copied::<str, _>(name);
                    let tags = ::coalesce::__private::copied_option::<[Tag], _>(tags);
                    let entity = ::coalesce::__private::copied::<T, _>(entity);
                    async move {
                        if false {
                            return ::coalesce::__private::output::<Vec<T>>();
                        }
                        let db = ::coalesce::__private::lent(&db);
                        let mut guard = guard;
                        let log = ::coalesce::__private::lent(&log);
                        let name = ::coalesce::__private::lent(&name);
                        let tags = ::coalesce::__private::lent_option(&tags);
                        let entity = ::coalesce::__private::lent(&entity);
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
