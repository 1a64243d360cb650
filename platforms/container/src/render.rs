//! Units and hosts in the form of an engine's API.

use std::collections::HashMap;
use std::path::Path;

use barograph_platform::{HostSpec, Unit, User};
use bollard::models::{
    ContainerCreateBody, EndpointSettings, HostConfig, HostConfigLogConfig, NetworkingConfig,
};
use rustix::process::{getgid, getuid};

use crate::limits::{self, Machine};
use crate::mounts::View;
use crate::names::LABEL;
use crate::options::Networking;

/// Search path of programs: containers do not inherit this process's environment, and engines set different
/// ones.
const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Waits for ever and collects orphaned processes, as the first process of a machine does.
const HOLD: &str = "sleep infinity & wait";

/// Largest shared memory of a host in bytes. Engines default to 64 MiB, too little for PostgreSQL; a machine
/// has half of its memory, and unused space is not allocated.
const SHARED_MEMORY: i64 = 8 << 30;

/// Words that make a program's user other than root: a user namespace, in which its files still belong to
/// root outside.
const NOT_ROOT: [&str; 5] = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"];

/// User id in a given image instead, as the image may lack `unshare`.
const OTHER_USER: u32 = 1000;

/// State shared by all containers of a site.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) site: String,
    pub(crate) image: String,
    /// Whether the image was given by the user.
    pub(crate) given_image: bool,
    pub(crate) networking: Networking,
    /// Network of the site in the engine.
    pub(crate) network: String,
    pub(crate) view: View,
    pub(crate) machine: Machine,
    /// Control group of the site, if the engine accepts one.
    pub(crate) group: Option<String>,
    /// Whether the engine sees other files than this process does.
    pub(crate) remote: bool,
}

impl Common {
    /// Returns the owner of a unit's files inside a container, if it is not the user that runs Barograph.
    pub(crate) fn other_user(&self, user: User) -> Option<u32> {
        (user == User::NotRoot && self.given_image && getuid().is_root()).then_some(OTHER_USER)
    }

    /// Returns the holder of a host.
    pub(crate) fn holder(&self, host: &HostSpec) -> ContainerCreateBody {
        let endpoint = HashMap::from([(self.network.clone(), EndpointSettings::default())]);
        let joins = self.networking == Networking::Bridge;
        ContainerCreateBody {
            image: Some(self.image.clone()),
            hostname: joins.then(|| host.name.clone()),
            entrypoint: Some(["/bin/sh", "-c", HOLD].map(str::to_owned).to_vec()),
            cmd: Some(Vec::new()),
            labels: Some(self.labels()),
            host_config: Some(HostConfig {
                network_mode: Some(if joins { self.network.clone() } else { "host".to_owned() }),
                ipc_mode: Some("shareable".to_owned()),
                shm_size: Some(SHARED_MEMORY),
                mounts: Some(self.view.mounts()),
                ..self.host_config(&host.name)
            }),
            networking_config: joins.then_some(NetworkingConfig { endpoints_config: Some(endpoint) }),
            ..ContainerCreateBody::default()
        }
    }

    /// Returns a command of a unit, its program or a step, inside the host of `holder`.
    pub(crate) fn unit(
        &self,
        unit: &Unit,
        holder: &str,
        program: &Path,
        args: &[String],
    ) -> ContainerCreateBody {
        let joined = Some(format!("container:{holder}"));
        let mut words = self.user_words(unit.user);
        words.push(program.to_string_lossy().into_owned());
        let limited = limits::of_new(&unit.limits, self.machine);
        let rates = limits::of_disks(&unit.limits);
        // In a network of its own a unit may set addresses, such as a virtual one that moves between hosts.
        let addresses = (self.networking == Networking::Bridge).then_some("NET_ADMIN");
        let own = unit.capabilities.iter().map(|capability| capability.name());
        let capabilities: Vec<String> = addresses.into_iter().chain(own).map(str::to_owned).collect();
        let free = self.frees_namespaces(unit.user).then(|| vec!["seccomp=unconfined".to_owned()]);
        let own = self.view.with_folder(&unit.workdir);
        let bound = if self.remote { View::bind(&unit.workdir) } else { None };
        let mounts = if bound.is_some() { self.view.mounts() } else { own.mounts() };
        ContainerCreateBody {
            image: Some(self.image.clone()),
            user: Some(self.user(unit.user)),
            env: Some(environment(&unit.env)),
            entrypoint: Some(words),
            cmd: Some(args.to_vec()),
            working_dir: Some(unit.workdir.to_string_lossy().into_owned()),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            open_stdin: Some(true),
            stdin_once: Some(true),
            labels: Some(self.labels()),
            host_config: Some(HostConfig {
                nano_cpus: limited.nano_cpus,
                cpuset_cpus: limited.cpuset_cpus,
                memory: limited.memory,
                memory_swap: limited.memory_swap,
                blkio_device_read_bps: rates.clone(),
                blkio_device_write_bps: rates,
                network_mode: joined.clone(),
                pid_mode: joined.clone(),
                ipc_mode: joined,
                mounts: Some(mounts),
                binds: bound.map(|bind| vec![bind]),
                cap_add: Some(capabilities).filter(|all| !all.is_empty()),
                security_opt: free,
                ..self.host_config(&unit.host)
            }),
            ..ContainerCreateBody::default()
        }
    }

    /// Returns the labels of a site's things, by which users find them.
    pub(crate) fn labels(&self) -> HashMap<String, String> {
        HashMap::from([(LABEL.to_owned(), self.site.clone())])
    }

    fn host_config(&self, host: &str) -> HostConfig {
        HostConfig {
            cgroup_parent: self.group.as_ref().map(|group| format!("/{group}/{host}")),
            // Output is read from the streams; a log of the engine would write it twice.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            ..HostConfig::default()
        }
    }

    fn user(&self, user: User) -> String {
        match self.other_user(user) {
            Some(id) => format!("{id}:{id}"),
            None => format!("{}:{}", getuid().as_raw(), getgid().as_raw()),
        }
    }

    fn user_words(&self, user: User) -> Vec<String> {
        let words: &[&str] = if self.frees_namespaces(user) { &NOT_ROOT } else { &[] };
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    /// Whether new namespaces must be allowed, which engines forbid by default.
    fn frees_namespaces(&self, user: User) -> bool {
        user == User::NotRoot && !self.given_image && getuid().is_root()
    }
}

fn environment(own: &[(String, String)]) -> Vec<String> {
    let mut all = vec![PATH.to_owned()];
    all.extend(own.iter().map(|(name, value)| format!("{name}={value}")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_platform::{Capability, Limits, Readiness};

    fn common(given_image: bool, networking: Networking) -> Common {
        Common {
            site: "x1".to_owned(),
            image: "barograph/machine:of-x1".to_owned(),
            given_image,
            networking,
            network: "bg-x1".to_owned(),
            view: View::new(false, &["/opt/shared".into()], &[]),
            machine: Machine::of(&bollard::models::SystemInfo {
                ncpu: Some(2),
                mem_total: Some(1 << 30),
                ..Default::default()
            }),
            group: Some("bg-x1".to_owned()),
            remote: false,
        }
    }

    fn unit(user: User) -> Unit {
        Unit {
            host: "db".to_owned(),
            args: vec!["-D".to_owned(), "data".to_owned()],
            env: vec![("LANG".to_owned(), "C".to_owned())],
            workdir: "/w/pg".into(),
            user,
            limits: Limits { cpus: Some(0.25), ..Limits::default() },
            ..Unit::new("pg", "/usr/bin/postgres".into(), Readiness::Runs)
        }
    }

    #[test]
    fn a_unit_joins_its_host() {
        let common = common(false, Networking::Bridge);
        let unit = unit(User::Own);
        let body = common.unit(&unit, "bg-host-x1-db", &unit.program, &unit.args);
        assert_eq!(body.entrypoint, Some(vec!["/usr/bin/postgres".to_owned()]));
        assert_eq!(body.cmd, Some(vec!["-D".to_owned(), "data".to_owned()]));
        assert_eq!(body.env.unwrap()[1], "LANG=C");
        let host = body.host_config.unwrap();
        assert_eq!(host.network_mode, host.pid_mode);
        assert_eq!(host.ipc_mode.as_deref(), Some("container:bg-host-x1-db"));
        assert_eq!(host.cgroup_parent.as_deref(), Some("/bg-x1/db"));
        assert_eq!(host.nano_cpus, Some(250_000_000));
        assert!(host.security_opt.is_none());
        let seen: Vec<(String, bool)> = host
            .mounts
            .unwrap()
            .into_iter()
            .map(|mount| (mount.target.unwrap(), mount.read_only.unwrap()))
            .collect();
        assert_eq!(seen, [("/opt/shared".to_owned(), true), ("/w/pg".to_owned(), false)]);
    }

    #[test]
    fn not_root_is_a_user_namespace_or_another_user() {
        if !getuid().is_root() {
            return;
        }
        let unit = unit(User::NotRoot);
        let own = common(false, Networking::Bridge).unit(&unit, "h", &unit.program, &[]);
        assert_eq!(own.user.as_deref(), Some("0:0"));
        assert_eq!(own.entrypoint.unwrap().join(" "), format!("{} /usr/bin/postgres", NOT_ROOT.join(" ")));
        let given = common(true, Networking::Host).unit(&unit, "h", &unit.program, &[]);
        assert_eq!(given.user.as_deref(), Some("1000:1000"));
        assert_eq!(given.entrypoint, Some(vec!["/usr/bin/postgres".to_owned()]));
        assert!(given.host_config.unwrap().cap_add.is_none(), "the network is not the site's own");
    }

    #[test]
    fn capabilities_of_a_unit_are_added() {
        let unit = Unit { capabilities: vec![Capability::DacReadSearch], ..unit(User::Own) };
        let added = |networking| {
            common(false, networking)
                .unit(&unit, "h", &unit.program, &[])
                .host_config
                .unwrap()
                .cap_add
                .unwrap()
        };
        assert_eq!(added(Networking::Host), ["DAC_READ_SEARCH"]);
        assert_eq!(added(Networking::Bridge), ["NET_ADMIN", "DAC_READ_SEARCH"]);
    }

    #[test]
    fn a_remote_engine_makes_the_units_folder() {
        let common = Common { remote: true, ..common(false, Networking::Bridge) };
        let unit = unit(User::Own);
        let host = common.unit(&unit, "h", &unit.program, &[]).host_config.unwrap();
        assert_eq!(host.binds, Some(vec!["/w/pg:/w/pg".to_owned()]));
        assert_eq!(host.mounts.unwrap().len(), 1);
    }

    #[test]
    fn a_holder_is_a_host() {
        let host = HostSpec { name: "db".to_owned(), ..HostSpec::default() };
        let body = common(false, Networking::Bridge).holder(&host);
        assert_eq!(body.hostname.as_deref(), Some("db"));
        assert_eq!(body.host_config.unwrap().network_mode.as_deref(), Some("bg-x1"));
        let body = common(false, Networking::Host).holder(&host);
        assert_eq!((body.hostname, body.networking_config), (None, None));
        assert_eq!(body.host_config.unwrap().network_mode.as_deref(), Some("host"));
    }
}
