//! A layer that opens the request scope around a service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use tower_layer::Layer;
use tower_service::Service;

use crate::ports::headers::Headers;

/// Opens the request scope with each request's headers, so that `header_keys = …` finds them. No round trip.
///
/// It takes any service of HTTP requests: axum's routers, tonic's, hyper's. The bytes of a value are taken as ISO 8859-1,
/// so that different values are different keys, whatever they are made of. Work that a handler spawns needs
/// [`carry`](crate::carry).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # extern crate coalesce_runtime as coalesce;
/// use coalesce::{HeadersLayer, Headers};
/// use http::Request;
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// let service = ServiceBuilder::new().layer(HeadersLayer).service(service_fn(|_: Request<()>| async {
///     Ok::<_, std::convert::Infallible>(format!("{:?}", Headers::current()))
/// }));
/// let request = Request::builder().header("x-tenant", "acme").body(())?;
/// assert_eq!(service.oneshot(request).await?, r#"Some(["x-tenant"])"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadersLayer;

/// A service whose requests have their headers as request scope. Made by [`HeadersLayer`].
#[derive(Clone, Copy, Debug)]
pub struct HeadersService<S>(S);

impl<S> Layer<S> for HeadersLayer {
    type Service = HeadersService<S>;

    fn layer(&self, inner: S) -> HeadersService<S> {
        HeadersService(inner)
    }
}

impl<S, B> Service<Request<B>> for HeadersService<S>
where
    S: Service<Request<B>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let headers = of_request(request.headers());
        // Only the future: what a service does in `call` itself is not part of a request.
        Box::pin(headers.scope(self.0.call(request)))
    }
}

fn of_request(headers: &http::HeaderMap) -> Headers {
    Headers::new(headers.iter().map(|(name, value)| {
        let value: String = value
            .as_bytes()
            .iter()
            .map(|byte| char::from(*byte))
            .collect();
        (name.as_str(), value)
    }))
}
