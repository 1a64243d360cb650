//! The agent inside a guest: carries out requests of this machine, through the process platform there.

mod counters;
mod serve;
mod speak;
mod units;

use std::net::IpAddr;
use std::path::PathBuf;

use barograph_platform::{LedgerError, SiteSpec};

/// An error of the agent, printed on the guest's console.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The words after `agent` do not describe a host.
    #[error("understand the arguments of the agent: {0}")]
    Arguments(String),
    /// The serial port to the host process is missing: this is not a guest of this platform.
    #[error("open the serial port `{0}`")]
    Port(String, #[source] std::io::Error),
    /// A folder, a thread or the runtime could not be created.
    #[error("{0}")]
    Begin(&'static str, #[source] std::io::Error),
    /// The connection to the host process ended without a farewell.
    #[error("hear the host process: the serial port has ended")]
    PortEnded,
    /// The guest's own ledger could not be created.
    #[error("begin the guest's ledger")]
    Ledger(#[from] LedgerError),
}

/// Words after `agent`.
#[derive(Debug)]
struct Words {
    address: IpAddr,
    site: SiteSpec,
}

/// Runs the agent until a request to end, or until its port closes. `args` are the words after those that select
/// it.
pub fn agent_main(args: &[String]) -> Result<(), AgentError> {
    let words = understand(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| AgentError::Begin("start the agent's runtime", error))?;
    let (from, to) = speak::open_port()?;
    runtime.block_on(serve::serve(words.address, words.site, from, to))
}

fn understand(args: &[String]) -> Result<Words, AgentError> {
    let wrong = |why: String| AgentError::Arguments(why);
    let (mut address, mut site) = (None, None);
    let mut rest = args.iter();
    while let Some(name) = rest.next() {
        let value = rest.next().ok_or_else(|| wrong(format!("`{name}` has no value")))?;
        match name.as_str() {
            "--address" => {
                address = Some(value.parse().map_err(|error| wrong(format!("`{value}`: {error}")))?)
            }
            "--site" => {
                site =
                    Some(serde_json::from_str(value).map_err(|error| wrong(format!("`{value}`: {error}")))?);
            }
            other => return Err(wrong(format!("`{other}` is not known"))),
        }
    }
    match (address, site) {
        (Some(address), Some(site)) => Ok(Words { address, site }),
        _ => Err(wrong("--address and --site are needed".to_owned())),
    }
}

/// Folder of the logs of a guest's units until this machine has them: on its disk, as they may be long.
fn log_folder(site: &SiteSpec) -> PathBuf {
    site.folder.join(format!(".logs-{}", site.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_understood_or_named() {
        let site = serde_json::to_string(&SiteSpec { id: "db".to_owned(), ..SiteSpec::default() }).unwrap();
        let words = ["--address", "10.1.2.3", "--site", &site].map(str::to_owned);
        assert_eq!(understand(&words).unwrap().site.id, "db");
        for bad in [&["--address"][..], &["--address", "x"], &["--colour", "red"], &["--site", "{"], &[]] {
            let bad: Vec<String> = bad.iter().map(|&word| word.to_owned()).collect();
            assert!(matches!(understand(&bad), Err(AgentError::Arguments(_))), "{bad:?}");
        }
    }
}
