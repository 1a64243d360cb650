//! Settings of a site for this platform only.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use barograph_platform::{MissingRequirement, SiteSpec};

/// Prefix of the options of this platform; all others are for other platforms.
const PREFIX: &str = "kubernetes-";

/// All settings, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    /// File by which the cluster is reached; `None` for the usual one.
    pub(crate) access: Option<PathBuf>,
    /// Context in that file; `None` for the current one.
    pub(crate) context: Option<String>,
    /// Existing namespace; `None` for one of the site's own.
    pub(crate) namespace: Option<String>,
    /// Image with the programs; `None` for this machine's programs.
    pub(crate) image: Option<String>,
    /// Whether files reach pods in secrets, for nodes that do not see the folders of this machine.
    pub(crate) sent_files: bool,
    /// Share of the limits that pods ask for.
    pub(crate) requests: f64,
    /// Labels of nodes that may run pods.
    pub(crate) nodes: BTreeMap<String, String>,
    /// Hosts with nodes of their own.
    pub(crate) group: Group,
    /// Class of the volumes of units; `None` for that of the cluster.
    pub(crate) storage_class: Option<String>,
    /// Whether a tier follows the cluster's autoscaler.
    pub(crate) autoscaler: bool,
    /// Longest time for which a pod may wait for a reason that does not end by itself.
    pub(crate) pending: Duration,
}

/// Hosts whose pods are kept apart from others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// Names of the hosts.
    pub(crate) hosts: BTreeSet<String>,
    /// Labels of nodes that may run their pods; empty for those of all hosts.
    pub(crate) nodes: BTreeMap<String, String>,
    /// Whether each of them is on a node without another one.
    pub(crate) apart: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            access: None,
            context: None,
            namespace: None,
            image: None,
            sent_files: false,
            requests: 1.0,
            nodes: BTreeMap::new(),
            group: Group::default(),
            storage_class: None,
            autoscaler: false,
            pending: Duration::from_secs(5),
        }
    }
}

/// Names and allowed values, for messages.
const KNOWN: [(&str, &str); 13] = [
    ("access", "the path of a file"),
    ("context", "a name in the file of access"),
    ("namespace", "the name of a namespace that is there"),
    ("image", "an image by its digest or with a tag other than `latest`"),
    ("files", "`seen` or `sent`"),
    ("requests", "a share from 0 to 1"),
    ("nodes", "labels of nodes as `disk=ssd,zone=a`"),
    ("group", "names of hosts as `a,b`"),
    ("group-nodes", "labels of nodes as `disk=ssd,zone=a`"),
    ("group-apart", "`true` or `false`"),
    ("storage-class", "the name of a class of volumes"),
    ("autoscaler", "`true` or `false`"),
    ("pending-s", "a number of seconds"),
];

impl Options {
    /// Reads the settings from a site; an error lists every setting that cannot be used.
    pub(crate) fn of(site: &SiteSpec) -> Result<Self, Vec<MissingRequirement>> {
        let mut options = Options::default();
        let own = site.options.iter().filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value)));
        let wrong: Vec<MissingRequirement> = own
            .filter(|(name, value)| options.take(name, value).is_none())
            .map(|(name, value)| refusal(name, value))
            .collect();
        if options.sent_files && options.image.is_none() {
            let what = format!("option `{PREFIX}files` is `sent` without `{PREFIX}image`");
            let hint =
                "name an image with the programs, as nodes that see no folder see no program".to_owned();
            return Err(wrong.into_iter().chain([MissingRequirement { what, hint }]).collect());
        }
        if wrong.is_empty() { Ok(options) } else { Err(wrong) }
    }

    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        let text = || Some(value.to_owned()).filter(|text| !text.is_empty());
        match name {
            "access" => self.access = Some(text()?.into()),
            "context" => self.context = Some(text()?),
            "namespace" => self.namespace = Some(text().filter(|name| is_label(name))?),
            "image" => self.image = Some(text().filter(|image| is_certain(image))?),
            "files" => self.sent_files = sent(value)?,
            "requests" => self.requests = value.parse().ok().filter(|share| (0.0..=1.0).contains(share))?,
            "nodes" => self.nodes = labels(value)?,
            "group" => self.group.hosts = value.split(',').map(str::to_owned).collect(),
            "group-nodes" => self.group.nodes = labels(value)?,
            "group-apart" => self.group.apart = value.parse().ok()?,
            "storage-class" => self.storage_class = Some(text()?),
            "autoscaler" => self.autoscaler = value.parse().ok()?,
            "pending-s" => self.pending = Duration::from_secs(value.parse().ok()?),
            _ => return None,
        }
        Some(())
    }
}

fn sent(value: &str) -> Option<bool> {
    match value {
        "seen" => Some(false),
        "sent" => Some(true),
        _ => None,
    }
}

/// Whether a name can be that of a namespace.
fn is_label(name: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= 63 && name.chars().all(fine) && !name.starts_with('-') && !name.ends_with('-')
}

/// Whether an image is the same tomorrow: it has a digest, or a tag that does not move by intention.
fn is_certain(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    image.contains("@sha256:") || tag.is_some_and(|tag| !tag.is_empty() && tag != "latest")
}

fn labels(text: &str) -> Option<BTreeMap<String, String>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.trim().split_once('=')?;
        (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
    };
    pairs.map(pair).collect()
}

fn refusal(name: &str, value: &str) -> MissingRequirement {
    match KNOWN.iter().find(|(known, _)| *known == name) {
        Some((_, takes)) => MissingRequirement {
            what: format!("option `{PREFIX}{name}` cannot be `{value}`"),
            hint: format!("it takes {takes}"),
        },
        None => MissingRequirement {
            what: format!("the Kubernetes platform has no option `{PREFIX}{name}`"),
            hint: format!("it has {}", KNOWN.map(|(known, _)| format!("`{PREFIX}{known}`")).join(", ")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Options, Vec<String>> {
        let options = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let read = Options::of(&SiteSpec { options, ..SiteSpec::default() });
        read.map_err(|wrong| wrong.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn options_are_read_and_those_of_others_are_not() {
        let options = of(&[
            ("network", "bridge"),
            ("kubernetes-context", "lab"),
            ("kubernetes-image", "registry/tools:1"),
            ("kubernetes-files", "sent"),
            ("kubernetes-requests", "0.5"),
            ("kubernetes-nodes", "disk=ssd, zone=a"),
            ("kubernetes-pending-s", "60"),
            ("kubernetes-group", "driver-1,driver-2"),
            ("kubernetes-group-nodes", "role=driver"),
            ("kubernetes-group-apart", "true"),
            ("kubernetes-storage-class", "fast"),
            ("kubernetes-autoscaler", "true"),
        ])
        .unwrap();
        assert_eq!((options.context.as_deref(), options.requests), (Some("lab"), 0.5));
        assert_eq!((options.nodes["zone"].as_str(), options.autoscaler), ("a", true));
        assert_eq!((options.storage_class.as_deref(), options.sent_files), (Some("fast"), true));
        assert_eq!(options.pending, Duration::from_secs(60));
        let group = &options.group;
        assert_eq!((group.hosts.len(), group.nodes["role"].as_str(), group.apart), (2, "driver", true));
        assert_eq!(of(&[]).unwrap(), Options::default());
    }

    #[test]
    fn wrong_ones_are_named_with_what_they_take() {
        let wrong = of(&[("kubernetes-requests", "2"), ("kubernetes-colour", "red")]).unwrap_err();
        assert_eq!(
            wrong,
            [
                "option `kubernetes-requests` cannot be `2`; it takes a share from 0 to 1",
                "the Kubernetes platform has no option `kubernetes-colour`; it has `kubernetes-access`, \
                 `kubernetes-context`, `kubernetes-namespace`, `kubernetes-image`, `kubernetes-files`, \
                 `kubernetes-requests`, `kubernetes-nodes`, `kubernetes-group`, `kubernetes-group-nodes`, `kubernetes-group-apart`, \
                 `kubernetes-storage-class`, `kubernetes-autoscaler`, `kubernetes-pending-s`",
            ]
        );
        for (name, value) in [
            ("namespace", "Team"),
            ("namespace", "-a"),
            ("nodes", "ssd"),
            ("pending-s", "soon"),
            ("group-apart", "yes"),
            ("access", ""),
            ("files", "copied"),
            ("files", "sent"),
        ] {
            assert!(of(&[(&format!("kubernetes-{name}"), value)]).is_err(), "{name} {value}");
        }
    }

    #[test]
    fn an_image_says_which_one_it_is() {
        for fine in ["registry:5000/a/b:1.2", "a@sha256:00", "b:1"] {
            assert!(is_certain(fine), "{fine}");
        }
        for vague in ["redis", "redis:latest", "registry:5000/redis", "a:"] {
            assert!(!is_certain(vague), "{vague}");
        }
    }
}
