//! A certificate authority generated for a test, and its certificates for targets.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoClientAuth, WebPkiClientVerifier};
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto};

/// Names in a valid certificate of a target.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A name of no target.
const OTHER_NAME: &str = "other.invalid";

/// A certificate authority of one test, trusted nowhere else.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key.
#[derive(Clone)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: Arc<PrivateKeyDer<'static>>,
    pem: [String; 2],
    /// The authority of accepted clients; `None` accepts any.
    clients: Option<CertificateDer<'static>>,
}

impl Authority {
    /// Makes its key and its own certificate.
    pub fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        // A different name for each, as in reality: otherwise a stranger's certificate looks like a forged
        // one of this authority.
        let mark: String =
            key.public_key_raw().iter().rev().take(8).map(|byte| format!("{byte:02x}")).collect();
        params.distinguished_name.push(DnType::CommonName, format!("barograph testkit authority {mark}"));
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)?;
        let pem = issuer.pem();
        Ok(Authority { issuer, pem })
    }

    /// Its certificate, to be trusted by the client under test.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.pem
    }

    /// A valid certificate for `localhost`, `127.0.0.1` and `::1`.
    pub fn server(&self) -> io::Result<Identity> {
        self.sign(&NAMES, |_| {})
    }

    /// The same as [`Self::server`], but expired.
    pub fn expired(&self) -> io::Result<Identity> {
        self.sign(&NAMES, |params| params.not_after = rcgen::date_time_ymd(2001, 1, 1))
    }

    /// A valid certificate for these names and addresses.
    pub fn named(&self, names: &[&str]) -> io::Result<Identity> {
        self.sign(names, |_| {})
    }

    /// A server certificate like [`Self::server`], for a target that accepts only clients with certificates
    /// of this authority.
    pub fn asking(&self) -> io::Result<Identity> {
        Ok(Identity { clients: Some(self.issuer.der().clone()), ..self.server()? })
    }

    /// A valid certificate for another name, `other.invalid`.
    pub fn wrong_name(&self) -> io::Result<Identity> {
        self.sign(&[OTHER_NAME], |_| {})
    }

    fn sign(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> io::Result<Identity> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.distinguished_name.push(DnType::CommonName, "barograph testkit target");
        change(&mut params);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        Ok(Identity::new(&certificate, &key))
    }
}

impl Identity {
    /// A self-signed certificate for these names that is marked as an authority's, like those of `openssl req
    /// -x509`; it expires with this year.
    pub fn self_signed(names: &[&str], last_year: i32) -> io::Result<Self> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_after = rcgen::date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.self_signed(&key).map_err(io::Error::other)?;
        Ok(Identity::new(&certificate, &key))
    }

    fn new(certificate: &rcgen::Certificate, key: &KeyPair) -> Self {
        Identity {
            certificate: certificate.der().clone(),
            key: Arc::new(PrivatePkcs8KeyDer::from(key.serialize_der()).into()),
            pem: [certificate.pem(), key.serialize_pem()],
            clients: None,
        }
    }

    /// The certificate and its key, each as the text of a PEM file, for a program that reads files.
    #[must_use]
    pub fn pem(&self) -> &[String; 2] {
        &self.pem
    }

    /// Settings of a TLS server that presents this certificate and offers these protocols by ALPN.
    pub fn config(&self, alpn: &[&str]) -> io::Result<ServerConfig> {
        // Explicit, not taken from the process: a test must not depend on the installations of another crate.
        let provider = Arc::new(crypto::ring::default_provider());
        let clients: Arc<dyn ClientCertVerifier> = match &self.clients {
            None => Arc::new(NoClientAuth),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.clone()).map_err(io::Error::other)?;
                let roots = Arc::new(roots);
                WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(io::Error::other)?
            }
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .map_err(io::Error::other)?;
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(config)
    }
}
