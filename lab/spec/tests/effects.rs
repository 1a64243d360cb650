//! Keys without any effect in their plan are refused; those without effect on one platform only are not.

use std::sync::Arc;

use barograph_spec::{
    Ability, Catalogue, Plan, PlatformKind, Refusals, SettingsReader, WorkloadKeys, WorkloadSettings, read,
};

/// A workload with an application of two tiers and a key of its own.
struct Shop;

#[derive(Debug)]
struct ShopPlan(u64);

impl WorkloadKeys for Shop {
    fn name(&self) -> &'static str {
        "shop"
    }
    fn tiers(&self) -> &'static [&'static str] {
        &["web", "store"]
    }
    fn asks_target(&self) -> bool {
        true
    }
    fn read(&self, given: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        given.number("data.shelves", 1..=9, 1)?;
        Some(Arc::new(ShopPlan(given.number("deploy.tills", 1..=9, 2)?)))
    }
}

impl WorkloadSettings for ShopPlan {}

/// A workload for any target, with the file of a script.
struct Script;

impl WorkloadKeys for Script {
    fn name(&self) -> &'static str {
        "script"
    }
    fn read(&self, given: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        given.optional_word("script", "a file")?;
        Some(Arc::new(ShopPlan(0)))
    }
}

/// A platform without hosts of its own, one with links, and one whose hosts are machines.
const PLATFORMS: [PlatformKind; 3] = [
    PlatformKind { name: "here", abilities: &[Ability::Disks] },
    PlatformKind { name: "linked", abilities: &[Ability::Hosts, Ability::Links, Ability::Disks] },
    PlatformKind { name: "guests", abilities: &[Ability::Hosts, Ability::Machines, Ability::Links] },
];

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusals> {
    let catalogue = Catalogue { workloads: &[&Shop, &Script], platforms: &PLATFORMS };
    read(catalogue, "p.toml", text, &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
}

/// The refused keys.
fn refused(sets: &[&str]) -> Vec<String> {
    plan("", sets).map_or_else(|refused| refused.0.into_iter().map(|r| r.key).collect(), |_| Vec::new())
}

#[test]
fn a_workload_reads_its_own_keys_and_they_are_in_the_resolved_plan() {
    let first = plan("[deploy]\ntills = 5\n", &[]).unwrap();
    assert_eq!((first.workload.as_str(), first.settings::<ShopPlan>().unwrap().0), ("shop", 5));
    assert!(first.resolved.contains("\ntills = 5\n"), "{}", first.resolved);
    let again = plan(&first.resolved, &[]).unwrap();
    assert_eq!((again.settings::<ShopPlan>().unwrap().0, &again.resolved), (5, &first.resolved));
    assert_eq!(refused(&["deploy.tills=10"]), ["deploy.tills"]);
}

#[test]
fn keys_of_another_workload_are_refused_where_they_ask_for_something() {
    let why = plan("script = \"a\"", &[]).unwrap_err().to_string();
    let expected = "p.toml:1: `script` = \"a\"\n  allowed: only with workload = \"script\"\n  \
                    to do:   leave `script` out, or set workload = \"script\"";
    assert_eq!(why, expected);
    let script = "workload=script";
    assert_eq!(refused(&[script, "deploy.tills=3"]), ["deploy.tills"]);
    assert_eq!(refused(&[script, "deploy.web_cpus=1"]), ["deploy.web_cpus"]);
    assert_eq!(refused(&[script, "data.shelves=3"]), Vec::<String>::new());
    // Resolved plans of earlier versions name all keys.
    assert_eq!(refused(&[script, "deploy.tills=2", "deploy.web_cpus=0.0"]), Vec::<String>::new());
    let resolved = plan("", &[script]).unwrap().resolved;
    assert!(!resolved.contains("tills") && !resolved.contains("web_cpus"), "{resolved}");
}

#[test]
fn a_workload_that_does_not_exist_is_refused_once() {
    assert_eq!(refused(&["workload=shops", "deploy.tills=3"]), ["workload"]);
    let why = plan("", &["workload=shops"]).unwrap_err();
    assert_eq!(why.0[0].allowed, "one of shop, script");
}

#[test]
fn a_driver_in_real_time_does_not_poll() {
    assert_eq!(refused(&["driver.realtime=true", "driver.poll_us=100"]), ["driver.poll_us"]);
    assert_eq!(refused(&["driver.realtime=true", "driver.poll_us=0"]), Vec::<String>::new());
    assert_eq!(refused(&["driver.poll_us=100"]), Vec::<String>::new());
}

#[test]
fn nothing_of_a_deployment_goes_with_a_target_that_is_there() {
    let url = "target.url=http://127.0.0.1:9";
    for set in ["deploy.tills=3", "deploy.web_cpus=1", "deploy.web_cores=0", "deploy.hosts=together"] {
        let key = set.split('=').next().unwrap();
        assert!(refused(&[url, set]).contains(&key.to_owned()), "{set}: {:?}", refused(&[url, set]));
    }
    assert_eq!(refused(&[url, "target.port=8080"]), ["target.port"]);
    assert_eq!(refused(&["workload=script", "deploy.hosts=together"]), ["deploy.hosts"]);
    for there in ["driver.place=own", "workload=script", url] {
        assert_eq!(refused(&[there, "deploy.driver_cores=0"]), Vec::<String>::new(), "{there}");
    }
    assert_eq!(refused(&["driver.place=own", "deploy.driver_cpus=1"]), ["deploy.driver_cpus"]);
    // A workload that asks the target says so.
    assert_eq!(refused(&[url, "deploy.statistics=false"]), Vec::<String>::new());
    assert_eq!(refused(&["workload=script", "deploy.statistics=false"]), ["deploy.statistics"]);
    // Drivers that are units are deployed as well.
    assert_eq!(refused(&[url, "deploy.driver_cpus=1"]), ["deploy.driver_cpus"]);
    assert_eq!(refused(&[url, "deploy.driver_cpus=1", "driver.place=unit"]), Vec::<String>::new());
    assert_eq!(refused(&[url, "deploy.driver_cpus=1", "driver.count=2"]), Vec::<String>::new());
}

#[test]
fn one_changed_platform_refuses_nothing_that_matters_on_another() {
    let sets = [
        "deploy.container_network=host",
        "deploy.container_engine=unix:///run/podman/podman.sock",
        "deploy.kubernetes_context=lab",
        "deploy.vm_accel=tcg",
        "deploy.vm_manager=libvirt",
        "deploy.driver_cpus=1",
        "deploy.driver_cores=0",
        "deploy.hosts=together",
    ];
    for platform in PLATFORMS {
        let platform = format!("platform={}", platform.name);
        assert_eq!(refused(&[&sets[..], &[&platform]].concat()), Vec::<String>::new(), "{platform}");
    }
}

#[test]
fn an_engine_is_a_socket_of_this_machine_and_stays_in_the_resolved_plan() {
    let socket = "unix:///run/podman/podman.sock";
    let first = plan("", &[&format!("deploy.container_engine={socket}"), "deploy.vm_accel=kvm"]).unwrap();
    assert_eq!(first.deploy.container_engine.as_deref(), Some(socket));
    assert_eq!(plan(&first.resolved, &[]).unwrap().deploy, first.deploy);
    assert_eq!(plan("", &[]).unwrap().deploy.container_engine, None);
    for wrong in ["tcp://10.0.0.2:2375", "docker"] {
        assert_eq!(refused(&[&format!("deploy.container_engine={wrong}")]), ["deploy.container_engine"]);
    }
    assert_eq!(refused(&["deploy.vm_accel=hvf"]), ["deploy.vm_accel"]);
}

#[test]
fn what_is_asked_of_a_cluster_stays_in_the_resolved_plan() {
    let sets = [
        "deploy.kubernetes_access=/home/a/config",
        "deploy.kubernetes_context=lab",
        "deploy.kubernetes_namespace=team",
        "deploy.kubernetes_image=registry:5000/tools:1.2",
        "deploy.kubernetes_files=sent",
        "deploy.kubernetes_nodes=disk=ssd,zone=a",
        "deploy.kubernetes_requests=0.5",
        "deploy.kubernetes_pending_s=60",
        "deploy.kubernetes_storage_class=fast",
        "deploy.kubernetes_lost_node=replace",
        "deploy.kubernetes_driver_nodes=role=driver",
        "deploy.kubernetes_drivers_apart=true",
    ];
    let first = plan("", &sets).unwrap();
    let cluster = &first.deploy.cluster;
    assert_eq!((cluster.context.as_deref(), cluster.requests), (Some("lab"), 0.5));
    assert_eq!((cluster.nodes.as_deref(), cluster.sends_files), (Some("disk=ssd,zone=a"), true));
    assert_eq!((cluster.driver_nodes.as_deref(), cluster.drivers_apart), (Some("role=driver"), true));
    assert!(cluster.replaces_lost && !plan("", &[]).unwrap().deploy.cluster.replaces_lost);
    assert_eq!(plan(&first.resolved, &[]).unwrap().deploy, first.deploy);
    for wrong in [
        "image=redis",
        "image=redis:latest",
        "nodes=ssd",
        "requests=2",
        "pending_s=0",
        "lost_node=wait",
        "driver_nodes=b",
    ] {
        let key = format!("deploy.kubernetes_{}", wrong.split('=').next().unwrap());
        assert_eq!(refused(&[&format!("deploy.kubernetes_{wrong}")]), [key]);
    }
}

#[test]
fn a_part_has_a_disk_where_the_plan_or_a_fault_says_so() {
    let deploy = plan("", &["deploy.store_disk_mib=300"]).unwrap().deploy;
    assert_eq!((deploy.disk_mib("store", true), deploy.disk_mib("store", false)), (Some(300), Some(300)));
    assert_eq!((deploy.disk_mib("web", true), deploy.disk_mib("web", false)), (Some(1_024), None));
}

#[test]
fn a_file_system_has_room_for_itself() {
    assert_eq!(refused(&["deploy.store_disk_mib=31"]), ["deploy.store_disk_mib"]);
}
