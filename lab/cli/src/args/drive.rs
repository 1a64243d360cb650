//! Arguments of `barograph drive`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// A driver: makes the load that a run elsewhere tells it to.
///
/// It takes one control connection, from a harness that knows the secret, and ends with it. Runs with several drivers start
/// them by themselves; nobody need type this.
#[derive(ClapArgs)]
pub(crate) struct DriveArgs {
    /// Address to wait for the harness at; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// File with the secret that the harness must show
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: PathBuf,
    /// Stop when standard input ends: how a harness takes its drivers along
    #[arg(long)]
    pub(crate) supervised: bool,
}
