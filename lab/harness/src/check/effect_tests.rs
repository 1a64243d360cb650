//! Notes that depend on the platform, and checks of disk faults.

use std::net::TcpListener;

use super::super::{Machine, check};
use crate::testing::{CATALOGUE, TestWorkload};

const ROOMY: Machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };

/// Returns the notes, or the refusal as an error.
fn told(sets: &[&str]) -> Result<Vec<String>, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let plan = barograph_spec::read(CATALOGUE, "p.toml", "", &sets).unwrap();
    check(&plan, &TestWorkload::default(), ROOMY)
        .map(|checked| checked.notes)
        .map_err(|refused| refused.to_string())
}

fn noted(sets: &[&str], words: &str) -> bool {
    told(sets).unwrap().iter().any(|note| note.contains(words))
}

#[test]
fn keys_of_another_platform_are_noted_and_not_refused() {
    for (key, on) in [
        ("deploy.container_network=host", "boxes"),
        ("deploy.container_engine=unix:///run/docker.sock", "boxes"),
        ("deploy.kubernetes_context=lab", "pods"),
        ("deploy.kubernetes_requests=0.5", "pods"),
        ("deploy.kubernetes_lost_node=replace", "pods"),
        ("deploy.vm_accel=tcg", "machines"),
        ("deploy.vm_manager=libvirt", "machines"),
        ("deploy.hosts=apart", "apart"),
    ] {
        let words = format!("{} does nothing here", key.split('=').next().unwrap());
        assert!(noted(&[key], &words), "{key}");
        assert!(!noted(&[key, &format!("platform={on}")], &words), "{key}");
    }
    assert!(noted(&["deploy.driver_cpus=1"], "deploy.driver_* limits only cores here"));
    assert!(!noted(&["deploy.driver_cpus=1", "platform=apart"], "deploy.driver_*"));
    assert_eq!(told(&["deploy.driver_cores=0"]), Ok(Vec::new()));
    for key in ["deploy.kubernetes_driver_nodes=a=b", "deploy.kubernetes_drivers_apart=true"] {
        let words = "does nothing here: this process drives";
        assert!(noted(&[key, "platform=pods"], words), "{key}");
        assert!(!noted(&[key, "platform=pods", "driver.place=unit"], words), "{key}");
        assert!(noted(&[key], "does nothing here: it is for a platform"), "{key}");
    }
    assert_eq!(told(&[]), Ok(Vec::new()));
}

#[test]
fn a_port_counts_as_taken_only_where_hosts_share_the_machines() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("target.port={}", taken.local_addr().unwrap().port());
    let refused = told(&[&port]).unwrap_err();
    assert!(refused.contains("`target.port`") && refused.contains("stop what listens there"), "{refused}");
    assert!(told(&[&port, "platform=apart"]).is_ok());
}

#[test]
fn a_disk_fault_gives_its_part_a_file_system_or_is_refused() {
    let fill = "actions=[{at_s=1,unit=\"application-1\",act=\"fill-disk\"}]";
    let own = "application-1 has a file system of its own of";
    assert!(noted(&[fill], &format!("{own} 1024 MiB")));
    assert!(noted(&[fill, "deploy.application_disk_mib=64"], &format!("{own} 64 MiB")));
    assert!(noted(&["deploy.application_disk_mib=64"], &format!("{own} 64 MiB")));
    let refused = told(&["actions=[{at_s=1,unit=\"moon-1\",act=\"free-disk\"}]"]).unwrap_err();
    assert!(refused.contains("one of application-1"), "{refused}");
}

#[test]
fn keys_of_a_rule_are_noted_where_the_platform_scales() {
    let of = |sets: &[&str]| {
        let sets = [&["elasticity.tier=application", "elasticity.every_s=5"][..], sets].concat();
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let plan = barograph_spec::read(CATALOGUE, "p.toml", "", &sets).unwrap();
        let workload = TestWorkload { behind: 3, ..TestWorkload::default() };
        check(&plan, &workload, ROOMY).unwrap().notes
    };
    let note = "elasticity.every_s does nothing here: the platform's autoscaler has its own".to_owned();
    assert!(of(&["elasticity.scaler=platform"]).contains(&note));
    assert!(!of(&["elasticity.scaler=cpu"]).contains(&note));
}

#[test]
fn only_several_nodes_behind_another_part_are_scaled() {
    let refused = |behind: usize, unit: &str, count: u32| {
        let sets = [format!("actions=[{{at_s=1,unit=\"{unit}\",act=\"scale\",count={count}}}]")];
        let plan = barograph_spec::read(CATALOGUE, "p.toml", "", &sets).unwrap();
        let workload = TestWorkload { behind, ..TestWorkload::default() };
        check(&plan, &workload, ROOMY).err().map(|refused| refused.0[0].allowed.clone())
    };
    assert_eq!(refused(3, "application", 3), None);
    let none = "no act \"scale\" where no tier has several nodes behind a balancer or web server";
    assert_eq!(refused(0, "application", 1).as_deref(), Some(none));
    assert_eq!(refused(1, "application", 1).as_deref(), Some(none));
    let tiers = "a tier of several nodes behind a balancer or web server for act \"scale\": application";
    for unit in ["web", "application-1", "moon"] {
        assert_eq!(refused(3, unit, 1).as_deref(), Some(tiers), "{unit}");
    }
    let rolling = ["actions=[{at_s=1,unit=\"web\",act=\"rolling-restart\"}]".to_owned()];
    let plan = barograph_spec::read(CATALOGUE, "p.toml", "", &rolling).unwrap();
    let workload = TestWorkload { behind: 3, ..TestWorkload::default() };
    let refused_rolling = check(&plan, &workload, ROOMY).err().unwrap().to_string();
    assert!(refused_rolling.contains("for act \"rolling-restart\": application"), "{refused_rolling}");
    let most = "1 to 2 nodes of application, all of which are deployed when the run begins";
    assert_eq!(refused(2, "application", 3).as_deref(), Some(most));
}

#[test]
fn an_action_after_the_load_is_noted() {
    let at = |at: &str| format!("actions=[{{at_s={at},unit=\"application-1\",act=\"kill\"}}]");
    let fixed =
        ["load.strategy=fixed", "load.users=5", "load.ramp_s=2", "load.warm_up_s=3", "load.window_s=5"];
    let notes = |action: &str| told(&[&fixed[..], &[action]].concat()).unwrap();
    assert_eq!(notes(&at("4")), Vec::<String>::new());
    let late = notes(&at("400"));
    assert!(
        late.iter().any(|note| note.starts_with("kill at 400 s will not be done: the load lasts")),
        "{late:?}"
    );
}

#[test]
fn machines_of_parts_that_share_files_are_not_moved() {
    let moves = |act: &str| format!("actions=[{{at_s=1,unit=\"application-1\",{act}}}]");
    let unit = ["platform=machines", "driver.place=unit"];
    for act in ["act=\"move\"", "act=\"snapshot\",name=\"a\"", "act=\"restore\",name=\"a\""] {
        assert!(told(&[&moves(act), unit[0]]).is_ok());
        let refused = told(&[&moves(act), unit[0], unit[1]]).unwrap_err();
        assert!(refused.contains("hosts that share no folder of this machine"), "{refused}");
    }
    assert!(told(&[&moves("act=\"clone\",name=\"b\""), unit[0], unit[1]]).is_ok());
}

/// Refusals for a plan whose application has two addresses and no data sets.
fn refused_bare(sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let plan = barograph_spec::read(CATALOGUE, "p.toml", "", &sets).unwrap();
    let workload = TestWorkload { bare: true, ..TestWorkload::default() };
    check(&plan, &workload, ROOMY)
        .map_or_else(|refused| refused.0.iter().map(ToString::to_string).collect(), |_| vec![])
}

#[test]
fn keys_of_data_sets_are_refused_for_an_application_without_them() {
    assert_eq!(
        refused_bare(&["data.size=nano"]),
        [
            "--set: `data.size` = \"nano\"\n  allowed: left out with workload = \"test\", which has no data sets\n  to do:   \
          leave it out; it is for data sets that are filled before deploying"
        ]
    );
    assert_eq!(refused_bare(&["data.dir=there", "data.snapshots=0", "data.snapshots_gb=1.5"]).len(), 3);
    let defaults = ["data.size=", "data.dir=data", "data.snapshots=4", "data.snapshots_gb=20.0"];
    assert_eq!(refused_bare(&defaults), [""; 0], "the resolved plan of a record names every key");
}

#[test]
fn a_port_is_refused_for_several_addresses() {
    let refused = refused_bare(&["target.port=8080"]);
    assert_eq!(
        refused,
        [
            "--set: `target.port` = 8080\n  allowed: 0 for an application that answers at 2 addresses\n  to do:   leave it out"
        ]
    );
}
