//! Client certificates, sent to peers that request one.

use std::sync::Arc;

use barograph_model::secret::SecretFile;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::{Error, crypto::ring};

use crate::setup::SetupError;

/// A client certificate with its key, both as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, then those that lead to its authority.
    pub certificate: SecretFile,
    /// The key in the clear; may be the file of the certificate.
    pub key: SecretFile,
}

impl Identity {
    /// Checks the certificate, its key, and that they belong together.
    ///
    /// # Errors
    /// [`SetupError::Identity`] with the file and its fault.
    pub fn check(&self) -> Result<(), SetupError> {
        self.certified(&ring::default_provider()).map(|_| ())
    }

    /// The resolver for handshakes.
    pub(crate) fn resolver(&self, provider: &CryptoProvider) -> Result<Arc<SingleCertAndKey>, SetupError> {
        Ok(Arc::new(self.certified(provider)?.into()))
    }

    fn certified(&self, provider: &CryptoProvider) -> Result<CertifiedKey, SetupError> {
        let wrong = |file: &SecretFile, why: String| SetupError::Identity { file: file.path.clone(), why };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificate.bytes).collect();
        let chain =
            chain.map_err(|why| wrong(&self.certificate, format!("the PEM text is broken: {why}")))?;
        if chain.is_empty() {
            return Err(wrong(&self.certificate, "there is no `BEGIN CERTIFICATE` in it".to_owned()));
        }
        let key = key(&self.key.bytes).map_err(|why| wrong(&self.key, why))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|why| match why {
            Error::InconsistentKeys(_) => wrong(
                &self.key,
                format!("the key is not that of the certificate in `{}`", self.certificate.path.display()),
            ),
            Error::InvalidCertificate(why) => wrong(&self.certificate, format!("the certificate: {why}")),
            other => wrong(&self.key, format!("the key: {other}")),
        })
    }
}

fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let has = |words: &[u8]| pem.windows(words.len()).any(|window| window == words);
    if has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED") {
        return Err("the key is encrypted: write it in the clear, as `openssl pkey` does".to_owned());
    }
    PrivateKeyDer::from_pem_slice(pem).map_err(|why| match why {
        pem::Error::NoItemsFound => "there is no `BEGIN PRIVATE KEY` in it".to_owned(),
        other => format!("the PEM text is broken: {other}"),
    })
}

#[cfg(test)]
mod tests {
    use barograph_testkit::Authority;

    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_file() {
        let authority = Authority::new().unwrap();
        let ([certificate, key], [_, other]) =
            (authority.server().unwrap().pem().clone(), authority.server().unwrap().pem().clone());
        let why = |certificate: &str, key: &str| {
            let file =
                |path: &str, text: &str| SecretFile { path: path.into(), bytes: text.as_bytes().into() };
            let identity = Identity { certificate: file("c.pem", certificate), key: file("k.pem", key) };
            identity.check().err().map(|why| why.to_string())
        };
        assert_eq!(why(&certificate, &key), None);
        let both = format!("{key}{certificate}");
        assert_eq!(why(&both, &both), None);
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        for (certificate, key, expected) in [
            (key.as_str(), key.as_str(), "`c.pem`: there is no `BEGIN CERTIFICATE` in it"),
            (&certificate, &certificate, "`k.pem`: there is no `BEGIN PRIVATE KEY` in it"),
            (&certificate, &other, "`k.pem`: the key is not that of the certificate in `c.pem`"),
            (
                &certificate,
                old,
                "`k.pem`: the key is encrypted: write it in the clear, as `openssl pkey` does",
            ),
            (
                &certificate,
                encrypted,
                "`k.pem`: the key is encrypted: write it in the clear, as `openssl pkey` does",
            ),
        ] {
            let told = why(certificate, key);
            assert_eq!(told, Some(format!("use the client certificate: {expected}")));
        }
        let broken = why("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", &key).unwrap();
        assert!(
            broken.starts_with("use the client certificate: `c.pem`: the PEM text is broken: "),
            "{broken}"
        );
    }
}
