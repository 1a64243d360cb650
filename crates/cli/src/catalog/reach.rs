//! A look at a target before any load: whoever typed a wrong port or trusts the wrong authority learns it at once, and
//! not from ten seconds of failures.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use barograph_http::{Fault, Resolved};

/// Why there is nobody to talk to.
type Why = Box<dyn Error + Send + Sync>;

/// Nothing that is reachable takes longer.
const LONGEST: Duration = Duration::from_secs(10);

/// Largest file of certificates: a system's whole list is a tenth of it.
const MOST_CERTIFICATES: u64 = 4 << 20;

/// Connects once to each address of a target, through TLS where it is asked for, and keeps those that answer: a name
/// such as `localhost` often has one at which nobody listens. Blocks.
pub(crate) fn answering(target: &Resolved, timeout: Duration) -> Result<Resolved, Why> {
    let timeout = timeout.min(LONGEST);
    let silent = |why: &std::io::Error| why.kind() == ErrorKind::TimedOut;
    match target.probe(timeout) {
        Ok(probed) => Ok(probed.resolved),
        Err(Fault::Connect { to, why }) if silent(&why) && target.target().is_tls() => {
            let within = timeout.as_secs_f64();
            Err(format!("no TLS session with {to} within {within} s; is this the right port?").into())
        }
        Err(Fault::Connect { to, why }) => {
            Err(format!("connect to {to}: {why}; is it started, and is this its address?").into())
        }
        Err(why) => Err(why.into()),
    }
}

/// The certificates of authorities in a PEM file.
pub(crate) fn certificates(file: &Path) -> anyhow::Result<Arc<[u8]>> {
    let reading = || format!("read the certificates in `{}`", file.display());
    let length = std::fs::metadata(file).with_context(reading)?.len();
    if length > MOST_CERTIFICATES {
        return Err(anyhow!("{}: {length} bytes are too many", reading()));
    }
    Ok(Arc::from(std::fs::read(file).with_context(reading)?))
}
