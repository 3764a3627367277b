//! With `entry` the body moves into the function that gives the entry.
mod before {
    /// Reads an order.
    #[coalesce(key = (id, name.id()), skip(db), entry = get_order_entry)]
    pub async fn get_order(
        db: &Pool,
        Path(id): Path<u64>,
        mut name: impl Name,
    ) -> Order {
        name.push(id);
        db.get(id).await
    }
    impl Orders {
        #[coalesce(entry = Self::get_entry)]
        async fn get<'a, T: Part, const N: usize>(
            tenant: Tenant<N>,
            mut id: T,
            name: &'a str,
            f: fn(&str) -> bool,
        ) -> Result<Order, Error> {
            load(tenant, id, name).await
        }
        #[coalesce(entry = owned_entry)]
        #[expect(unused_mut, reason = "in the signature or in the body")]
        async fn owned(self, id: u64) -> u64 {
            self.n + id
        }
    }
}
mod after {
    /// The typed entry behind [`get_order`].
    #[must_use = "an entry does nothing until one of its methods is called"]
    pub fn get_order_entry<'__coalesce>(
        db: &'__coalesce Pool,
        Path(id): Path<u64>,
        mut name: impl Name,
    ) -> ::coalesce::__private::Entry<'__coalesce, Order> {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "get_order",
                ::coalesce::__private::place!(),
            )
            .in_entry("get_order_entry");
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&id, &name.id()]);
        let __coalesce_shape = ::coalesce::__private::shape!(Order);
        __coalesce_call
            .entry(
                __coalesce_shape,
                move || {
                    let db = ::coalesce::__private::copied::<Pool, _>(db);
                    async move {
                        if false {
                            return ::coalesce::__private::output::<Order>();
                        }
                        let db = ::coalesce::__private::lent(&db);
                        {
                            name.push(id);
                            db.get(id).await
                        }
                    }
                },
            )
    }
    /// Reads an order.
    pub async fn get_order(
        db: &Pool,
        __coalesce_argument_1: Path<u64>,
        name: impl Name,
    ) -> Order {
        get_order_entry(db, __coalesce_argument_1, name).call().await
    }
    impl Orders {
        /// The typed entry behind [`Self::get`].
        #[must_use = "an entry does nothing until one of its methods is called"]
        fn get_entry<'__coalesce, 'a, T: Part, const N: usize>(
            tenant: Tenant<N>,
            mut id: T,
            name: &'a str,
            f: fn(&str) -> bool,
        ) -> ::coalesce::__private::Entry<'__coalesce, Result<Order, Error>>
        where
            'a: '__coalesce,
        {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "get",
                ::coalesce::__private::place!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::type_name_of_val(&Self::get::<T, N>),
                )
                .key(&[&tenant, &id, &name, &f]);
            let __coalesce_shape = ::coalesce::__private::shape!(
                Result < Order, Error >
            );
            __coalesce_call
                .entry(
                    __coalesce_shape,
                    move || {
                        let name = ::coalesce::__private::copied::<str, _>(name);
                        async move {
                            if false {
                                return ::coalesce::__private::output::<
                                    Result<Order, Error>,
                                >();
                            }
                            let name = ::coalesce::__private::lent(&name);
                            { load(tenant, id, name).await }
                        }
                    },
                )
        }
        async fn get<'a, T: Part, const N: usize>(
            tenant: Tenant<N>,
            id: T,
            name: &'a str,
            f: fn(&str) -> bool,
        ) -> Result<Order, Error> {
            Self::get_entry::<T, N>(tenant, id, name, f).call().await
        }
        #[allow(unused_mut, reason = "in the signature or in the body")]
        /// The typed entry behind [`Self::owned`].
        #[must_use = "an entry does nothing until one of its methods is called"]
        fn owned_entry(self, id: u64) -> ::coalesce::__private::Entry<'static, u64> {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "owned",
                ::coalesce::__private::place!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::type_name_of_val(&Self::owned),
                )
                .key(&[&id]);
            let __coalesce_shape = ::coalesce::__private::shape!(u64);
            __coalesce_call
                .entry(
                    __coalesce_shape,
                    move || async move {
                        if false {
                            return ::coalesce::__private::output::<u64>();
                        }
                        { self.n + id }
                    },
                )
        }
        #[allow(unused_mut, reason = "in the signature or in the body")]
        async fn owned(self, id: u64) -> u64 {
            Self::owned_entry(self, id).call().await
        }
    }
}
