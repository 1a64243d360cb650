//! A unit as a pod in the form of the cluster's API.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use barograph_platform::{Limits, StopSignal, Unit, User};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, EnvVar, ExecAction, Lifecycle, LifecycleHandler, Pod, PodAffinityTerm,
    PodAntiAffinity, PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecurityContext,
    Toleration, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use rustix::process::{getgid, getuid};

use crate::claims::{Claims, claim_folder, copying};
use crate::mounts::View;
use crate::names;
use crate::objects::of_host;
use crate::options::Group;
use crate::quantity;
use crate::sent::SentFiles;

/// Search path of programs: containers do not inherit this process's environment.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Words that make a program's user other than root: a user namespace, in which its files still belong to
/// root outside.
const NOT_ROOT: [&str; 5] = ["/usr/bin/unshare", "--user", "--map-user=1000", "--map-group=1000", "--"];

/// User of such a program in a given image instead, as the image may lack `unshare`.
pub const IMAGE_USER: u32 = 1000;

/// Taints of nodes that do not answer.
const LOST: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Time for which pods stay on such a node, in seconds; by default clusters take 300. A node whose messages were
/// merely late is back within it.
const LOST_AFTER_S: i64 = 5;

/// State shared by all pods of a site.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) site: String,
    pub(crate) image: String,
    /// Whether the image was given by the user, with the programs in it.
    pub(crate) given_image: bool,
    pub(crate) view: View,
    /// Share of the limits that pods ask for.
    pub(crate) requests: f64,
    /// Labels of nodes that may run pods.
    pub(crate) nodes: BTreeMap<String, String>,
    /// Hosts with nodes of their own.
    pub(crate) group: Group,
    /// Volumes of units with file systems of their own.
    pub(crate) claims: Claims,
    /// Folders of the site whose files are sent to pods, where these see no folder of this machine.
    pub(crate) sent_folders: Option<Vec<PathBuf>>,
}

impl Common {
    /// Returns the pod of a unit, whose files are in a secret of the unit's name if they are sent.
    pub(crate) fn pod(&self, unit: &Unit, name: &str, sent: Option<&SentFiles>) -> Pod {
        let has_claim = self.claims.has(&unit.name);
        let object = names::object(&self.site, &unit.name);
        let (volumes, mounts) = match sent {
            Some(files) => files.volumes(&unit.workdir, &object, has_claim.then(|| object.clone())),
            None => {
                let (mut volumes, mounts) = self.view.with_folder(&unit.workdir).volumes();
                if has_claim {
                    claim_folder(&mut volumes, &mounts, &unit.workdir, object);
                }
                (volumes, mounts)
            }
        };
        let copy = (has_claim && sent.is_none()).then(|| {
            let plain = self.container(unit, names::COPY, (&unit.program, &[]), &mounts);
            copying(plain, &unit.workdir)
        });
        let steps = unit.prepare.iter().enumerate().map(|(at, step)| {
            self.container(unit, &names::step(at + 1), (&step.program, &step.args), &mounts)
        });
        let steps: Vec<Container> = copy.into_iter().chain(steps).collect();
        let main = Container {
            // A program that watches its input sees no end of it while the pod lives.
            stdin: Some(true),
            lifecycle: stop_hook(unit.stop),
            resources: Some(self.resources(&unit.limits)),
            ..self.container(unit, names::CONTAINER, (&unit.program, &unit.args), &mounts)
        };
        let mut labels = names::labels(&self.site);
        labels.extend(of_host(&self.site, &unit.host));
        labels.insert(names::UNIT.to_owned(), names::value(&unit.name));
        let is_apart = self.group.apart && self.group.hosts.contains(&unit.host);
        if is_apart {
            labels.insert(names::GROUP.to_owned(), names::APART.to_owned());
        }
        Pod {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: vec![main],
                init_containers: Some(steps).filter(|steps| !steps.is_empty()),
                volumes: Some(volumes),
                restart_policy: Some("Never".to_owned()),
                node_selector: Some(self.nodes_of(&unit.host).clone()).filter(|nodes| !nodes.is_empty()),
                affinity: is_apart.then(|| apart(&self.site)),
                automount_service_account_token: Some(false),
                enable_service_links: Some(false),
                // Units know each other by addresses.
                dns_policy: Some("Default".to_owned()),
                security_context: Some(self.user(unit.user, has_claim || sent.is_some())),
                tolerations: Some(LOST.iter().map(|taint| toleration(taint)).collect()),
                ..PodSpec::default()
            }),
            ..Pod::default()
        }
    }

    /// Returns the labels of nodes that may run the pods of a host.
    fn nodes_of(&self, host: &str) -> &BTreeMap<String, String> {
        let has_own = self.group.hosts.contains(host) && !self.group.nodes.is_empty();
        if has_own { &self.group.nodes } else { &self.nodes }
    }

    fn container(
        &self,
        unit: &Unit,
        name: &str,
        (program, args): (&Path, &[String]),
        mounts: &[VolumeMount],
    ) -> Container {
        let mut words: Vec<String> = self.user_words(unit.user).iter().map(|&word| word.to_owned()).collect();
        words.push(program.to_string_lossy().into_owned());
        let free = self
            .frees_namespaces(unit.user)
            .then(|| SeccompProfile { type_: "Unconfined".to_owned(), ..SeccompProfile::default() });
        let added: Vec<String> = unit.capabilities.iter().map(|one| one.name().to_owned()).collect();
        let added = (!added.is_empty()).then(|| Capabilities { add: Some(added), ..Capabilities::default() });
        let has_security = free.is_some() || added.is_some();
        let security =
            SecurityContext { seccomp_profile: free, capabilities: added, ..SecurityContext::default() };
        Container {
            name: name.to_owned(),
            image: Some(self.image.clone()),
            // An image of a node is there, or the pod says that it is not.
            image_pull_policy: Some(if self.given_image { "IfNotPresent" } else { "Never" }.to_owned()),
            command: Some(words),
            args: Some(args.iter().map(|word| escaped(word)).collect()),
            env: Some(environment(&unit.env)),
            working_dir: Some(unit.workdir.to_string_lossy().into_owned()),
            volume_mounts: Some(mounts.to_vec()),
            security_context: has_security.then_some(security),
            ..Container::default()
        }
    }

    /// Limits, and the share of them that is set aside on the node.
    fn resources(&self, limits: &Limits) -> ResourceRequirements {
        ResourceRequirements {
            limits: Some(quantities(limits, 1.0)).filter(|all| !all.is_empty()),
            // Without requests the limits would be requested.
            requests: Some(quantities(limits, self.requests)).filter(|all| !all.is_empty()),
            ..ResourceRequirements::default()
        }
    }

    fn user(&self, user: User, has_volume: bool) -> PodSecurityContext {
        let (own_user, own_group) = (i64::from(getuid().as_raw()), i64::from(getgid().as_raw()));
        let other = user == User::NotRoot && self.given_image && own_user == 0;
        let group = if other { i64::from(IMAGE_USER) } else { own_group };
        PodSecurityContext {
            run_as_user: Some(if other { i64::from(IMAGE_USER) } else { own_user }),
            run_as_group: Some(group),
            // A new volume belongs to root.
            fs_group: has_volume.then_some(group),
            ..PodSecurityContext::default()
        }
    }

    /// Returns the user of a unit's files, if it is not the user that runs Barograph.
    pub(crate) fn other_user(&self, user: User) -> Option<u32> {
        let other = user == User::NotRoot && self.given_image && getuid().is_root();
        other.then_some(IMAGE_USER)
    }

    fn user_words(&self, user: User) -> &'static [&'static str] {
        if self.frees_namespaces(user) { &NOT_ROOT } else { &[] }
    }

    /// Whether new namespaces must be allowed, which runtimes may forbid by default.
    fn frees_namespaces(&self, user: User) -> bool {
        user == User::NotRoot && !self.given_image && getuid().is_root()
    }
}

/// A pod is on a node without another one that is kept apart.
fn apart(site: &str) -> Affinity {
    let others = [(names::SITE, names::value(site)), (names::GROUP, names::APART.to_owned())];
    let selector = LabelSelector {
        match_labels: Some(others.map(|(name, value)| (name.to_owned(), value)).into()),
        ..LabelSelector::default()
    };
    let term = PodAffinityTerm {
        label_selector: Some(selector),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    let rule = PodAntiAffinity {
        required_during_scheduling_ignored_during_execution: Some(vec![term]),
        ..PodAntiAffinity::default()
    };
    Affinity { pod_anti_affinity: Some(rule), ..Affinity::default() }
}

/// A pod leaves a lost node soon.
fn toleration(taint: &str) -> Toleration {
    Toleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoExecute".to_owned()),
        toleration_seconds: Some(LOST_AFTER_S),
        ..Toleration::default()
    }
}

/// What a pod asks for: a share of its limits.
pub(crate) fn quantities(limits: &Limits, share: f64) -> BTreeMap<String, Quantity> {
    let cpus = limits.cpus.map(|cpus| ("cpu".to_owned(), quantity::cores(cpus * share)));
    let memory = limits.memory_bytes.map(|bytes| (bytes as f64 * share) as u64);
    let memory = memory.map(|bytes| ("memory".to_owned(), quantity::bytes(bytes)));
    cpus.into_iter().chain(memory).collect()
}

/// A pod is asked to end by SIGTERM; another signal is sent before it, by a command that lasts until the
/// program has ended, or the time for it has.
fn stop_hook(stop: StopSignal) -> Option<Lifecycle> {
    let signal = match stop {
        StopSignal::Term => return None,
        StopSignal::Int => "INT",
        StopSignal::Quit => "QUIT",
    };
    let words = ["/bin/sh".to_owned(), "-c".to_owned(), format!("kill -{signal} 1; exec sleep 86400")];
    Some(Lifecycle {
        pre_stop: Some(LifecycleHandler {
            exec: Some(ExecAction { command: Some(words.to_vec()) }),
            ..LifecycleHandler::default()
        }),
        ..Lifecycle::default()
    })
}

fn environment(own: &[(String, String)]) -> Vec<EnvVar> {
    let path = ("PATH".to_owned(), PATH.to_owned());
    let variable = |(name, value): &(String, String)| EnvVar {
        name: name.clone(),
        value: Some(escaped(value)),
        ..EnvVar::default()
    };
    [path].iter().chain(own).map(variable).collect()
}

/// A cluster replaces `$(NAME)` in words; `$$` is a dollar.
fn escaped(word: &str) -> String {
    word.replace("$(", "$$(")
}

#[cfg(test)]
mod tests {
    use barograph_platform::{Capability, Readiness, Step};

    use super::*;

    fn common(given_image: bool) -> Common {
        Common {
            site: "x1".to_owned(),
            image: "barograph.test/pause:1".to_owned(),
            given_image,
            view: View::new(false, &["/opt/shared".into()], &[]),
            requests: 0.5,
            nodes: [("disk".to_owned(), "ssd".to_owned())].into(),
            group: Group::default(),
            claims: Claims::default(),
            sent_folders: None,
        }
    }

    fn unit(user: User) -> Unit {
        Unit {
            host: "db-1".to_owned(),
            args: vec!["-D".to_owned(), "$(data)".to_owned()],
            env: vec![("LANG".to_owned(), "C".to_owned())],
            prepare: vec![Step { program: "/bin/true".into(), args: vec![] }],
            workdir: "/w/pg".into(),
            user,
            stop: StopSignal::Int,
            limits: Limits { cpus: Some(0.5), memory_bytes: Some(64 << 20), ..Limits::default() },
            ..Unit::new("pg", "/usr/bin/postgres".into(), Readiness::Runs)
        }
    }

    #[test]
    fn a_unit_is_a_pod_of_its_host() {
        let pod = common(false).pod(&unit(User::Own), "bg-x1-pg-0", None);
        let labels = pod.metadata.labels.unwrap();
        assert_eq!([&labels[names::HOST], &labels[names::UNIT], &labels[names::SITE]], ["db-1", "pg", "x1"]);
        let spec = pod.spec.unwrap();
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
        assert_eq!(spec.node_selector.unwrap()["disk"], "ssd");
        let stays: Vec<Option<i64>> =
            spec.tolerations.unwrap().iter().map(|lost| lost.toleration_seconds).collect();
        assert_eq!(stays, [Some(5), Some(5)]);
        let main = &spec.containers[0];
        assert_eq!(main.command, Some(vec!["/usr/bin/postgres".to_owned()]));
        assert_eq!(main.args, Some(vec!["-D".to_owned(), "$$(data)".to_owned()]));
        assert_eq!(main.image_pull_policy.as_deref(), Some("Never"));
        let hook = main.lifecycle.clone().unwrap().pre_stop.unwrap().exec.unwrap().command.unwrap();
        assert_eq!(hook[2], "kill -INT 1; exec sleep 86400");
        let resources = main.resources.clone().unwrap();
        assert_eq!(resources.limits.unwrap()["cpu"].0, "500m");
        let requests = resources.requests.unwrap();
        assert_eq!([&requests["cpu"].0, &requests["memory"].0], ["250m", "33554432"]);
        let steps = spec.init_containers.unwrap();
        assert_eq!((steps.len(), steps[0].name.as_str()), (1, "step-1"));
        let seen: Vec<(String, bool)> = main
            .volume_mounts
            .clone()
            .unwrap()
            .into_iter()
            .map(|mount| (mount.mount_path, mount.read_only.unwrap()))
            .collect();
        assert_eq!(seen, [("/opt/shared".to_owned(), true), ("/w/pg".to_owned(), false)]);
    }

    #[test]
    fn a_group_has_nodes_of_its_own_and_no_two_pods_on_one() {
        let group = |apart| Group {
            hosts: ["db-1".to_owned()].into(),
            nodes: [("role".to_owned(), "driver".to_owned())].into(),
            apart,
        };
        let pod = |apart, host: &str| {
            let unit = Unit { host: host.to_owned(), ..unit(User::Own) };
            Common { group: group(apart), ..common(false) }.pod(&unit, "p", None)
        };
        let own = pod(true, "db-1");
        assert_eq!(own.metadata.labels.unwrap()[names::GROUP], "apart");
        let spec = own.spec.unwrap();
        assert_eq!(spec.node_selector.unwrap(), [("role".to_owned(), "driver".to_owned())].into());
        let rule = serde_json::to_value(spec.affinity.unwrap().pod_anti_affinity).unwrap();
        let terms = &rule["requiredDuringSchedulingIgnoredDuringExecution"];
        let labels = serde_json::json!({ "barograph.org/site": "x1", "barograph.org/group": "apart" });
        assert_eq!(terms[0]["labelSelector"]["matchLabels"], labels);
        let other = pod(true, "web-1").spec.unwrap();
        assert_eq!((other.node_selector.unwrap()["disk"].as_str(), other.affinity), ("ssd", None));
        assert_eq!(pod(false, "db-1").spec.unwrap().affinity, None);
    }

    #[test]
    fn not_root_is_a_user_namespace_or_another_user() {
        if !getuid().is_root() {
            return;
        }
        let spec = |given| common(given).pod(&unit(User::NotRoot), "p", None).spec.unwrap();
        let own = spec(false);
        let words = own.containers[0].command.clone().unwrap().join(" ");
        assert_eq!(words, format!("{} /usr/bin/postgres", NOT_ROOT.join(" ")));
        assert_eq!(own.security_context.unwrap().run_as_user, Some(0));
        let given = spec(true);
        assert_eq!(given.containers[0].command.as_ref().unwrap().len(), 1);
        assert_eq!(given.security_context.unwrap().run_as_user, Some(1000));
    }

    #[test]
    fn a_pod_with_sent_files_sees_nothing_of_this_machine() {
        let unit = unit(User::Own);
        let files = SentFiles::of(&unit, &[]).unwrap();
        let pod = common(true).pod(&unit, "p", Some(&files)).spec.unwrap();
        assert!(pod.volumes.unwrap().iter().all(|volume| volume.host_path.is_none()));
        assert!(pod.security_context.unwrap().fs_group.is_some(), "its folder is new");
    }

    #[test]
    fn capabilities_of_a_unit_are_added() {
        let added = |capabilities: Vec<Capability>| {
            let unit = Unit { capabilities, ..unit(User::Own) };
            common(false).pod(&unit, "p", None).spec.unwrap().containers[0].security_context.clone()
        };
        let capabilities = added(vec![Capability::DacReadSearch]).unwrap().capabilities.unwrap();
        assert_eq!(capabilities.add.unwrap(), ["DAC_READ_SEARCH"]);
        assert!(added(vec![]).is_none());
    }

    #[test]
    fn a_unit_without_limits_asks_for_nothing() {
        let unit = Unit { limits: Limits::default(), stop: StopSignal::Term, ..unit(User::Own) };
        let pod = common(false).pod(&unit, "p", None).spec.unwrap();
        let resources = pod.containers[0].resources.clone().unwrap();
        assert_eq!((resources.limits, resources.requests), (None, None));
        assert!(pod.containers[0].lifecycle.is_none());
    }
}
