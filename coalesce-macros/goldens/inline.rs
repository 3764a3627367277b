//! An inline body runs in the caller's task and takes the arguments as they are.
mod before {
    impl Session {
        #[coalesce(key = request.id(), inline)]
        async fn send(&mut self, request: &Request<'_>) -> Result<Reply, Error> {
            self.count += 1;
            self.connection.send(request).await
        }
    }
}
mod after {
    impl Session {
        async fn send(&mut self, request: &Request<'_>) -> Result<Reply, Error> {
            static __COALESCE_SITE: ::coalesce::__private::CallSite = ::coalesce::__private::CallSite::new(
                "send",
                ::coalesce::__private::place!(),
            );
            ::coalesce::__private::register!(& __COALESCE_SITE);
            let __coalesce_call = ::coalesce::__private::Call::new(
                    &__COALESCE_SITE,
                    ::coalesce::__private::path_of(|| {}),
                )
                .key(&[&request.id()]);
            let __coalesce_shape = ::coalesce::__private::shape!(
                Result < Reply, Error >
            );
            __coalesce_call
                .run_inline(
                    __coalesce_shape,
                    move || async move {
                        if false {
                            return ::coalesce::__private::output::<
                                Result<Reply, Error>,
                            >();
                        }
                        {
                            self.count += 1;
                            self.connection.send(request).await
                        }
                    },
                )
                .await
        }
    }
}
