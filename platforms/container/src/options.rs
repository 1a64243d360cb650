//! Settings of a site for this platform only.

use std::net::IpAddr;

use barograph_platform::{MissingRequirement, SiteSpec};

/// Network of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Networking {
    /// A network of the site's own; every host has its own address.
    #[default]
    Bridge,
    /// The network of the engine; all hosts share its address and its ports.
    Host,
}

/// All settings, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Address of the engine; `None` searches for one, and starts one if there is none.
    pub(crate) engine: Option<String>,
    /// Image that contains the programs, instead of the machine's programs.
    pub(crate) image: Option<String>,
    /// Whether the generated image stays for the next site.
    pub(crate) keep_image: bool,
    pub(crate) networking: Networking,
    /// Whether the engine sees other files than this process does.
    pub(crate) remote: bool,
    /// Addresses of the site's network, as `10.1.2.0/24`.
    pub(crate) subnet: Option<String>,
    /// Address of this machine for containers.
    pub(crate) here: Option<IpAddr>,
}

/// Names and allowed values, for messages.
const KNOWN: [(&str, &str); 8] = [
    ("engine", "`unix:///PATH` or `tcp://HOST:PORT`"),
    ("image", "the name of an image that the engine has"),
    ("keep_image", "`true` or `false`"),
    ("network", "`bridge` or `host`"),
    ("remote", "`true` or `false`"),
    ("subnet", "a network as `10.1.2.0/24`"),
    ("here", "an address of this machine"),
    ("hold", "what the process platform takes"),
];

impl Options {
    /// Reads the settings from a site; an error lists every setting that cannot be used.
    pub(crate) fn of(site: &SiteSpec) -> Result<Self, Vec<MissingRequirement>> {
        let mut options = Options::default();
        let mut wrong = Vec::new();
        for (name, value) in &site.options {
            if options.take(name, value).is_none() {
                wrong.push(refusal(name, value));
            }
        }
        if options.remote && options.engine.is_none() {
            wrong.push(MissingRequirement {
                what: "option `remote` has no engine to speak of".to_owned(),
                hint: "set option `engine` to where the remote engine answers".to_owned(),
            });
        }
        if wrong.is_empty() { Ok(options) } else { Err(wrong) }
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        let text = || Some(value.to_owned()).filter(|v| !v.is_empty());
        match name {
            "engine" => self.engine = Some(text().filter(|v| address_is_known(v))?),
            "image" => self.image = Some(text()?),
            "keep_image" => self.keep_image = value.parse().ok()?,
            "network" => {
                self.networking = match value {
                    "bridge" => Networking::Bridge,
                    "host" => Networking::Host,
                    _ => return None,
                };
            }
            "remote" => self.remote = value.parse().ok()?,
            "subnet" => self.subnet = Some(text().filter(|v| is_network(v))?),
            "here" => self.here = Some(value.parse().ok()?),
            // For units of this machine, and checked there.
            "hold" => {}
            _ => return None,
        }
        Some(())
    }
}

fn address_is_known(address: &str) -> bool {
    address.starts_with("unix:///") || address.strip_prefix("tcp://").is_some_and(|rest| rest.contains(':'))
}

fn is_network(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, prefix)| {
        address.parse::<IpAddr>().is_ok() && prefix.parse::<u8>().is_ok_and(|p| p <= 128)
    })
}

fn refusal(name: &str, value: &str) -> MissingRequirement {
    match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((_, takes)) => MissingRequirement {
            what: format!("option `{name}` of the container platform cannot be `{value}`"),
            hint: format!("it takes {takes}"),
        },
        None => MissingRequirement {
            what: format!("the container platform has no option `{name}`"),
            hint: format!("it has {}", KNOWN.map(|(known, _)| format!("`{known}`")).join(", ")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Options, Vec<MissingRequirement>> {
        let options = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Options::of(&SiteSpec { options, ..SiteSpec::default() })
    }

    #[test]
    fn options_are_read() {
        let options =
            of(&[("network", "host"), ("engine", "tcp://10.0.0.2:2375"), ("remote", "true")]).unwrap();
        assert_eq!(options.networking, Networking::Host);
        assert!(options.remote && !options.keep_image);
        assert_eq!(of(&[]).unwrap(), Options::default());
        assert_eq!(of(&[("subnet", "10.1.2.0/28")]).unwrap().subnet.as_deref(), Some("10.1.2.0/28"));
    }

    #[test]
    fn wrong_ones_are_named_with_what_they_take() {
        let wrong = of(&[("network", "mesh"), ("colour", "red"), ("remote", "true")]).unwrap_err();
        let texts: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "option `network` of the container platform cannot be `mesh`; it takes `bridge` or `host`",
                "the container platform has no option `colour`; it has `engine`, `image`, `keep_image`, `network`, `remote`, `subnet`, `here`, `hold`",
                "option `remote` has no engine to speak of; set option `engine` to where the remote engine answers",
            ]
        );
        for engine in ["", "docker", "unix://relative", "tcp://nowhere"] {
            assert!(of(&[("engine", engine)]).is_err(), "{engine}");
        }
    }
}
