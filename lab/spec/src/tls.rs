//! The keys of `[target.tls]`, for workloads with targets over TLS.

use std::path::PathBuf;

use crate::settings_reader::SettingsReader;

/// Trust in a target over TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsPlan {
    /// Whether its certificate is verified.
    pub verify: bool,
    /// A PEM file with the authorities to trust instead of the system's.
    pub authorities: Option<PathBuf>,
    /// The name requested and verified, if it is not the address's host.
    pub server_name: Option<String>,
}

impl TlsPlan {
    /// The keys.
    pub const KEYS: [&str; 3] = ["target.tls.verify", "target.tls.authorities", "target.tls.server_name"];

    /// Reads them; `None` if one is refused.
    pub fn read(given: &mut SettingsReader) -> Option<Self> {
        let [verify, authorities, server_name] = TlsPlan::KEYS;
        let verify = given.flag(verify, true);
        let file = "a PEM file with the authorities to trust, as in \"ca.pem\"";
        let authorities = given.optional_word(authorities, file);
        let server_name = given.optional_word(server_name, "the name in the target's certificate");
        Some(TlsPlan {
            verify: verify?,
            authorities: authorities?.map(PathBuf::from),
            server_name: server_name?,
        })
    }
}
