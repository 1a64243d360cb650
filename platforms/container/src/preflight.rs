//! Checks that a site could be opened, without creating anything.

use barograph_platform::{Facts, MissingRequirement, SiteSpec};
use barograph_platform_process::Local;
use bollard::models::SystemInfo;

use crate::open::{find_engine, no_host_limits, takes_groups};
use crate::options::{Networking, Options};
use crate::own::OwnEngine;

/// Returns all missing requirements, or facts.
pub(crate) async fn look(site: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let options = Options::of(site)?;
    let mut missing = Vec::new();
    for host in site.hosts.iter().filter(|host| !host.link.is_plain()) {
        missing.push(MissingRequirement {
            what: format!(
                "host `{}` wants a link of its own, and containers share their engine's",
                host.name
            ),
            hint: "use platform `namespace`, or leave the link out".to_owned(),
        });
    }
    let mut facts = vec![("platform".to_owned(), "container".to_owned())];
    match Local::look(site) {
        Ok(more) => facts.extend(more.into_iter().map(|(name, value)| (format!("here {name}"), value))),
        Err(more) => missing.extend(more),
    }
    match find_engine(&options).await {
        Err(lacks) => missing.push(lacks),
        Ok(None) => {
            missing.extend(OwnEngine::lacking());
            facts.push(fact("engine", "our own dockerd in a network namespace on a switch"));
        }
        Ok(Some(engine)) => match engine.info().await {
            Ok(info) => {
                if !takes_groups(&info, &options) {
                    let limited = site.hosts.iter().filter(|host| !host.limits.is_none());
                    missing.extend(limited.map(|host| no_host_limits(&host.name)));
                }
                facts.extend(facts_of(engine.address(), &info));
            }
            Err(error) => missing.push(MissingRequirement {
                what: format!(
                    "the container engine at `{}` does not say what it is ({error})",
                    engine.address()
                ),
                hint: "look at its log".to_owned(),
            }),
        },
    }
    facts.extend(more(&options));
    if missing.is_empty() { Ok(facts) } else { Err(missing) }
}

fn fact(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn facts_of(address: &str, info: &SystemInfo) -> Facts {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let groups = info.cgroup_driver.map_or("unknown".to_owned(), |driver| driver.to_string());
    vec![
        fact("engine", address),
        fact("engine version", &text(&info.server_version)),
        fact("engine storage", &text(&info.driver)),
        fact("engine control groups", &groups),
    ]
}

fn more(options: &Options) -> Facts {
    let programs = match &options.image {
        Some(image) => format!("those of image {image}"),
        None => "the machine's own, by read-only mounts".to_owned(),
    };
    let network = match options.networking {
        Networking::Bridge => "bridge: a network of the site, an address for each host",
        Networking::Host => "host: the engine's network, shared by all hosts",
    };
    vec![
        fact("isolation", "namespaces of files, processes, shared memory and network for each host"),
        fact("programs", &programs),
        fact("network", network),
        fact("logs", "read from the engine's streams"),
    ]
}
