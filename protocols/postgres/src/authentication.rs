//! Logging in: what the server asks for, and what it must prove.

use std::io;

use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};

use crate::address::Password;
use crate::backend::{Login, Message};
use crate::connection::{Connection, order};
use crate::fault::Fault;
use crate::frontend;

/// Why a login failed on this side.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server wants a password.
    #[error("the server asks for a password, and the address has none: postgres://USER:PASSWORD@HOST")]
    NoPassword,
    /// A method that is not spoken here.
    #[error("the server asks for the method {0}; trust, password, md5 and scram-sha-256 are spoken")]
    Method(i32),
    /// Mechanisms that are not spoken here.
    #[error("the server offers none of the mechanisms SCRAM-SHA-256 and SCRAM-SHA-256-PLUS")]
    Mechanisms,
    /// The exchange went wrong, or the server does not know the password either.
    #[error("the exchange of SCRAM-SHA-256 failed")]
    Scram(#[source] io::Error),
    /// The server ended the exchange before it proved that it knows the password.
    #[error("the server took the login without a proof that it knows the password")]
    Unproven,
}

impl From<LoginError> for Fault {
    fn from(why: LoginError) -> Self {
        Fault::Login(why)
    }
}

/// User and password, and what binds the login to its connection.
pub(crate) struct Credentials<'a> {
    pub(crate) user: &'a str,
    pub(crate) password: Option<&'a Password>,
    /// The hash of the server's certificate, where the connection goes through TLS.
    pub(crate) binding: Option<Vec<u8>>,
}

/// How far an exchange is.
enum Exchange {
    None,
    /// A password was sent.
    Password,
    Scram(Box<ScramSha256>),
    /// The server has proved that it knows the password.
    Proven,
}

/// Answers the server until it has taken the login.
pub(crate) async fn log_in(connection: &mut Connection, who: &Credentials<'_>) -> Result<(), Fault> {
    let mut exchange = Exchange::None;
    loop {
        let arrival = connection.message().await?;
        let mut out = Vec::new();
        match connection.read(&arrival)? {
            Message::Login(Login::Done) => {
                return match exchange {
                    Exchange::Scram(_) => Err(LoginError::Unproven.into()),
                    Exchange::None | Exchange::Password | Exchange::Proven => Ok(()),
                };
            }
            Message::Login(step) => exchange = answer(step, exchange, who, &mut out)?,
            Message::Error(body) => return Err(Fault::Refused(crate::Diagnostic::read(b'E', body)?)),
            _ => return Err(order(&arrival, "a login")),
        }
        if !out.is_empty() {
            connection.out = out;
            connection.send();
        }
    }
}

/// Writes the answer to a step.
fn answer(
    step: Login<'_>,
    exchange: Exchange,
    who: &Credentials<'_>,
    out: &mut Vec<u8>,
) -> Result<Exchange, LoginError> {
    let password = || who.password.map(|password| password.0.as_bytes()).ok_or(LoginError::NoPassword);
    match (step, exchange) {
        (Login::ClearText, Exchange::None) => {
            frontend::password(out, password()?);
            Ok(Exchange::Password)
        }
        (Login::Md5 { salt }, Exchange::None) => {
            frontend::password(out, md5_hash(who.user.as_bytes(), password()?, salt).as_bytes());
            Ok(Exchange::Password)
        }
        (Login::Sasl { mechanisms }, Exchange::None) => {
            let (mechanism, binding) = choose(mechanisms, who.binding.as_deref())?;
            let scram = ScramSha256::new(password()?, binding);
            frontend::sasl_initial(out, mechanism, scram.message());
            Ok(Exchange::Scram(Box::new(scram)))
        }
        (Login::SaslContinue(data), Exchange::Scram(mut scram)) => {
            scram.update(data).map_err(LoginError::Scram)?;
            frontend::sasl(out, scram.message());
            Ok(Exchange::Scram(scram))
        }
        (Login::SaslFinal(data), Exchange::Scram(mut scram)) => {
            scram.finish(data).map_err(LoginError::Scram)?;
            Ok(Exchange::Proven)
        }
        (Login::Other(code), _) => Err(LoginError::Method(code)),
        _ => Err(LoginError::Scram(io::Error::other("a step of the login is out of order"))),
    }
}

/// The best of the server's mechanisms, and what binds it to the connection.
fn choose(mechanisms: &[u8], binding: Option<&[u8]>) -> Result<(&'static str, ChannelBinding), LoginError> {
    let offers = |name: &str| mechanisms.split(|byte| *byte == 0).any(|offered| offered == name.as_bytes());
    match binding {
        Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
            Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash.to_vec())))
        }
        _ if !offers(SCRAM_SHA_256) => Err(LoginError::Mechanisms),
        // It says so: a server that has offered more sees that its offer was removed on the way.
        Some(_) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        None => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";

    /// The mechanism that is chosen, and how its first message begins.
    fn chosen(mechanisms: &[u8], binding: Option<&[u8]>) -> Option<(&'static str, String)> {
        let (mechanism, binding) = choose(mechanisms, binding).ok()?;
        let first = String::from_utf8(ScramSha256::new(b"pw", binding).message().to_vec()).unwrap();
        Some((mechanism, first.split("n=").next().unwrap().to_owned()))
    }

    #[test]
    fn a_login_is_bound_to_its_connection_where_both_sides_can() {
        let hash = Some(&[7; 32][..]);
        assert_eq!(chosen(BOTH, hash), Some((SCRAM_SHA_256_PLUS, "p=tls-server-end-point,,".to_owned())));
        assert_eq!(chosen(PLAIN, hash), Some((SCRAM_SHA_256, "y,,".to_owned())));
        assert_eq!(chosen(BOTH, None), Some((SCRAM_SHA_256, "n,,".to_owned())));
        assert_eq!(chosen(b"SCRAM-SHA-256-PLUS\0\0", None), None);
        assert_eq!(chosen(b"OTHER\0\0", hash), None);
    }

    #[test]
    fn steps_out_of_order_and_methods_of_others_are_refused() {
        let password = Password("pw".to_owned());
        let who = Credentials { user: "me", password: Some(&password), binding: None };
        let asked =
            |step, exchange| answer(step, exchange, &who, &mut Vec::new()).err().map(|why| why.to_string());
        let out_of_order = Some("the exchange of SCRAM-SHA-256 failed".to_owned());
        assert_eq!(asked(Login::SaslContinue(b"r=x"), Exchange::None), out_of_order);
        assert_eq!(asked(Login::SaslFinal(b"v=x"), Exchange::Proven), out_of_order);
        assert_eq!(asked(Login::ClearText, Exchange::Password), out_of_order);
        let scram = || Exchange::Scram(Box::new(ScramSha256::new(b"pw", ChannelBinding::unsupported())));
        assert_eq!(asked(Login::SaslContinue(b"r=another,s=AAAA,i=4096"), scram()), out_of_order);
        // One that would keep the worker busy for hours.
        assert_eq!(asked(Login::SaslContinue(b"r=x,s=AAAA,i=4294967295"), scram()), out_of_order);
        assert_eq!(
            asked(Login::Other(7), Exchange::None).unwrap(),
            "the server asks for the method 7; trust, password, md5 and scram-sha-256 are spoken"
        );
        assert_eq!(asked(Login::ClearText, Exchange::None), None);
    }
}
