//! The settings of an address by their keys, before they are checked together.

use crate::address::{Address, AddressError, Host, Password, SslMode, port};

/// The name of this program in the server's lists.
const APPLICATION: &str = "barograph";

/// Settings by the order of [`Settings::KEYS`]; an empty one is as good as none.
#[derive(Default)]
pub(crate) struct Settings([String; 8]);

impl Settings {
    /// The keys.
    pub(crate) const KEYS: [&'static str; 8] =
        ["host", "port", "user", "dbname", "sslmode", "sslrootcert", "application_name", "options"];

    /// Takes a value; one that is there already stays alone.
    pub(crate) fn set(&mut self, key: &str, value: String) -> Result<(), AddressError> {
        if key == "password" {
            return Err(AddressError::Password);
        }
        let Some(at) = Self::KEYS.iter().position(|known| *known == key) else {
            return Err(AddressError::Key { key: key.to_owned() });
        };
        if !self.0[at].is_empty() && !value.is_empty() {
            return Err(AddressError::Twice { key: Self::KEYS[at] });
        }
        if !value.is_empty() {
            self.0[at] = value;
        }
        Ok(())
    }

    /// The address that they make.
    pub(crate) fn address(self, password: Option<Password>) -> Result<Address, AddressError> {
        let [host, number, user, database, mode, authorities, application, options] = self.0;
        if user.is_empty() {
            return Err(AddressError::User);
        }
        let port = port(&number)?;
        let (name, tls) = ssl_mode(mode)?;
        let host = match host {
            folder if folder.starts_with('/') => Host::Unix { folder: folder.into(), port },
            several if several.contains(',') => return Err(host_error(several)),
            name if name.is_empty() => Host::Tcp { name: "localhost".to_owned(), port },
            name => Host::Tcp { name, port },
        };
        if matches!(host, Host::Unix { .. }) && tls != SslMode::Disable {
            return Err(AddressError::Socket(name));
        }
        let or = |text: String, other: &str| if text.is_empty() { other.to_owned() } else { text };
        Ok(Address {
            database: or(database, &user),
            application: or(application, APPLICATION),
            authorities: (!authorities.is_empty()).then(|| authorities.into()),
            options: (!options.is_empty()).then_some(options),
            host,
            user,
            password,
            tls,
        })
    }
}

fn host_error(value: String) -> AddressError {
    AddressError::Value { key: "host", value, allowed: "one name, address or folder that begins with /" }
}

fn ssl_mode(value: String) -> Result<(&'static str, SslMode), AddressError> {
    if value.is_empty() {
        return Ok(SslMode::ALL[0]);
    }
    let found = SslMode::ALL.into_iter().find(|(name, _)| *name == value);
    found.ok_or(AddressError::Value { key: "sslmode", value, allowed: "disable, require or verify-full" })
}
