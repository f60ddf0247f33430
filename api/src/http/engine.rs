//! An Engine executes admitted requests. Every `async_graphql` schema is one, static or dynamic.

use async_graphql::{Executor, Request, Response};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

/// What the transport needs of a schema, without its type.
pub trait Engine: Send + Sync + 'static {
    /// Runs a query or mutation.
    fn execute(&self, request: Request) -> BoxFuture<'static, Response>;

    /// Runs a subscription; the stream ends with it, and dropping the stream ends it.
    fn subscribe(&self, request: Request) -> BoxStream<'static, Response>;
}

impl<E: Executor> Engine for E {
    fn execute(&self, request: Request) -> BoxFuture<'static, Response> {
        let schema = self.clone();
        async move { Executor::execute(&schema, request).await }.boxed()
    }

    fn subscribe(&self, request: Request) -> BoxStream<'static, Response> {
        self.execute_stream(request, None)
    }
}
