//! The addresses of a load through the web tier: its fronts, and its database where that is a server.

use std::error::Error;
use std::time::Duration;

use barograph_http::{Client, Method, Options, Policy, Protocol, Request, ResolvedTarget, Target};
use barograph_model::words::in_one_line;
use barograph_reactor::block_on;

use super::contract::HEALTH;

/// Limit on the first answer of a front.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// The addresses of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    /// Where users connect, as HOST:PORT.
    pub(crate) fronts: Vec<String>,
    /// The addresses behind, separated by commas; empty for a database that is no server.
    pub(crate) behind: String,
}

impl Front {
    /// Takes the address of a load apart, which names this number of fronts and then the database.
    pub(crate) fn of(url: &str, fronts: usize) -> Self {
        let all = url.split_once("://").map_or(url, |(_, all)| all);
        let mut all = all.split(',').map(str::to_owned);
        let fronts = all.by_ref().take(fronts).collect();
        Front { fronts, behind: all.collect::<Vec<_>>().join(",") }
    }

    /// The fronts, which answer. Blocks.
    ///
    /// # Errors
    /// A front that does not answer.
    pub(crate) fn targets(
        &self,
        policy: Policy,
    ) -> Result<Vec<ResolvedTarget>, Box<dyn Error + Send + Sync>> {
        let options = Options { protocol: Protocol::Http1, policy, ..Options::default() };
        let target = |front: &String| {
            Target::parse(&format!("http://{front}"), &options)?.resolve()?.answering(FIRST_ANSWER)
        };
        self.fronts.iter().map(target).collect()
    }
}

/// Whether all fronts have nodes that serve.
///
/// # Errors
/// Another answer, in words.
pub(crate) async fn answer(front: Front) -> Result<(), String> {
    let asked = async {
        // The client has no clock: its thread is left behind after the time limit.
        let (send, answer) = tokio::sync::oneshot::channel();
        let ask = move || send.send(asked(&front).map_err(|why| in_one_line(&*why)));
        let spawned = std::thread::Builder::new().name("health".to_owned()).spawn(ask);
        spawned.map_err(|why| why.to_string())?;
        answer.await.unwrap_or_else(|_| Err("no answer".to_owned()))
    };
    let answer = tokio::time::timeout(2 * FIRST_ANSWER, asked).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {} s", 2 * FIRST_ANSWER.as_secs())))
}

fn asked(front: &Front) -> Result<(), Box<dyn Error + Send + Sync>> {
    for target in front.targets(Policy::New)? {
        let request =
            Request { method: Method::GET, path: format_args!("{HEALTH}"), headers: &[], body: None };
        let status = block_on(async {
            Ok::<_, barograph_http::Fault>(Client::new(&target).user(0).send(&request).await?.status)
        })??;
        if status != 200 {
            return Err(format!("{} answered {status}", target.target().authority()).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_fronts_and_then_the_database() {
        let front = |fronts: &[&str], behind: &str| Front {
            fronts: fronts.iter().map(|front| (*front).to_owned()).collect(),
            behind: behind.to_owned(),
        };
        let url = "http://10.0.0.1:80,10.0.0.2:80,10.0.0.3:5432";
        assert_eq!(Front::of(url, 2), front(&["10.0.0.1:80", "10.0.0.2:80"], "10.0.0.3:5432"));
        assert_eq!(Front::of("http://10.0.0.1:80", 1), front(&["10.0.0.1:80"], ""));
    }
}
