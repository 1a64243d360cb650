//! Arguments of `barograph serve auction`, `fill auction` and `load auction`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// A node of the auction application.
///
/// Without --relational it is alone and keeps everything in two SQLite files. With it, nodes share database servers that
/// `barograph load` has loaded, and talk over the bus. A URL may be written as @FILE, the first line of which is the URL,
/// so that its password is on no command line.
#[derive(Args)]
pub(super) struct ServeArgs {
    /// Folder of a filled data set (`barograph fill`): the embedded stores, and the pictures unless --images says otherwise
    #[arg(long, required_unless_present_all = ["relational", "images"])]
    pub(super) data: Option<PathBuf>,
    /// Folder for what changes: copies of the embedded stores (made anew at the start), and uploaded pictures
    #[arg(long, required_unless_present_all = ["relational", "images"])]
    pub(super) state: Option<PathBuf>,
    /// Address to listen at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8080")]
    pub(super) listen: SocketAddr,
    /// Threads that serve requests; 0 means one per core
    #[arg(long, default_value_t = 0)]
    pub(super) threads: usize,
    /// Connections to have room for: with embedded stores more threads serve where the open files of these hold fewer
    #[arg(long, default_value_t = 0)]
    pub(super) room_for: usize,
    /// The node's name, unique among the nodes that share stores: 1 to 64 letters, digits, - and _
    #[arg(long, default_value = "one")]
    pub(super) node: String,
    /// What the node does
    #[arg(long, value_enum, default_value_t = RoleArg::All)]
    pub(super) role: RoleArg,
    #[command(flatten)]
    pub(super) servers: ServerArgs,
    /// Connections to each database server, at most
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub(super) connections: u16,
    /// Bus between nodes: amqp://HOST:PORT (RabbitMQ) or nats://HOST:PORT; without one the node must be the only one
    #[arg(long, value_name = "URL")]
    pub(super) bus: Option<String>,
    /// Name under which the nodes share the bus, so that several deployments may use one broker
    #[arg(long, default_value = "barograph")]
    pub(super) namespace: String,
    /// Memory for thumbnails and previews, in MiB
    #[arg(long, default_value_t = 512)]
    pub(super) cache_mib: u32,
    /// Uploaded pictures that may wait to be stored; more are refused with 503
    #[arg(long, default_value_t = 4_000)]
    pub(super) upload_queue: u32,
    /// Connections open at once, shared out over the threads of embedded stores; more wait. 0 means as many as the limit of
    /// open files allows
    #[arg(long, default_value_t = 0)]
    pub(super) max_connections: u32,
    /// Log to standard error
    #[arg(long, value_enum, default_value_t = LogArg::Text)]
    pub(super) log: LogArg,
    /// What is logged: error, warn, info, debug or trace, also per module as in warn,barograph_auction=debug
    #[arg(long, default_value = "warn")]
    pub(super) log_level: String,
    /// Stop when standard input ends: how a harness takes its application along
    #[arg(long)]
    pub(super) supervised: bool,
}

/// Servers in place of files.
#[derive(Args)]
pub(super) struct ServerArgs {
    /// Users, auctions, items: postgres://USER@HOST:PORT/DATABASE or mysql://...
    #[arg(long, value_name = "URL")]
    pub(super) relational: Option<String>,
    /// Bids, attendance, image lists: postgres://... or mongodb://..., or the shards of one store, separated by spaces;
    /// without it the same PostgreSQL as --relational
    #[arg(long, value_name = "URL", requires = "relational")]
    pub(super) events: Option<String>,
    /// Pictures: s3://BUCKET?endpoint=..., nfs://HOST/EXPORT, postgres://..., mongodb://..., file:///FOLDER, or several of
    /// them, separated by spaces; without it the folder of --data
    #[arg(long, value_name = "URL")]
    pub(super) images: Option<String>,
}

/// A filled data set of the auction into database servers, over what they hold.
#[derive(Args)]
pub(super) struct LoadArgs {
    /// Folder of a filled data set (`barograph fill`)
    #[arg(long)]
    pub(super) data: PathBuf,
    #[command(flatten)]
    pub(super) servers: ServerArgs,
}

/// A data set of the auction, made or found.
#[derive(Args)]
pub(super) struct FillArgs {
    /// Folder to fill
    #[arg(long)]
    pub(super) data: PathBuf,
    /// Name of the size (`barograph list sizes`)
    #[arg(long, default_value = "micro")]
    pub(super) size: String,
    /// Depth of history, 1 as published
    #[arg(long, default_value_t = 1.0)]
    pub(super) history: f64,
    /// Bytes of pictures, 1 as published
    #[arg(long, default_value_t = 1.0)]
    pub(super) images: f64,
    /// Where all choices come from
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Stop when standard input ends, and write progress as lines of JSON
    #[arg(long)]
    pub(super) supervised: bool,
}

/// What a node does.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum RoleArg {
    /// Everything
    All,
    /// Serves, and owns no auctions; needs bid nodes beside it
    Application,
    /// Bids, the item on sale, and the auctions themselves
    Bids,
}

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogArg {
    /// Lines for people
    Text,
    /// A JSON object per line
    Json,
    /// Not at all
    Off,
}
