//! The HTTP client of a sender.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

type TlsError = Box<dyn std::error::Error + Send + Sync>;

/// Time limit of an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// A client with the system's trusted authorities. No proxy is taken from the environment: settings come from
/// the plan and the arguments. No redirect is followed: most of them turn a request with a body into one for
/// a page, whose answer would count as accepted.
pub(super) fn client(is_encrypted: bool) -> Result<Client, TlsError> {
    let mut roots = RootCertStore::empty();
    if is_encrypted {
        // An unreadable certificate shows when a peer cannot be verified.
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
