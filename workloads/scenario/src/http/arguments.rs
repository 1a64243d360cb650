//! Arguments of `barograph http`, beside the options of every load command.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use barograph_http::{Detour, Proxy};
use barograph_scenario::{Connections, MOST_REDIRECTS, statuses};
use clap::{ArgGroup, Args, ValueEnum};

/// Load one URL or several: users or a rate, figures as they come, a verdict at the end
#[derive(Args)]
#[command(group = ArgGroup::new("content").multiple(false))]
pub(super) struct HttpArgs {
    /// What to load, as in http://127.0.0.1:8080/; of several, each user asks for one after the other
    #[arg(required_unless_present = "urls", value_name = "URL")]
    pub(super) url: Vec<String>,
    /// File with URLs to load, a line `[METHOD] URL` each; lines that begin with # are comments
    #[arg(long, value_name = "FILE")]
    pub(super) urls: Option<PathBuf>,
    /// Order in which users ask for several URLs
    #[arg(long, default_value = "in-turn", value_name = "ORDER")]
    pub(super) order: UrlOrder,
    /// Method; POST where there is a body, else GET
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub(super) method: Option<String>,
    /// Header, as in -H 'Accept: text/html' (may be given often)
    #[arg(short = 'H', long = "header", value_parser = header, value_name = "NAME: VALUE")]
    pub(super) headers: Vec<(String, String)>,
    /// Body, or @FILE with the bytes of it (up to 64 MiB)
    #[arg(long, group = "content", value_name = "TEXT|@FILE")]
    pub(super) data: Option<String>,
    /// Body in JSON, sent with its content type, or @FILE whose content it is
    #[arg(long, group = "content", value_name = "JSON|@FILE")]
    pub(super) json_body: Option<String>,
    /// Statuses that are expected, as in 2xx,302; any other is a failure [default: 2xx]
    #[arg(long, value_delimiter = ',', value_parser = status, value_name = "STATUS,...")]
    pub(super) status: Vec<RangeInclusive<u16>>,
    /// Follow up to N redirects; all requests of the chain are one operation
    #[arg(long, value_parser = clap::value_parser!(u8).range(..=MOST_REDIRECTS), value_name = "N")]
    pub(super) redirects: Option<u8>,
    /// Follow up to 10 redirects
    #[arg(short = 'L', long, conflicts_with = "redirects")]
    pub(super) follow: bool,
    /// Connections: per-user, pool:N (the users of a worker share N), new (one per request)
    #[arg(long, default_value = "per-user", value_parser = connections, value_name = "HOW")]
    pub(super) connections: Connections,
    /// Speak HTTP/2
    #[arg(long)]
    pub(super) http2: bool,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    pub(super) insecure: bool,
    /// File with the certificates (PEM) to trust instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(super) ca: Option<PathBuf>,
    /// File with a client certificate (PEM), and its key where --key names no other file
    #[arg(long, value_name = "FILE")]
    pub(super) cert: Option<PathBuf>,
    /// File with the key of --cert (PEM)
    #[arg(long, requires = "cert", value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// Address of a host and port of the URL, as in h.example:443:127.0.0.1 (may be given often)
    #[arg(long, value_parser = Detour::resolve, value_name = "HOST:PORT:ADDRESS")]
    pub(super) resolve: Vec<Detour>,
    /// Connect to another host and port than the URL's; empty fields fit any (may be given often)
    #[arg(long, value_parser = Detour::connect_to, value_name = "HOST:PORT:TO_HOST:TO_PORT")]
    pub(super) connect_to: Vec<Detour>,
    /// Send through this HTTP proxy, as in http://user:password@h.example:3128
    #[arg(long, value_parser = Proxy::parse, conflicts_with_all = ["resolve", "connect_to", "unix_socket"], value_name = "URL")]
    pub(super) proxy: Option<Proxy>,
    /// Connect to this socket file; host and path still come from the URL
    #[arg(long, value_name = "PATH")]
    pub(super) unix_socket: Option<PathBuf>,
    /// Connect from this address (given often: in turn)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) source: Vec<IpAddr>,
}

/// The order in which a user requests several URLs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum UrlOrder {
    /// One after the other, then from the beginning
    InTurn,
    /// Any of them, as the seed says
    Random,
}

/// Redirects that `--follow` allows.
const USUAL_REDIRECTS: u8 = 10;

impl HttpArgs {
    /// The most redirects that a request follows.
    pub(super) fn redirects(&self) -> u8 {
        self.redirects.unwrap_or(if self.follow { USUAL_REDIRECTS } else { 0 })
    }
}

fn status(text: &str) -> Result<RangeInclusive<u16>, String> {
    let wrong = || "a status is written 302, a class of them 3xx; from 100 to 599".to_owned();
    statuses(text.trim()).ok_or_else(wrong)
}

fn connections(text: &str) -> Result<Connections, String> {
    const ALLOWED: &str =
        "connections are per-user, pool:N (the users of a worker share N) or new (one per request)";
    match text {
        "per-user" => Ok(Connections::PerUser(1)),
        "new" => Ok(Connections::New),
        _ => {
            let number = text.strip_prefix("pool:").and_then(|n| n.parse().ok()).filter(|n| *n > 0);
            number.map(Connections::Pool).ok_or_else(|| ALLOWED.to_owned())
        }
    }
}

/// Parses `Name: value`.
fn header(text: &str) -> Result<(String, String), String> {
    let wrong = || "a header is written `Name: value`, as in -H 'Accept: text/html'".to_owned();
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let clean = name.bytes().all(token) && value.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f));
    if name.is_empty() || !clean {
        return Err(wrong());
    }
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_classes() {
        assert_eq!([status("2xx"), status(" 302 ")], [Ok(200..=299), Ok(302..=302)]);
        assert!(
            ["", "xx", "6xx", "0xx", "99", "600", "2x", "20x", "+02", "abc", "2xxx"]
                .iter()
                .all(|t| status(t).is_err())
        );
    }

    #[test]
    fn connections_and_headers() {
        let parsed = ["per-user", "pool:8", "new"].map(|text| connections(text).unwrap());
        assert_eq!(parsed, [Connections::PerUser(1), Connections::Pool(8), Connections::New]);
        assert!(["pool:0", "pool", "pool:x", ""].iter().all(|text| connections(text).is_err()));
        assert_eq!(header("Accept:  a:b "), Ok(("Accept".to_owned(), "a:b".to_owned())));
        assert!([": x", "Accept", "a b: c", "a: b\r\nc: d", "ä: x"].iter().all(|t| header(t).is_err()));
    }
}
