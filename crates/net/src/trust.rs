//! Trust: whose certificates are believed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::setup::SetupError;
use crate::tls::{Tls, Verify};

/// Largest file of certificates: a system's whole list is a tenth of it.
pub(crate) const MOST_CERTIFICATES: u64 = 4 << 20;

/// The certificates of authorities in a PEM file.
///
/// # Errors
/// When it cannot be read, or is larger than 4 MiB.
pub fn certificates(file: &Path) -> Result<Arc<[u8]>, SetupError> {
    let failed = |why| SetupError::ReadCertificates { file: file.to_owned(), why };
    let bytes = fs::metadata(file).map_err(failed)?.len();
    if bytes > MOST_CERTIFICATES {
        return Err(SetupError::TooManyCertificates { file: file.to_owned(), bytes });
    }
    Ok(fs::read(file).map_err(failed)?.into())
}

/// What decides whether a peer is believed.
pub(crate) fn verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, SetupError> {
    match tls.verify {
        Verify::Nothing => Ok(Arc::new(NoVerification(Arc::clone(provider)))),
        Verify::Peer => {
            let roots = Arc::new(roots(tls.authorities.as_deref())?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
            Ok(built.map_err(|why| SetupError::Authorities { why: why.to_string() })?)
        }
    }
}

/// The authorities to trust. The system's rather than a list built in: what this machine's other programs believe is
/// what its owner set up, a company's own authority included, and it does not age with this program.
fn roots(given: Option<&[u8]>) -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    let failed = |why: String| SetupError::Authorities { why };
    match given {
        Some(pem) => {
            for found in CertificateDer::pem_slice_iter(pem) {
                let certificate = found.map_err(|e| failed(format!("the PEM text is broken: {e}")))?;
                roots.add(certificate).map_err(|e| failed(format!("a certificate cannot be used: {e}")))?;
            }
            if roots.is_empty() {
                return Err(failed("there is no `BEGIN CERTIFICATE` in the PEM text".to_owned()));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let hint =
                    "this machine has none: install the package ca-certificates, or name a PEM file (ca)";
                return Err(failed(hint.to_owned()));
            }
        }
    }
    Ok(roots)
}

/// Believes any peer, because the user asked for it. Signatures of the handshake are still checked.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
