//! Files of parts in a cluster: the class of volumes, which is for parts with file systems of their own, and folders
//! that parts share.

use barograph_spec::Refusals;
use barograph_workload::topology::{Part, Value};

use super::{WrongValue, disk_mib};
use crate::deploy;
use crate::run::CheckedLoad;

/// Refuses a class where no part has a volume.
pub(super) fn volumes(loads: &[CheckedLoad]) -> Result<(), Refusals> {
    let plan = &deploy::plan_of_all(loads).checked.plan;
    let Some(class) = &plan.deploy.cluster.storage_class else { return Ok(()) };
    let planned = deploy::planned(loads);
    let mut parts =
        planned.iter().flat_map(|planned| planned.topology.parts.iter().map(|part| (planned.plan, part)));
    if parts.any(|(plan, part)| disk_mib(plan, part).is_some()) {
        return Ok(());
    }
    let wrong = WrongValue {
        key: "deploy.kubernetes_storage_class",
        value: format!("{class:?}"),
        allowed: "left out where no part has deploy.TIER_disk_mib".to_owned(),
        remedy: "give the part that should be on such a volume a size, or leave it out".to_owned(),
    };
    Err(Refusals(vec![wrong.at(plan)]))
}

/// Refuses folders in which several parts write where pods see no folder of this machine.
pub(super) fn shared_folders(loads: &[CheckedLoad]) -> Result<(), Refusals> {
    let plan = &deploy::plan_of_all(loads).checked.plan;
    if !plan.deploy.sends_files() {
        return Ok(());
    }
    let planned = deploy::planned(loads);
    let mut parts = planned.iter().flat_map(|planned| &planned.topology.parts);
    let is_shared = |part: &&Part| part.values.iter().any(|(_, value)| matches!(value, Value::SiteFolder(_)));
    let Some(part) = parts.find(is_shared) else { return Ok(()) };
    let wrong = WrongValue {
        key: "deploy.kubernetes_files",
        value: "\"sent\"".to_owned(),
        allowed: format!("\"seen\": {} keeps files in a folder that other parts see", part.name),
        remedy: "choose a store for these files that is a server, or nodes that see this machine's folders"
            .to_owned(),
    };
    Err(Refusals(vec![wrong.at(plan)]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::check::{Machine, check_all};
    use crate::testing::{COMMON_KEYS, TestWorkload};

    #[test]
    fn a_class_is_for_parts_with_a_size() {
        let sets = ["load.strategy=fixed", "load.users=1", "deploy.kubernetes_storage_class=fast"];
        let sets = sets.map(str::to_owned);
        let plan = barograph_spec::read(COMMON_KEYS, "p", "", &sets).unwrap();
        let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
        let refused = check_all(&plan, vec![Arc::new(TestWorkload::default())], machine).err().unwrap();
        let said = refused.to_string();
        assert!(
            said.contains("`deploy.kubernetes_storage_class` = \"fast\"\n  allowed: left out where no part"),
            "{said}"
        );
    }
}
