//! Addresses of servers: `postgres://` URLs, and lists of settings such as `host=/run/postgresql user=me`.

use std::fmt;
use std::path::PathBuf;

use barograph_model::secret::MASK;
use percent_encoding::percent_decode_str;

use crate::settings::Settings;

/// The port where none is named.
const PORT: u16 = 5432;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name or an address, and a port.
    Tcp {
        /// Name or address, without brackets.
        name: String,
        /// Port.
        port: u16,
    },
    /// A socket in a folder; its name has the port.
    Unix {
        /// The folder.
        folder: PathBuf,
        /// Port.
        port: u16,
    },
}

/// What TLS is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SslMode {
    /// None.
    #[default]
    Disable,
    /// TLS with any server.
    Require,
    /// TLS with a server whose certificate has the host's name and leads to a trusted authority.
    VerifyFull,
}

impl SslMode {
    /// All modes by their names.
    pub(crate) const ALL: [(&str, SslMode); 3] =
        [("disable", SslMode::Disable), ("require", SslMode::Require), ("verify-full", SslMode::VerifyFull)];
}

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub(crate) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A database of a server, and who asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where the server listens.
    pub host: Host,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<Password>,
    /// The database.
    pub database: String,
    /// What TLS is asked for.
    pub tls: SslMode,
    /// A file with the certificates of trusted authorities, instead of the system's.
    pub authorities: Option<PathBuf>,
    /// The name of this program in the server's lists.
    pub application: String,
    /// Options of the session, as `-c statement_timeout=5s`.
    pub options: Option<String>,
}

/// An address that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither a URL nor a list.
    #[error(
        "the address of a server begins with postgres:// or is a list such as `host=/run/postgresql user=me`"
    )]
    Form,
    /// A URL in which parts cannot be told apart.
    #[error("a user or a password with one of `/?#@` has it percent-encoded: %2F, %3F, %23, %40")]
    Encoding,
    /// A key that is unknown.
    #[error("unknown key `{key}`; allowed are {}", Settings::KEYS.join(", "))]
    Key {
        /// The key.
        key: String,
    },
    /// A value that the key does not take.
    #[error("`{key}` is `{value}`; allowed is {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A key with two values.
    #[error("`{key}` is named twice")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// A password where it would be shown.
    #[error("a password stands in a URL only, where it is masked: postgres://USER:PASSWORD@HOST")]
    Password,
    /// No user.
    #[error("no user is named: postgres://USER@HOST, or user=USER")]
    User,
    /// TLS over a socket.
    #[error("`sslmode` is `{0}`, and a socket in the file system has no TLS; allowed is disable")]
    Socket(&'static str),
}

impl Address {
    /// Reads `postgres://USER[:PASSWORD]@HOST[:PORT][/DATABASE][?KEY=VALUE&...]`, or `KEY=VALUE` with blanks between. The
    /// keys are `host`, `port`, `user`, `dbname`, `sslmode`, `sslrootcert`, `application_name` and `options`; a host that
    /// begins with `/` is the folder of a socket. Without a host it is `localhost`, without a port 5432, without a
    /// database that of the user's name, without an `sslmode` there is no TLS.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (settings, password) = match text.split_once("://") {
            Some(("postgres" | "postgresql", rest)) => url(rest)?,
            Some(_) => return Err(AddressError::Form),
            None => (list(text)?, None),
        };
        settings.address(password)
    }

    /// What a session begins with.
    pub(crate) fn settings(&self) -> Vec<(&str, &str)> {
        let mut settings = vec![
            ("user", &*self.user),
            ("database", &self.database),
            ("application_name", &self.application),
            ("client_encoding", "UTF8"),
        ];
        settings.extend(self.options.as_deref().map(|options| ("options", options)));
        settings
    }
}

impl fmt::Display for Address {
    /// Without the password: what may be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { user, database, .. } = self;
        match &self.host {
            Host::Tcp { name, port } if name.contains(':') => {
                write!(f, "postgres://{user}@[{name}]:{port}/{database}")
            }
            Host::Tcp { name, port } => write!(f, "postgres://{user}@{name}:{port}/{database}"),
            Host::Unix { folder, port } => {
                write!(f, "host={} port={port} user={user} dbname={database}", folder.display())
            }
        }
    }
}

fn url(rest: &str) -> Result<(Settings, Option<Password>), AddressError> {
    let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let mut settings = Settings::default();
    let mut password = None;
    let place = match authority.rsplit_once('@') {
        Some((login, _)) if login.contains('@') => return Err(AddressError::Encoding),
        Some((login, place)) => {
            let (user, secret) = login.split_once(':').map_or((login, None), |(user, it)| (user, Some(it)));
            password = secret.map(|secret| decoded(secret).map(Password)).transpose()?;
            settings.set("user", decoded(user)?)?;
            place
        }
        None if after.contains('@') => return Err(AddressError::Encoding),
        None => authority,
    };
    let (host, port) = host_and_port(place);
    settings.set("host", decoded(host)?)?;
    settings.set("port", port.unwrap_or_default().to_owned())?;
    let (path, query) = after.split_once('?').unwrap_or((after, ""));
    settings.set("dbname", decoded(path.strip_prefix('/').unwrap_or(path))?)?;
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        settings.set(&decoded(key)?, decoded(value)?)?;
    }
    Ok((settings, password))
}

fn list(text: &str) -> Result<Settings, AddressError> {
    let mut settings = Settings::default();
    for setting in text.split_whitespace() {
        let (key, value) = setting.split_once('=').ok_or(AddressError::Form)?;
        settings.set(key, value.to_owned())?;
    }
    if text.trim().is_empty() { Err(AddressError::Form) } else { Ok(settings) }
}

/// Host and port of a URL; an IPv6 address stands in brackets.
fn host_and_port(place: &str) -> (&str, Option<&str>) {
    match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, rest)) => (v6, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    }
}

/// A text without percent signs before digits. A zero byte would end it in the protocol.
fn decoded(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| AddressError::Encoding)?;
    if decoded.contains('\0') { Err(AddressError::Encoding) } else { Ok(decoded.into_owned()) }
}

pub(crate) fn port(value: &str) -> Result<u16, AddressError> {
    match value {
        "" => Ok(PORT),
        value => value.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Value {
            key: "port",
            value: value.to_owned(),
            allowed: "a number from 1 to 65535",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    fn why(text: &str) -> String {
        Address::parse(text).unwrap_err().to_string()
    }

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.to_owned(), port }
    }

    #[test]
    fn a_url_names_host_user_database_and_settings() {
        let all = parse(
            "postgresql://me:p%40s%2Fs@h:6432/shop?sslmode=verify-full&sslrootcert=ca.pem\
             &application_name=a%20b&options=-c%20jit%3Doff",
        );
        let expected = Address {
            host: tcp("h", 6432),
            user: "me".to_owned(),
            password: Some(Password("p@s/s".to_owned())),
            database: "shop".to_owned(),
            tls: SslMode::VerifyFull,
            authorities: Some("ca.pem".into()),
            application: "a b".to_owned(),
            options: Some("-c jit=off".to_owned()),
        };
        assert_eq!(all, expected);
        let short = parse("postgres://me@");
        assert_eq!((&short.host, &*short.database), (&tcp("localhost", 5432), "me"));
        assert_eq!((short.password, short.tls), (None, SslMode::Disable));
        assert_eq!(parse("postgres://me@[::1]:7/").host, tcp("::1", 7));
        assert_eq!(parse("postgres://h/d?user=me").user, "me");
    }

    #[test]
    fn a_socket_is_named_by_its_folder() {
        let socket = Host::Unix { folder: "/run/postgresql".into(), port: 5432 };
        for text in [
            "host=/run/postgresql user=me",
            "postgres://me@%2Frun%2Fpostgresql",
            "postgres://me@/?host=/run/postgresql",
            "  user=me   host=/run/postgresql dbname=me port=5432 ",
        ] {
            assert_eq!(parse(text).host, socket, "{text}");
            assert_eq!(parse(text).to_string(), "host=/run/postgresql port=5432 user=me dbname=me");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let address = parse("postgres://me:s3cret@h/d");
        assert_eq!(address.to_string(), "postgres://me@h:5432/d");
        assert!(!format!("{address:?}").contains("s3cret"), "{address:?}");
        assert_eq!(barograph_model::secret::masked("postgres://me:s3cret@h/d"), "postgres://me:***@h/d");
        for text in [
            "host=h user=me password=s3cret",
            "postgres://me@h/d?password=s3cret",
            "postgres://me:s3c/ret@h/d",
            "postgres://me:s3c?ret@h/d",
            "postgres://me:s3c#ret@h/d",
            "postgres://me:s3c@ret@h/d",
        ] {
            assert!(!why(text).contains("s3c") && !why(text).contains("ret@"), "{}", why(text));
        }
    }

    #[test]
    fn what_cannot_be_read_says_key_value_and_what_is_allowed() {
        for (text, expected) in [
            ("", "the address of a server begins with postgres:// or is a list such as"),
            ("mysql://me@h", "the address of a server begins with postgres:// or is a list such as"),
            ("localhost", "the address of a server begins with postgres:// or is a list such as"),
            ("postgres://h/d", "no user is named: postgres://USER@HOST, or user=USER"),
            ("postgres://me@h:0", "`port` is `0`; allowed is a number from 1 to 65535"),
            ("postgres://me@h:x", "`port` is `x`; allowed is a number from 1 to 65535"),
            (
                "postgres://me@a,b",
                "`host` is `a,b`; allowed is one name, address or folder that begins with /",
            ),
            (
                "postgres://me@h?sslmode=prefer",
                "`sslmode` is `prefer`; allowed is disable, require or verify-full",
            ),
            ("postgres://me@h?ssl=on", "unknown key `ssl`; allowed are host, port, user, dbname, sslmode,"),
            ("postgres://me@h?host=i", "`host` is named twice"),
            ("postgres://me@h/%00", "a user or a password with one of"),
            (
                "host=/run user=me sslmode=require",
                "`sslmode` is `require`, and a socket in the file system has no TLS; allowed is disable",
            ),
        ] {
            assert!(why(text).starts_with(expected), "{text}: {}", why(text));
        }
    }
}
