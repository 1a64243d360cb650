//! Address of the bus. Passwords never appear in any text.

use std::fmt;
use std::str::FromStr;

use crate::Hub;

/// Default port of AMQP.
const AMQP_PORT: u16 = 5672;
/// Default port of NATS.
const NATS_PORT: u16 = 4222;

/// The longest part of an address: the limit of AMQP's short strings.
const MAX_PART_BYTES: usize = 255;

/// Address of the bus: `in-process`, `amqp://user:password@host:port/vhost` or
/// `nats://user:password@host:port`, or several of the latter two, separated by spaces.
///
/// Each parse of `in-process` makes a new hub; clones share it. User, password and vhost may be
/// percent-encoded. Optional are the port, the user (RabbitMQ's `guest`), the vhost (`/`). A NATS user
/// without a password is a token.
#[derive(Clone)]
pub struct BusUrl(pub(crate) UrlKind);

#[derive(Clone)]
pub(crate) enum UrlKind {
    InProcess(Hub),
    Amqp(Server),
    Nats(Server),
    /// At least two servers.
    Several(Vec<BusUrl>),
}

/// A server with its credentials. No `Debug`: it holds the password.
#[derive(Clone)]
pub(crate) struct Server {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    /// The part after the slash, RabbitMQ only.
    pub(crate) vhost: String,
}

/// An invalid address of a bus. The text may hold a password, so it is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    /// Not one of the three kinds.
    #[error(
        "failed to read the bus: write in-process, amqp://user:password@host:port/vhost or nats://host:port"
    )]
    Kind,
    /// A missing or too long host.
    #[error("failed to read the host of the bus")]
    Host,
    /// Several addresses, one of which is `in-process`.
    #[error("failed to read the bus: in-process is no server beside others")]
    Several,
    /// An invalid port.
    #[error("failed to read the port of the bus: 1 to 65535")]
    Port,
    /// A percent sign without two hexadecimal digits, bytes that are not UTF-8, or more than 255 bytes.
    #[error("failed to read user, password or vhost of the bus")]
    Part,
}

impl BusUrl {
    /// The address of a bus through this hub.
    pub fn in_process(hub: &Hub) -> BusUrl {
        BusUrl(UrlKind::InProcess(hub.clone()))
    }
}

impl FromStr for BusUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<BusUrl, BadUrl> {
        if text == "in-process" {
            return Ok(BusUrl(UrlKind::InProcess(Hub::new())));
        }
        let text = text.trim();
        if text.contains(' ') {
            let urls: Vec<BusUrl> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
            let is_hub = |url: &BusUrl| matches!(url.0, UrlKind::InProcess(_));
            return match urls.iter().any(is_hub) {
                true => Err(BadUrl::Several),
                false => Ok(BusUrl(UrlKind::Several(urls))),
            };
        }
        match text.split_once("://") {
            Some(("amqp", rest)) => Ok(BusUrl(UrlKind::Amqp(server(rest, AMQP_PORT)?))),
            Some(("nats", rest)) => Ok(BusUrl(UrlKind::Nats(server(rest, NATS_PORT)?))),
            _ => Err(BadUrl::Kind),
        }
    }
}

impl fmt::Display for BusUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            UrlKind::InProcess(_) => f.write_str("in-process"),
            UrlKind::Amqp(server) => write!(f, "amqp://{server}/{}", server.vhost),
            UrlKind::Nats(server) => write!(f, "nats://{server}"),
            UrlKind::Several(urls) => {
                let texts: Vec<String> = urls.iter().map(BusUrl::to_string).collect();
                f.write_str(&texts.join(" "))
            }
        }
    }
}

impl fmt::Debug for BusUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BusUrl({self})")
    }
}

/// Host and port only.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

fn server(rest: &str, usual_port: u16) -> Result<Server, BadUrl> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, place) = match authority.rsplit_once('@') {
        Some((who, place)) => (Some(who), place),
        None => (None, authority),
    };
    let (host, port) = host_and_port(place, usual_port)?;
    let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
        Some((user, "")) => (Some(decoded(user)?), None),
        Some((user, password)) => (Some(decoded(user)?), Some(decoded(password)?)),
        None => (None, None),
    };
    Ok(Server { host, port, user, password, vhost: decoded(path)? })
}

fn host_and_port(place: &str, usual_port: u16) -> Result<(String, u16), BadUrl> {
    let (host, port) = match place.strip_prefix('[') {
        Some(inside) => {
            let (host, after) = inside.split_once(']').ok_or(BadUrl::Host)?;
            let port =
                if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or(BadUrl::Port)?) };
            (host, port)
        }
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() || host.len() > MAX_PART_BYTES {
        return Err(BadUrl::Host);
    }
    let port = match port {
        None => usual_port,
        Some(text) => text.parse().ok().filter(|port| *port != 0).ok_or(BadUrl::Port)?,
    };
    Ok((host.to_owned(), port))
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, BadUrl> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (pair, after) = rest.split_at_checked(2).ok_or(BadUrl::Part)?;
        let digit = |b: u8| char::from(b).to_digit(16);
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else { return Err(BadUrl::Part) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| BadUrl::Part)?);
        rest = after;
    }
    if bytes.len() > MAX_PART_BYTES || bytes.contains(&0) {
        return Err(BadUrl::Part);
    }
    String::from_utf8(bytes).map_err(|_| BadUrl::Part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Server {
        match text.parse::<BusUrl>().expect("a good address").0 {
            UrlKind::Amqp(server) | UrlKind::Nats(server) => server,
            UrlKind::InProcess(_) | UrlKind::Several(_) => panic!("{text} is one server"),
        }
    }

    #[test]
    fn addresses_are_read() {
        let full = read("amqp://us%65r:p%40ss%2Fw@broker:15672/%2Fa");
        assert_eq!((full.host.as_str(), full.port, full.vhost.as_str()), ("broker", 15672, "/a"));
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("user"), Some("p@ss/w")));
        let short = read("nats://[::1]");
        assert_eq!((short.host.as_str(), short.port, short.user), ("::1", NATS_PORT, None));
        assert_eq!(read("amqp://h").port, AMQP_PORT);
        assert_eq!(read("nats://token@h:1").user.as_deref(), Some("token"));
    }

    #[test]
    fn several_addresses_are_read_and_shown() {
        let url: BusUrl = "amqp://u:p@one nats://two:1".parse().expect("good addresses");
        assert_eq!(url.to_string(), "amqp://one:5672/ nats://two:1");
        let UrlKind::Several(urls) = url.0 else { panic!("two servers were given") };
        assert_eq!(urls.len(), 2);
    }

    #[test]
    fn passwords_stay_inside() {
        for text in [
            "nats://one amqp://me:secret@h",
            "amqp://me:secret@h:1/v",
            "nats://me:secret@h:1",
            "nats://secret@h:1",
        ] {
            let url: BusUrl = text.parse().expect("a good address");
            let shown = format!("{url} {url:?} {:?}", text.replace('@', ":x@h:y@").parse::<BusUrl>().err());
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, why) in [
            ("", BadUrl::Kind),
            (" ", BadUrl::Kind),
            ("amqp://h in-process", BadUrl::Several),
            ("amqp://h kafka://h", BadUrl::Kind),
            ("amqps://h", BadUrl::Kind),
            ("kafka://h", BadUrl::Kind),
            ("amqp://", BadUrl::Host),
            ("nats://u:p@", BadUrl::Host),
            ("nats://[::1", BadUrl::Host),
            ("nats://h:", BadUrl::Port),
            ("nats://h:0", BadUrl::Port),
            ("nats://h:65536", BadUrl::Port),
            ("nats://[::1]1", BadUrl::Port),
            ("amqp://a%4:b@h", BadUrl::Part),
            ("amqp://h/%zz", BadUrl::Part),
            ("amqp://h/%ff", BadUrl::Part),
        ] {
            assert_eq!(text.parse::<BusUrl>().err(), Some(why), "{text}");
        }
    }
}
