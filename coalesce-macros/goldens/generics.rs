//! Generics, where clauses and `impl Trait` arguments stay where they are.
mod before {
    #[coalesce(key = (id.to_bits(), ids, name.len()))]
    async fn get<T, const N: usize>(
        id: f64,
        ids: [T; N],
        name: impl Into<String> + Name,
    ) -> Vec<T>
    where
        T: KeyPart + Serialize + DeserializeOwned + Send + 'static,
    {
        vec![]
    }
}
mod after {
    async fn get<T, const N: usize>(
        id: f64,
        ids: [T; N],
        name: impl Into<String> + Name,
    ) -> Vec<T>
    where
        T: KeyPart + Serialize + DeserializeOwned + Send + 'static,
    {
        static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
            "get",
            ::coalesce::__private::place!(),
        );
        ::coalesce::__private::register!(& __COALESCE_SITE);
        let __coalesce_call = ::coalesce::__private::Call::new(
                &__COALESCE_SITE,
                ::coalesce::__private::path_of(|| {}),
            )
            .key(&[&id.to_bits(), &ids, &name.len()]);
        let __coalesce_shape = ::coalesce::__private::shape!(Vec < T >);
        __coalesce_call
            .run(
                __coalesce_shape,
                move || async move {
                    if false {
                        return ::coalesce::__private::output::<Vec<T>>();
                    }
                    { vec![] }
                },
            )
            .await
    }
}
