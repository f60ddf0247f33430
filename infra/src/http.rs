//! The one factory of HTTP clients for model providers and other outside systems.
//!
//! Every client speaks TLS by rustls with the ring provider, follows no redirect (a credential must not wander), asks
//! no system proxy, never sends a request twice, and gives up on a connection that is not made in time.

use std::time::Duration;

use reqwest::{Client, ClientBuilder, redirect, retry};

/// Makes a client that gives up on a connection after `connect`.
///
/// A machine without any CA certificates gets a client that trusts nobody: plain HTTP works, HTTPS fails when it is
/// tried.
pub fn client(connect: Duration) -> Result<Client, reqwest::Error> {
    install_crypto_provider();
    builder(connect).build().or_else(|error| {
        tracing::warn!(error = %error, "no CA certificates; HTTPS to other systems will fail");
        builder_without_roots(connect).build()
    })
}

/// Makes ring the crypto provider of this process. The first call counts; further calls change nothing.
pub fn install_crypto_provider() {
    // An error says that a provider is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn builder(connect: Duration) -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("vitrine/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .no_proxy()
        .connect_timeout(connect)
        // Common servers close idle connections after 5 s; a request that meets the closing fails and is not repeated.
        .pool_idle_timeout(Duration::from_secs(4))
        .tcp_nodelay(true)
}

fn builder_without_roots(connect: Duration) -> ClientBuilder {
    builder(connect).tls_certs_only([])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_be_made_without_ca_certificates() {
        install_crypto_provider();
        assert!(builder_without_roots(Duration::from_secs(1)).build().is_ok());
    }
}
