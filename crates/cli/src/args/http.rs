//! What can be typed after `barograph http`.

use std::net::IpAddr;
use std::path::PathBuf;

use barograph_model::{Nanos, Share};
use clap::{ArgGroup, Args};

use super::values::{ConnectionsArg, Limit, header, seconds, share, span, whole_seconds};
use super::watch::WatchArgs;

/// Loads one URL. Without options: 50 users, each on a connection of its own, as fast as answers come, for 10 s.
#[derive(Args)]
#[command(group = ArgGroup::new("content").multiple(false))]
pub(crate) struct HttpArgs {
    /// What to load, as in http://127.0.0.1:8080/
    pub(crate) url: String,
    /// Users: each waits for its answer before it asks again. With --rate, the most that ask at the same time
    #[arg(short = 'c', long, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "N")]
    pub(crate) users: Option<u32>,
    /// Requests started per second, whatever answers take; response time counts from when a request was due
    #[arg(short = 'r', long, value_parser = clap::value_parser!(u32).range(1..=10_000_000), value_name = "PER_SECOND")]
    pub(crate) rate: Option<u32>,
    /// How long to measure, in whole seconds; in a search, each trial [default: 10s, in a search 5s]
    #[arg(short = 'd', short_alias = 'z', long, value_parser = whole_seconds, value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// Method; POST where there is a body, else GET
    #[arg(short = 'm', long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Header, as in -H 'Accept: text/html' (may be given often)
    #[arg(short = 'H', long = "header", value_parser = header, value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<(String, String)>,
    /// Body, or @FILE whose content is the body
    #[arg(long, group = "content", value_name = "TEXT|@FILE")]
    pub(crate) data: Option<String>,
    /// Body in JSON, sent with its content type, or @FILE whose content it is
    #[arg(long, group = "content", value_name = "JSON|@FILE")]
    pub(crate) json_body: Option<String>,
    /// Worker threads of the driver; 0 lets the tool choose
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) workers: u32,
    /// Connections: per-user, pool:N (the users of a worker share N), new (one per request)
    #[arg(long, default_value = "per-user", value_name = "HOW")]
    pub(crate) connections: ConnectionsArg,
    /// Speak HTTP/2
    #[arg(long)]
    pub(crate) http2: bool,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    pub(crate) insecure: bool,
    /// File with the certificates (PEM) to trust instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Connect to this socket file; host and path still come from the URL
    #[arg(long, value_name = "PATH")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Connect from this address (given often: in turn)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) source: Vec<IpAddr>,
    /// With --rate: starts as independent events instead of at equal distances
    #[arg(long, requires = "rate")]
    pub(crate) poisson: bool,
    /// Time each user waits after an answer
    #[arg(long, value_parser = span, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) think: Option<Nanos>,
    /// A request without an answer for so long has failed
    #[arg(long, default_value = "10s", value_parser = span, value_name = "TIME")]
    pub(crate) timeout: Nanos,
    /// Load before measuring, in whole seconds
    #[arg(long, default_value = "1s", value_parser = seconds, value_name = "TIME")]
    pub(crate) warm_up: Nanos,
    /// Where all random choices come from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Limit on a quantile of response time, as in 'p99<250ms'; missing it ends with code 4
    #[arg(long, value_name = "LIMIT")]
    pub(crate) qos: Option<Limit>,
    /// Largest share of failed requests; more ends with code 4
    #[arg(long, default_value = "1%", value_parser = share, value_name = "SHARE")]
    pub(crate) errors: Share,
    /// Search the most users within the limit, up to -c; with --rate, the highest rate up to that one
    #[arg(long)]
    pub(crate) search: bool,
    /// Write the report as a page that opens offline
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "barograph-http.html")]
    pub(crate) report: Option<PathBuf>,
    /// Keep the whole record in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep_record: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show nothing while it runs
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}
