//! The handshake: what the server can do, and what the client asks for.

use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::packet::MOST_BYTES;

/// Version of the protocol.
const VERSION: u8 = 10;

/// Capabilities. Without the first one MariaDB looks for extensions of its own.
const LONG_PASSWORD: u32 = 1;
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const TLS: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRS: u32 = 1 << 20;

/// Capabilities without which nothing here works.
const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;

/// Capabilities that are used where the server has them.
const WANTED: u32 = FOUND_ROWS
    | LONG_FLAG
    | LOCAL_FILES
    | TRANSACTIONS
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | CONNECT_ATTRS;

/// The collation utf8mb4_general_ci, which MySQL and MariaDB have by the same number.
const UTF8MB4: u8 = 45;

/// The name of this program in `performance_schema.session_connect_attrs`.
const ATTRIBUTES: &[u8] = b"\x0cprogram_name\x09barograph";

/// Prefix of versions of MariaDB, for clients that know versions of MySQL only.
const MARIADB: &str = "5.5.5-";

/// Bytes of a nonce.
pub(crate) const NONCE: usize = 20;

/// The first message of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub(crate) version: Box<str>,
    pub(crate) session: u32,
    /// A random number that the answer to a password depends on.
    pub(crate) nonce: [u8; NONCE],
    pub(crate) plugin: Box<str>,
    capabilities: u32,
}

impl Greeting {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Flaw> {
        let mut fields = Fields::new("the handshake", body);
        match fields.byte()? {
            VERSION => {}
            other => return Err(Flaw::Version(other)),
        }
        let version = fields.text()?;
        let session = fields.int4()?;
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(fields.bytes(8)?);
        let _unused = fields.byte()?;
        let low = fields.int2()?;
        let (_charset, _status) = (fields.byte()?, fields.int2()?);
        let capabilities = u32::from(fields.int2()?) << 16 | u32::from(low);
        let missing = NEEDED & !capabilities;
        if missing != 0 {
            return Err(Flaw::Capabilities(missing));
        }
        let (_length, _unused) = (fields.byte()?, fields.bytes(10)?);
        nonce[8..].copy_from_slice(fields.bytes(NONCE - 8)?);
        let _zero = fields.byte()?;
        let plugin = fields.text()?.into();
        let version = version.strip_prefix(MARIADB).unwrap_or(version).into();
        Ok(Greeting { version, session, nonce, plugin, capabilities })
    }

    /// Whether the server speaks TLS.
    pub(crate) fn has_tls(&self) -> bool {
        self.capabilities & TLS != 0
    }
}

/// What the client asks for.
pub(crate) struct Login<'a> {
    pub(crate) user: &'a str,
    /// Empty for none.
    pub(crate) database: &'a str,
    pub(crate) through_tls: bool,
}

impl Login<'_> {
    /// Writes the request for TLS, which is the beginning of the login.
    pub(crate) fn write_head(&self, greeting: &Greeting, out: &mut Vec<u8>) {
        out.extend(self.capabilities(greeting).to_le_bytes());
        out.extend((MOST_BYTES as u32).to_le_bytes());
        out.push(UTF8MB4);
        out.extend([0; 23]);
    }

    /// Writes the login with the first answer of a plugin.
    pub(crate) fn write(&self, greeting: &Greeting, plugin: &str, answer: &[u8], out: &mut Vec<u8>) {
        self.write_head(greeting, out);
        terminated(self.user, out);
        out.push(answer.len() as u8);
        out.extend_from_slice(answer);
        let capabilities = self.capabilities(greeting);
        if capabilities & CONNECT_WITH_DB != 0 {
            terminated(self.database, out);
        }
        terminated(plugin, out);
        if capabilities & CONNECT_ATTRS != 0 {
            out.push(ATTRIBUTES.len() as u8);
            out.extend_from_slice(ATTRIBUTES);
        }
    }

    fn capabilities(&self, greeting: &Greeting) -> u32 {
        let database = if self.database.is_empty() { 0 } else { CONNECT_WITH_DB };
        let tls = if self.through_tls { TLS } else { 0 };
        LONG_PASSWORD | NEEDED | tls | (WANTED | database) & greeting.capabilities
    }
}

fn terminated(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
