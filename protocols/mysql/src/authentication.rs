//! Logins: the plugins of the server, and the proofs of a password that they take.

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::answer;
use crate::connection::{Connection, order};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::greeting::{Greeting, Login, NONCE};
use crate::rsa;

const NATIVE: &str = "mysql_native_password";
const SHA2: &str = "caching_sha2_password";

/// What the server says of a password by caching_sha2_password, and what the client may ask for.
const KNOWN: u8 = 3;
const UNKNOWN: u8 = 4;
const ASK_FOR_KEY: u8 = 2;

/// The name of a login in flaws.
const TO: &str = "a login";

/// The reason why a login failed on this side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A plugin that is not spoken here.
    #[error("the server asks for the plugin `{0}`; {NATIVE} and {SHA2} are spoken")]
    Plugin(Box<str>),
    /// A step that does not follow from the one before.
    #[error("a step of the login is out of order")]
    Step,
    /// A key that is none of RSA, or one of a size outside of the limits.
    #[error("the public key of the server cannot be used: it is no key of RSA with 1024 to 8192 bits")]
    Key,
    /// A password that is longer than the key of the server allows.
    #[error("the password is too long for the public key of the server: use ssl-mode=required")]
    Password,
    /// The system gave no random numbers.
    #[error("the system has no random numbers")]
    Random,
}

/// A plugin that is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plugin {
    Native,
    Sha2,
}

/// The state of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The server may ask for another plugin.
    Begun,
    /// It has done so.
    Switched,
    /// The key of the server is awaited.
    Key,
    /// The last answer was sent.
    Answered,
}

struct Exchange<'a> {
    password: &'a [u8],
    /// The connection can carry the password itself: it goes through TLS or a socket in the file system.
    protected: bool,
    plugin: Plugin,
    nonce: [u8; NONCE],
    state: State,
}

/// Sends the login and answers the server until it has taken it.
pub(crate) async fn log_in(
    connection: &mut Connection,
    greeting: &Greeting,
    login: &Login<'_>,
    password: &[u8],
    protected: bool,
) -> Result<(), Fault> {
    let plugin = Plugin::of(&greeting.plugin).unwrap_or(Plugin::Native);
    let mut exchange = Exchange { password, protected, plugin, nonce: greeting.nonce, state: State::Begun };
    let first = exchange.proof();
    connection.answer(|out| login.write(greeting, plugin.name(), &first, out));
    loop {
        let place = connection.message().await?;
        if connection.inbox.bytes(&place)[0] == answer::OK {
            connection.status = answer::ok(connection.inbox.bytes(&place))?.1;
            connection.end();
            return Ok(());
        }
        if let Some(next) = exchange.step(connection.inbox.bytes(&place))? {
            connection.answer(|out| out.extend(next));
        }
    }
}

impl Plugin {
    fn of(name: &str) -> Option<Self> {
        [Plugin::Native, Plugin::Sha2].into_iter().find(|plugin| plugin.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Plugin::Native => NATIVE,
            Plugin::Sha2 => SHA2,
        }
    }
}

impl Exchange<'_> {
    /// The answer to a step of the server; `None` where it awaits none.
    fn step(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        match (body[0], self.state) {
            (answer::END, State::Begun) => self.switch(body).map(Some),
            (answer::MORE, state) if self.plugin == Plugin::Sha2 => self.more(state, &body[1..]),
            (answer::END | answer::MORE, _) => Err(LoginError::Step.into()),
            _ => Err(order(body, TO)),
        }
    }

    /// Begins anew with the plugin that the server asks for.
    fn switch(&mut self, body: &[u8]) -> Result<Vec<u8>, Fault> {
        let mut fields = Fields::new("a change of the plugin", body);
        fields.byte()?;
        let name = fields.text()?;
        self.plugin = Plugin::of(name).ok_or_else(|| LoginError::Plugin(name.into()))?;
        self.nonce = fields.array()?;
        self.state = State::Switched;
        Ok(self.proof())
    }

    fn more(&mut self, state: State, data: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        let (next, answer) = match (state, data) {
            (State::Begun | State::Switched, [KNOWN]) => (State::Answered, None),
            (State::Begun | State::Switched, [UNKNOWN]) if self.protected => {
                (State::Answered, Some(self.terminated()))
            }
            (State::Begun | State::Switched, [UNKNOWN]) => (State::Key, Some(vec![ASK_FOR_KEY])),
            (State::Key, key) => {
                let mut hidden = self.terminated();
                hidden.iter_mut().zip(self.nonce.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
                (State::Answered, Some(rsa::encrypt(&hidden, key)?))
            }
            _ => return Err(LoginError::Step.into()),
        };
        self.state = next;
        Ok(answer)
    }

    fn terminated(&self) -> Vec<u8> {
        [self.password, &[0]].concat()
    }

    /// The proof of the password by the plugin; nothing proves an empty one.
    fn proof(&self) -> Vec<u8> {
        match (self.plugin, self.password) {
            (_, []) => Vec::new(),
            (Plugin::Native, password) => {
                let hash = Sha1::digest(password);
                let stored = Sha1::digest(hash);
                xor(&hash, &Sha1::new().chain_update(self.nonce).chain_update(stored).finalize())
            }
            (Plugin::Sha2, password) => {
                let hash = Sha256::digest(password);
                let stored = Sha256::digest(hash);
                xor(&hash, &Sha256::new().chain_update(stored).chain_update(self.nonce).finalize())
            }
        }
    }
}

fn xor(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rsa::tests::{KEY, decrypt};

    const NONCE_BYTES: &[u8; NONCE] = b"abcdefghijklmnopqrst";

    fn exchange(plugin: Plugin, protected: bool) -> Exchange<'static> {
        Exchange { password: b"pw", protected, plugin, nonce: *NONCE_BYTES, state: State::Begun }
    }

    fn digits(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn proofs_are_hashes_of_password_and_nonce() {
        // Computed by Python's hashlib.
        assert_eq!(
            digits(&exchange(Plugin::Native, false).proof()),
            "12909d72d875523f8c9d6da44cbd3a6c1ce794db"
        );
        assert_eq!(
            digits(&exchange(Plugin::Sha2, false).proof()),
            "ad439090e1914151d1a7f6bf7c21561d283f2fba52fe39ce9dcd29d687813c2c"
        );
        let none = Exchange { password: b"", ..exchange(Plugin::Sha2, false) };
        assert!(none.proof().is_empty());
    }

    #[test]
    fn a_password_is_sent_as_it_is_where_the_connection_hides_it() {
        let mut protected = exchange(Plugin::Sha2, true);
        assert_eq!(protected.step(b"\x01\x04").unwrap().as_deref(), Some(&b"pw\0"[..]));
        let mut clear = exchange(Plugin::Sha2, false);
        assert_eq!(clear.step(b"\x01\x04").unwrap().as_deref(), Some(&[ASK_FOR_KEY][..]));
        let hidden = clear.step(&[&[1], KEY.as_bytes()].concat()).unwrap().unwrap();
        assert_eq!(decrypt(&hidden), [b'p' ^ b'a', b'w' ^ b'b', b'c']);
        let mut known = exchange(Plugin::Sha2, false);
        assert_eq!(known.step(b"\x01\x03").unwrap(), None);
    }

    #[test]
    fn steps_out_of_order_and_plugins_of_others_are_refused() {
        let why = |exchange: &mut Exchange<'_>, body: &[u8]| exchange.step(body).unwrap_err();
        let refused = |fault: Fault| match fault {
            Fault::Login(why) => why,
            other => panic!("{other:?}"),
        };
        let native = || exchange(Plugin::Native, false);
        let sha2 = || exchange(Plugin::Sha2, false);
        let switch = [b"\xfecaching_sha2_password\0", &NONCE_BYTES[..], b"\0"].concat();
        let mut twice = native();
        assert!(twice.step(&switch).is_ok());
        assert_eq!(refused(why(&mut twice, &switch)), LoginError::Step);
        assert_eq!(refused(why(&mut native(), b"\x01\x03")), LoginError::Step);
        assert_eq!(refused(why(&mut sha2(), b"\x01\x05")), LoginError::Step);
        let mut known = sha2();
        known.step(b"\x01\x03").unwrap();
        assert_eq!(refused(why(&mut known, b"\x01\x03")), LoginError::Step);
        let mut asked = sha2();
        asked.step(b"\x01\x04").unwrap();
        assert_eq!(refused(why(&mut asked, b"\x01no key")), LoginError::Key);
        let other = refused(why(&mut native(), b"\xfeclient_ed25519\0abc"));
        assert_eq!(
            other.to_string(),
            "the server asks for the plugin `client_ed25519`; mysql_native_password and caching_sha2_password are spoken"
        );
        let short = why(&mut native(), b"\xfemysql_native_password\0abc");
        assert!(matches!(short, Fault::Flawed(crate::Flaw::Cut("a change of the plugin"))), "{short:?}");
        // The request of servers before 4.1.
        assert!(matches!(why(&mut native(), b"\xfe"), Fault::Flawed(_)));
    }
}
