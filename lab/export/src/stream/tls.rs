//! The HTTP client of a sender.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type Wrong = Box<dyn std::error::Error + Send + Sync>;

/// A receiver that takes longer for an answer is one that does not answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A client that trusts whom this machine trusts. No proxy is taken from the environment: settings come from the plan and
/// the arguments. No redirection is followed: most of them turn a request that brings something into one that asks for a
/// page, whose answer would count as taken.
pub(super) fn client(is_encrypted: bool) -> Result<Client, Wrong> {
    let mut roots = RootCertStore::empty();
    if is_encrypted {
        // What cannot be read there is missing later, when a certificate cannot be verified.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .redirect(Policy::none())
        .user_agent(concat!("barograph/", env!("CARGO_PKG_VERSION")))
        .timeout(ANSWER_WITHIN);
    Ok(client.build()?)
}
