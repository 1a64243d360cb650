//! Notes on keys and actions that depend on the platform. A study may change `platform` alone, so a key that
//! matters only on another platform is not refused; the note says that it has no effect here.

use barograph_model::{Nanos, Strategy};
use barograph_spec::{Ability, ActionKind, DataPlan, Plan};
use barograph_workload::topology::{Part, PartWork};

use super::{PlanCheck, WrongValue};

/// Whether the application's port is a port of this machine.
pub(super) fn shares_ports(plan: &Plan) -> bool {
    !plan.deploy.has(Ability::Hosts)
}

impl PlanCheck<'_> {
    /// Notes keys that have no effect on this platform.
    pub(super) fn without_effect(&mut self) {
        let plan = &self.plan;
        let given = |key: &str| plan.places.contains_key(key);
        let mut notes = Vec::new();
        for (key, needs) in [
            ("deploy.container_network", Ability::Containers),
            ("deploy.container_engine", Ability::Containers),
            ("deploy.kubernetes_access", Ability::Pods),
            ("deploy.kubernetes_context", Ability::Pods),
            ("deploy.kubernetes_namespace", Ability::Pods),
            ("deploy.kubernetes_image", Ability::Pods),
            ("deploy.kubernetes_files", Ability::Pods),
            ("deploy.kubernetes_nodes", Ability::Pods),
            ("deploy.kubernetes_requests", Ability::Pods),
            ("deploy.kubernetes_pending_s", Ability::Pods),
            ("deploy.kubernetes_storage_class", Ability::Pods),
            ("deploy.kubernetes_lost_node", Ability::Pods),
            ("deploy.kubernetes_driver_nodes", Ability::Pods),
            ("deploy.kubernetes_drivers_apart", Ability::Pods),
            ("deploy.vm_accel", Ability::Machines),
            ("deploy.vm_manager", Ability::Machines),
        ] {
            if given(key) && !plan.deploy.has(needs) {
                notes.push(format!("{key} does nothing here: it is for a platform {}", needs.words()));
            }
        }
        let is_every_host = !plan.deploy.has(Ability::Hosts);
        let of_hosts = [
            ("deploy.hosts", given("deploy.hosts") && plan.deploy.hosts == "apart"),
            ("deploy.spread_over", plan.deploy.spread_over > 0),
        ];
        for (key, _) in of_hosts.into_iter().filter(|(_, is_asked)| is_every_host && *is_asked) {
            let platform = &plan.deploy.platform;
            notes.push(format!(
                "{key} does nothing here: on platform = {platform:?} this machine is every host"
            ));
        }
        if plan.deploy.spread_over > 0 && plan.letter.is_none() {
            notes.push("deploy.spread_over does nothing here: one load is on one host".to_owned());
        }
        let of_own_rule = ["elasticity.tolerance", "elasticity.every_s"];
        for key in of_own_rule.into_iter().filter(|key| plan.elasticity.follows_platform() && given(key)) {
            notes.push(format!("{key} does nothing here: the platform's autoscaler has its own"));
        }
        let is_fixed = matches!(plan.of_all(), Strategy::Fixed { .. });
        if plan.stagger > Nanos::ZERO && !is_fixed {
            let note = "load.stagger_s does nothing here: tiles of a search or a path begin together";
            notes.push(note.to_owned());
        }
        let limits = plan.deploy.limits_of("driver");
        let limited = limits.is_some_and(|l| {
            let rate = l.disk_mb_s > 0.0;
            l.cpus > 0.0 || l.memory_mib > 0 || l.disk_mib > 0 || rate
        });
        let drives_alone = plan.driver_units() == 0;
        let in_pods = ["deploy.kubernetes_driver_nodes", "deploy.kubernetes_drivers_apart"];
        let has_no_pod = drives_alone && plan.deploy.has(Ability::Pods);
        for key in in_pods.into_iter().filter(|key| has_no_pod && given(key)) {
            notes.push(format!(
                "{key} does nothing here: this process drives; driver.place = \"unit\" makes it a part"
            ));
        }
        if limited && drives_alone {
            notes.push(
                "deploy.driver_* limits only cores here: this process drives; driver.place = \"unit\" makes it a part"
                    .to_owned(),
            );
        }
        self.notes.append(&mut notes);
    }

    /// Refuses keys of data sets for an application without data sets. A target that any workload may load
    /// accepts them, so that another workload can use a plan with data.
    pub(super) fn without_data_sets(&mut self) {
        if self.workload.application().is_none_or(|application| application.data_sets().is_some()) {
            return;
        }
        let (data, default) = (self.plan.data.clone(), DataPlan::default());
        let keys = [
            ("data.size", data.size != default.size, format!("{:?}", data.size)),
            ("data.dir", data.dir != default.dir, format!("{:?}", data.dir.display().to_string())),
            ("data.snapshots", data.snapshots != default.snapshots, data.snapshots.to_string()),
            ("data.snapshots_gb", data.snapshots_gb != default.snapshots_gb, data.snapshots_gb.to_string()),
        ];
        for (key, asks, value) in keys {
            // Another of several loads may have data sets; only the size belongs to one load.
            if asks && (self.plan.load.is_empty() || key == "data.size") {
                self.refuse(WrongValue {
                    key,
                    value,
                    allowed: format!(
                        "left out with workload = {:?}, which has no data sets",
                        self.plan.workload
                    ),
                    remedy: "leave it out; it is for data sets that are filled before deploying".to_owned(),
                });
            }
        }
    }

    /// Checks parts with file systems of their own.
    pub(super) fn disks(&mut self) {
        let Some(topology) = self.topology() else { return };
        let parts = topology.parts.iter().filter(|part| matches!(part.work, PartWork::Service(_)));
        let notes: Vec<String> = parts
            .filter_map(|part| Some((part, disk_mib(&self.plan, part)?)))
            .map(|(part, mib)| format!("{} has a file system of its own of {mib} MiB", part.name))
            .collect();
        self.notes.extend(notes);
    }
}

/// Size of the part's own file system in MiB; `None` if it has none.
pub(crate) fn disk_mib(plan: &Plan, part: &Part) -> Option<u64> {
    let of_disk = |act: &ActionKind| matches!(act, ActionKind::FillDisk | ActionKind::FreeDisk);
    let filled = plan.actions.iter().any(|action| of_disk(&action.act) && action.unit == part.name);
    plan.deploy.disk_mib(part.tier, filled)
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
