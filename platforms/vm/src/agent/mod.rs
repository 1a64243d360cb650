//! The agent inside a guest: does what this machine asks for, by the process platform there.

mod counters;
mod serve;
mod speak;
mod units;

use std::net::IpAddr;
use std::path::PathBuf;

use barograph_platform::{LedgerError, SiteSpec};

/// The agent could not do its work; it says so on the guest's console.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The words behind `agent` are not those of a host.
    #[error("understand the arguments of the agent: {0}")]
    Arguments(String),
    /// The serial port that leads to the host process is not there: this is no guest of ours.
    #[error("open the serial port `{0}`")]
    Port(String, #[source] std::io::Error),
    /// A folder, a thread or the runtime could not be made.
    #[error("{0}")]
    Begin(&'static str, #[source] std::io::Error),
    /// The host process was not heard any more, and did not say that it leaves.
    #[error("hear the host process: the serial port has ended")]
    PortEnded,
    /// The guest's own ledger could not be made.
    #[error("begin the guest's ledger")]
    Ledger(#[from] LedgerError),
}

/// The words behind `agent`.
#[derive(Debug)]
struct Words {
    address: IpAddr,
    site: SiteSpec,
}

/// Runs the agent until it is told to leave, or its port ends. `args` are the words behind those that chose it.
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

/// Where the logs of a guest's units lie until this machine has them: on its disk, for they may be long.
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
