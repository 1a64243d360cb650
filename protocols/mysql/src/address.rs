//! Addresses of servers: `mysql://` and `mariadb://` URLs.

use std::fmt;
use std::path::PathBuf;

use barograph_model::secret::MASK;
use percent_encoding::percent_decode_str;

/// The port where none is named.
const PORT: u16 = 3306;

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
    /// A socket in the file system.
    Unix(PathBuf),
}

/// What TLS is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SslMode {
    /// None.
    #[default]
    Disabled,
    /// TLS with any server.
    Required,
    /// TLS with a server whose certificate has the host's name and leads to a trusted authority.
    VerifyIdentity,
}

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub(crate) String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A server, its database, and the user of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Where the server listens.
    pub host: Host,
    /// The user.
    pub user: String,
    /// The password.
    pub password: Option<Password>,
    /// The database; empty for none.
    pub database: String,
    /// What TLS is asked for.
    pub tls: SslMode,
    /// A file with the certificates of trusted authorities, instead of the system's.
    pub authorities: Option<PathBuf>,
}

/// An address that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No URL of the protocol.
    #[error("the address of a server begins with mysql:// or mariadb://")]
    Form,
    /// A URL in which parts cannot be told apart.
    #[error("a user or a password with one of `/?#@` has it percent-encoded: %2F, %3F, %23, %40")]
    Encoding,
    /// A key that is unknown.
    #[error("unknown key `{key}`; allowed are {}", KEYS.join(", "))]
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
    /// A password in a place where it would be shown.
    #[error("a password stands before the host, where it is masked: mysql://USER:PASSWORD@HOST")]
    Password,
    /// No user.
    #[error("no user is named: mysql://USER@HOST")]
    User,
    /// A host beside a socket.
    #[error("a socket in the file system is on this machine: leave the host `{0}` out")]
    Socket(String),
    /// TLS over a socket.
    #[error("a socket in the file system has no TLS; `ssl-mode` allows disabled with it")]
    SocketTls,
}

/// Keys of the query.
const KEYS: [&str; 3] = ["socket", "ssl-mode", "ssl-ca"];

impl Address {
    /// Reads `mysql://USER[:PASSWORD]@[HOST[:PORT]][/DATABASE][?KEY=VALUE&...]`. The keys are `socket`, the path of a
    /// socket in place of a host, `ssl-mode` and `ssl-ca`. Without a host it is `localhost` over TCP, without a port 3306,
    /// without an `ssl-mode` there is no TLS.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let Some(("mysql" | "mariadb", rest)) = text.split_once("://") else {
            return Err(AddressError::Form);
        };
        let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let Some((login, place)) = authority.rsplit_once('@') else {
            return Err(if after.contains('@') { AddressError::Encoding } else { AddressError::User });
        };
        if login.contains('@') {
            return Err(AddressError::Encoding);
        }
        let (user, password) = login.split_once(':').map_or((login, None), |(user, it)| (user, Some(it)));
        if user.is_empty() {
            return Err(AddressError::User);
        }
        let (path, query) = after.split_once('?').unwrap_or((after, ""));
        let [socket, mode, authorities] = settings(query)?;
        let tls = ssl_mode(&mode)?;
        Ok(Address {
            host: host(place, socket, tls)?,
            user: decoded(user)?,
            password: password.map(|password| decoded(password).map(Password)).transpose()?,
            database: decoded(path.strip_prefix('/').unwrap_or(path))?,
            tls,
            authorities: (!authorities.is_empty()).then(|| authorities.into()),
        })
    }
}

impl fmt::Display for Address {
    /// Without the password: what may be shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { user, database, .. } = self;
        match &self.host {
            Host::Tcp { name, port } if name.contains(':') => {
                write!(f, "mysql://{user}@[{name}]:{port}/{database}")
            }
            Host::Tcp { name, port } => write!(f, "mysql://{user}@{name}:{port}/{database}"),
            Host::Unix(path) => write!(f, "mysql://{user}@/{database}?socket={}", path.display()),
        }
    }
}

/// The values of the keys of a query, in their order; empty ones where none is named.
fn settings(query: &str) -> Result<[String; 3], AddressError> {
    let mut values = [const { String::new() }; 3];
    for setting in query.split('&').filter(|setting| !setting.is_empty()) {
        let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
        if key == "password" {
            return Err(AddressError::Password);
        }
        let at = KEYS.iter().position(|known| *known == key);
        values[at.ok_or_else(|| AddressError::Key { key: key.to_owned() })?] = decoded(value)?;
    }
    Ok(values)
}

fn host(place: &str, socket: String, tls: SslMode) -> Result<Host, AddressError> {
    let (name, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((v6, rest)) => (v6, rest.strip_prefix(':')),
        None => place.split_once(':').map_or((place, None), |(name, port)| (name, Some(port))),
    };
    match (socket.is_empty(), name) {
        (true, "") => Ok(Host::Tcp { name: "localhost".to_owned(), port: self::port(port)? }),
        (true, name) => Ok(Host::Tcp { name: decoded(name)?, port: self::port(port)? }),
        (false, "" | "localhost") if tls == SslMode::Disabled => Ok(Host::Unix(socket.into())),
        (false, "" | "localhost") => Err(AddressError::SocketTls),
        (false, name) => Err(AddressError::Socket(name.to_owned())),
    }
}

fn port(port: Option<&str>) -> Result<u16, AddressError> {
    let Some(value) = port else { return Ok(PORT) };
    value.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Value {
        key: "port",
        value: value.to_owned(),
        allowed: "a number from 1 to 65535",
    })
}

fn ssl_mode(value: &str) -> Result<SslMode, AddressError> {
    match value {
        "" | "disabled" => Ok(SslMode::Disabled),
        "required" => Ok(SslMode::Required),
        "verify-identity" => Ok(SslMode::VerifyIdentity),
        value => Err(AddressError::Value {
            key: "ssl-mode",
            value: value.to_owned(),
            allowed: "disabled, required or verify-identity",
        }),
    }
}

/// A text without percent signs before digits. A zero byte would end it in the protocol.
fn decoded(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| AddressError::Encoding)?;
    if decoded.contains('\0') { Err(AddressError::Encoding) } else { Ok(decoded.into_owned()) }
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
        let all = parse("mariadb://me:p%40s%2Fs@h:4406/shop?ssl-mode=verify-identity&ssl-ca=a%20b.pem");
        let expected = Address {
            host: tcp("h", 4406),
            user: "me".to_owned(),
            password: Some(Password("p@s/s".to_owned())),
            database: "shop".to_owned(),
            tls: SslMode::VerifyIdentity,
            authorities: Some("a b.pem".into()),
        };
        assert_eq!(all, expected);
        let short = parse("mysql://me@");
        assert_eq!((&short.host, &*short.database), (&tcp("localhost", 3306), ""));
        assert_eq!((short.password, short.tls), (None, SslMode::Disabled));
        assert_eq!(parse("mysql://me@[::1]:7/").host, tcp("::1", 7));
        assert_eq!(parse("mysql://me@[::1]:7/d").to_string(), "mysql://me@[::1]:7/d");
    }

    #[test]
    fn a_socket_is_named_by_its_path() {
        for text in ["mysql://me@/d?socket=/run/m.sock", "mysql://me@localhost/d?socket=%2Frun%2Fm.sock"] {
            assert_eq!(parse(text).host, Host::Unix("/run/m.sock".into()), "{text}");
            assert_eq!(parse(text).to_string(), "mysql://me@/d?socket=/run/m.sock");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let address = parse("mysql://me:s3cret@h/d");
        assert_eq!(address.to_string(), "mysql://me@h:3306/d");
        assert!(!format!("{address:?}").contains("s3cret"), "{address:?}");
        for text in [
            "mysql://me@h/d?password=s3cret",
            "mysql://me:s3c/ret@h/d",
            "mysql://me:s3c?ret@h/d",
            "mysql://me:s3c#ret@h/d",
            "mysql://me:s3c@ret@h/d",
        ] {
            assert!(!why(text).contains("s3c") && !why(text).contains("ret@"), "{}", why(text));
        }
    }

    #[test]
    fn a_text_that_cannot_be_read_says_key_value_and_what_is_allowed() {
        for (text, expected) in [
            ("", "the address of a server begins with mysql:// or mariadb://"),
            ("postgres://me@h", "the address of a server begins with mysql:// or mariadb://"),
            ("mysql://h/d", "no user is named: mysql://USER@HOST"),
            ("mysql://@h/d", "no user is named: mysql://USER@HOST"),
            ("mysql://me@h:0", "`port` is `0`; allowed is a number from 1 to 65535"),
            ("mysql://me@h:x", "`port` is `x`; allowed is a number from 1 to 65535"),
            (
                "mysql://me@h?ssl-mode=preferred",
                "`ssl-mode` is `preferred`; allowed is disabled, required or verify-identity",
            ),
            ("mysql://me@h?ssl=on", "unknown key `ssl`; allowed are socket, ssl-mode, ssl-ca"),
            ("mysql://me@h/%00", "a user or a password with one of"),
            (
                "mysql://me@h/?socket=/s",
                "a socket in the file system is on this machine: leave the host `h` out",
            ),
            ("mysql://me@/?socket=/s&ssl-mode=required", "a socket in the file system has no TLS"),
        ] {
            assert!(why(text).starts_with(expected), "{text}: {}", why(text));
        }
    }
}
