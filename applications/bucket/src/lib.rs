//! An S3 bucket at a URL.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::client::{HttpClient, HttpConnector};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt as _, RetryConfig};
use percent_encoding::percent_decode_str;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

/// Name of the protocol in messages.
pub const NAME: &str = "S3";

/// Region of stores without regions.
const REGION: &str = "us-east-1";

/// S3's error code for a missing bucket.
const NO_BUCKET: &str = "NoSuchBucket";

/// Time limit of one request, from the connection to the last byte of its answer.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);

/// Time limit for a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Idle connections kept: more than the concurrent readers and writers of one node would only be closed by the store.
const IDLE_CONNECTIONS: usize = 64;

/// Retries by the client after faults of the store or the network. Few, because readers wait.
const RETRIES: usize = 2;

/// Time limit after which nothing is retried.
const RETRY_WITHIN: Duration = Duration::from_secs(8);

/// The parts of a URL.
struct Target {
    bucket: String,
    prefix: Path,
    /// Key and secret.
    credentials: Option<(String, String)>,
    endpoint: Option<String>,
    region: Option<String>,
}

/// Failure to open or to use a bucket.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// The URL is invalid, or its bucket does not exist.
    #[error("{why}")]
    Url {
        /// The fault.
        why: String,
    },
    /// The store refused, or cannot be reached.
    #[error(transparent)]
    Store(#[from] object_store::Error),
}

/// A bucket, or the part of it below a prefix.
#[derive(Clone)]
pub struct Bucket {
    /// The client of its store.
    pub store: Arc<dyn ObjectStore>,
    /// Prefix of all names; may be empty.
    pub prefix: Path,
    /// Store and bucket in words, without credentials.
    pub title: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bucket").field(&self.title).finish()
    }
}

impl Bucket {
    /// Opens the bucket at `s3://[KEY:SECRET@]BUCKET[/PREFIX][?endpoint=http://HOST:PORT&region=NAME]`, with key and
    /// secret percent-encoded; without them they come from the environment (`AWS_*`). Sends nothing.
    ///
    /// # Errors
    /// For an invalid URL. The message does not have the URL.
    pub fn open(url: &str) -> Result<Self, BucketError> {
        let target = target(url)?;
        let at = target.endpoint.as_deref().unwrap_or("Amazon");
        let title = format!("{NAME} at {at}, bucket {}", target.bucket);
        let prefix = target.prefix.clone();
        Ok(Bucket { store: build(target).map_err(|error| bad(error.to_string()))?, prefix, title })
    }

    /// The path of an object below the prefix, by the parts of its name.
    pub fn path<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Path {
        parts.into_iter().fold(self.prefix.clone(), |folder, part| folder.join(part))
    }

    /// Checks that the bucket exists and can be read, by reading an object that need not exist.
    ///
    /// # Errors
    /// If there is no such bucket, or the store refuses or does not answer.
    pub async fn check(&self, object: &Path) -> Result<(), BucketError> {
        match self.store.get(object).await {
            Ok(_) => Ok(()),
            Err(object_store::Error::NotFound { .. }) => {
                // A listing distinguishes a missing object from a missing bucket. Some stores report a missing
                // bucket only for listings, and some users may not list.
                let listed = self.store.list(Some(&self.prefix)).try_next().await;
                let is_missing = listed.is_err_and(|error| error.to_string().contains(NO_BUCKET));
                if is_missing { Err(bad("there is no such bucket")) } else { Ok(()) }
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The error of an invalid URL.
fn bad(why: impl Into<String>) -> BucketError {
    BucketError::Url { why: why.into() }
}

fn target(url: &str) -> Result<Target, BucketError> {
    let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
    let text = |part: &str| {
        let decoded = percent_decode_str(part).decode_utf8().map(String::from);
        decoded.map_err(|_| bad("it is not text"))
    };
    let bucket = parsed.host_str().filter(|host| !host.is_empty());
    let credentials = match (parsed.username(), parsed.password()) {
        ("", None) => None,
        (key, Some(secret)) => Some((text(key)?, text(secret)?)),
        (_, None) => return Err(bad("there is a key and no secret")),
    };
    let mut target = Target {
        bucket: text(bucket.ok_or_else(|| bad("it names no bucket"))?)?,
        prefix: Path::from(text(parsed.path())?),
        credentials,
        endpoint: None,
        region: None,
    };
    for (name, value) in parsed.query_pairs() {
        match &*name {
            "endpoint" => {
                target.endpoint = Some(endpoint(&value).ok_or_else(|| {
                    bad("its endpoint is not http://host:port or https://host, without a user")
                })?)
            }
            "region" => target.region = Some(value.into_owned()),
            _ => return Err(bad("its options can be endpoint and region")),
        }
    }
    Ok(target)
}

fn endpoint(value: &str) -> Option<String> {
    let parsed = Url::parse(value).ok()?;
    let plain = parsed.username().is_empty() && parsed.password().is_none() && parsed.has_host();
    (plain && matches!(parsed.scheme(), "http" | "https")).then(|| value.trim_end_matches('/').to_owned())
}

fn build(target: Target) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry =
        RetryConfig { backoff: BackoffConfig::default(), max_retries: RETRIES, retry_timeout: RETRY_WITHIN };
    // The environment provides only settings missing in the URL: S3's own tools agree on these names for
    // credentials.
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(target.bucket)
        .with_region(target.region.as_deref().unwrap_or(REGION))
        .with_retry(retry)
        .with_http_connector(Connector);
    if let Some(endpoint) = target.endpoint {
        builder = builder.with_allow_http(endpoint.starts_with("http:")).with_endpoint(endpoint);
    }
    if let Some((key, secret)) = target.credentials {
        builder = builder.with_access_key_id(key).with_secret_access_key(secret);
    }
    Ok(Arc::new(builder.build()?))
}

/// Makes the HTTP client, with the TLS provider of the rest of the program.
struct Connector;

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        let generic = |source: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic {
            store: NAME,
            source,
        };
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| generic(error.into()))?)
            .connect_timeout(CONNECT_WITHIN)
            .timeout(REQUEST_WITHIN)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .build();
        Ok(HttpClient::new(client.map_err(|error| generic(error.into()))?))
    }
}

/// TLS with the system's trusted authorities.
fn tls() -> Result<ClientConfig, tokio_rustls::rustls::Error> {
    let mut roots = RootCertStore::empty();
    // An unreadable certificate shows when a peer cannot be verified.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_everything() {
        let read = target("s3://AK:s%2Fe+c@pictures/a/b?endpoint=http://127.0.0.1:9000/&region=lab").unwrap();
        assert_eq!((read.bucket.as_str(), read.prefix.as_ref()), ("pictures", "a/b"));
        assert_eq!(read.credentials, Some(("AK".to_owned(), "s/e+c".to_owned())));
        assert_eq!(read.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(read.region.as_deref(), Some("lab"));
        let read = target("s3://pictures").unwrap();
        assert_eq!((read.prefix.as_ref(), read.credentials, read.endpoint), ("", None, None));
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_without_its_secret() {
        for (url, why) in [
            ("s3://", "names no bucket"),
            ("s3://key@bucket", "no secret"),
            ("s3://k:hunter2@b?endpoint=127.0.0.1", "endpoint is not"),
            ("s3://k:hunter2@b?endpoint=http://u:hunter2@h", "endpoint is not"),
            ("s3://k:hunter2@b?bucket=c", "options can be"),
        ] {
            let Err(error) = target(url) else { panic!("{url} was taken") };
            let says = error.to_string();
            assert!(says.contains(why) && !says.contains("hunter2"), "{says}");
        }
    }
}
