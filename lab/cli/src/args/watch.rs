//! Arguments for watching a run while it goes on, and for exporting records.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use barograph_export::{Format, Receiver};
use clap::{Args, ValueEnum};

use super::{RecordArgs, RunArgs};

/// Who may look on while a run goes on.
#[derive(Args, Clone, Default)]
pub(crate) struct WatchArgs {
    /// Serve a live page while it runs: on a free port of this machine, or as in --live=127.0.0.1:8090 or --live=8090
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = address
    )]
    pub(crate) live: Option<SocketAddr>,
    /// Send figures as it runs: prometheus=URL (remote-write) or otlp=URL (OpenTelemetry over HTTP); may be given often
    #[arg(long, value_name = "PROTOCOL=URL")]
    pub(crate) export_to: Vec<Receiver>,
}

/// A plan, and who may look on.
#[derive(Args)]
pub(crate) struct WatchedRunArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) record: RecordArgs,
    /// How tables are written
    #[arg(long, default_value = "csv")]
    pub(crate) format: FormatArg,
    /// Folder for the tables; without it, one in the record, named after the format
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Write the histograms of every interval too, from which any quantile can be computed
    #[arg(long)]
    pub(crate) histograms: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FormatArg {
    /// Comma-separated text
    Csv,
    /// Apache Parquet
    Parquet,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Csv => Format::Csv,
            FormatArg::Parquet => Format::Parquet,
        }
    }
}

/// Parses a complete address, or a port of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| "an address is written as in 127.0.0.1:8090, or as a port of this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_of_this_machine() {
        assert_eq!(address("0").unwrap(), ([127, 0, 0, 1], 0).into());
        assert_eq!(address("8090").unwrap(), ([127, 0, 0, 1], 8090).into());
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        assert!(address("localhost").unwrap_err().contains("127.0.0.1:8090"));
    }
}
