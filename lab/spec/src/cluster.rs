//! The keys `deploy.kubernetes_*`: how a cluster is reached, and what is asked of it.

use std::path::PathBuf;

use barograph_model::Nanos;

use crate::settings_reader::SettingsReader;

/// Longest wait for a pod that no node takes, in seconds: a cluster that adds nodes needs minutes.
const MOST_PENDING_S: u64 = 3_600;

/// The key of the labels of nodes.
const NODES: &str = "deploy.kubernetes_nodes";

/// The key of the labels of drivers' nodes.
const DRIVER_NODES: &str = "deploy.kubernetes_driver_nodes";

/// Files of pods that are in folders of this machine.
const SEEN: &str = "seen";

/// Files of pods that reach them through the cluster.
const SENT: &str = "sent";

/// The end of the run when a node is lost.
const END: &str = "end";

/// The start of the parts of a lost node on others.
const REPLACE: &str = "replace";

/// Settings for a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPlan {
    /// File by which clients reach the cluster; by default the usual one, or the account of this process's pod.
    pub access: Option<PathBuf>,
    /// Context in that file; by default the current one.
    pub context: Option<String>,
    /// Existing namespace; by default the run makes one of its own.
    pub namespace: Option<String>,
    /// Image with the programs; by default nodes are this machine, and pods see its programs.
    pub image: Option<String>,
    /// Whether files reach pods in secrets; otherwise nodes see the folder of the run.
    pub sends_files: bool,
    /// Labels of nodes that may run pods, as `disk=ssd,zone=a`.
    pub nodes: Option<String>,
    /// Labels of nodes that may run drivers, where these are others.
    pub driver_nodes: Option<String>,
    /// Whether each driver is on a node without another driver.
    pub drivers_apart: bool,
    /// Share of the limits of parts that is set aside on nodes.
    pub requests: f64,
    /// Longest time for which a pod may wait for a lasting reason.
    pub pending: Nanos,
    /// Class of the volumes of parts with file systems of their own; by default that of the cluster.
    pub storage_class: Option<String>,
    /// Whether the parts of a lost node start on other nodes; otherwise the run ends.
    pub replaces_lost: bool,
}

/// Reads the keys.
pub(crate) fn cluster(g: &mut SettingsReader) -> Option<ClusterPlan> {
    let access = g.optional_word("deploy.kubernetes_access", "the path of a kubeconfig file");
    let context = g.optional_word("deploy.kubernetes_context", "a context of that file");
    let namespace = g.optional_word("deploy.kubernetes_namespace", "a namespace of the cluster");
    let image = image(g);
    let files = g.word("deploy.kubernetes_files", &[SEEN, SENT], SEEN);
    let (nodes, driver_nodes) = (nodes(g, NODES), nodes(g, DRIVER_NODES));
    let drivers_apart = g.flag("deploy.kubernetes_drivers_apart", false);
    let requests = g.fraction("deploy.kubernetes_requests", 0.0..=1.0, 1.0);
    let pending = g.number("deploy.kubernetes_pending_s", 1..=MOST_PENDING_S, 5);
    let class = g.optional_word("deploy.kubernetes_storage_class", "a class of volumes of the cluster");
    let lost = g.word("deploy.kubernetes_lost_node", &[END, REPLACE], END);
    Some(ClusterPlan {
        access: access?.map(PathBuf::from),
        context: context?,
        namespace: namespace?,
        sends_files: sends(g, &files?, image.as_ref()?.is_some()),
        image: image?,
        nodes: nodes?,
        driver_nodes: driver_nodes?,
        drivers_apart: drivers_apart?,
        requests: requests?,
        pending: Nanos::from_secs(pending?),
        storage_class: class?,
        replaces_lost: lost? == REPLACE,
    })
}

/// Whether files are sent, which needs an image: nodes that see no folder of this machine see none of its programs.
fn sends(g: &mut SettingsReader, files: &str, has_image: bool) -> bool {
    if files == SENT && !has_image {
        let remedy = "name an image with the programs of all parts as deploy.kubernetes_image";
        g.refuse("deploy.kubernetes_files", "\"sent\"", "\"seen\" without deploy.kubernetes_image", remedy);
    }
    files == SENT
}

/// An image must be the same in every run.
fn image(g: &mut SettingsReader) -> Option<Option<String>> {
    let (key, allowed) =
        ("deploy.kubernetes_image", "an image with a tag or a digest, as \"registry/tools:1.2\"");
    let image = g.optional_word(key, allowed)?;
    if let Some(vague) = image.as_ref().filter(|image| !is_certain_image(image)) {
        g.refuse(key, format!("{vague:?}"), allowed, "name a version: `latest` is another image tomorrow");
    }
    Some(image)
}

/// Whether a name is that of the same image tomorrow: it has a digest, or a tag that does not move by intention.
#[must_use]
pub fn is_certain_image(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let is_word = !name.contains(char::is_whitespace);
    is_word && (name.contains("@sha256:") || tag.is_some_and(|tag| !tag.is_empty() && tag != "latest"))
}

fn nodes(g: &mut SettingsReader, key: &'static str) -> Option<Option<String>> {
    let allowed = "labels of nodes, as \"disk=ssd,zone=a\"";
    let nodes = g.optional_word(key, allowed)?;
    let is_label = |pair: &str| pair.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty());
    if let Some(wrong) = nodes.as_ref().filter(|text| !text.split(',').all(is_label)) {
        g.refuse(key, format!("{wrong:?}"), allowed, "see `kubectl get nodes --show-labels`");
    }
    Some(nodes)
}
