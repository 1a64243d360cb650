//! Keys that can have no effect in their plan are refused; those that have none on one platform only are not.

use barograph_spec::{PLATFORMS, Plan, Refused, read};

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refused> {
    read("p.toml", text, &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>())
}

/// The keys that are refused.
fn refused(sets: &[&str]) -> Vec<String> {
    plan("", sets).map_or_else(|refused| refused.0.into_iter().map(|r| r.key).collect(), |_| Vec::new())
}

#[test]
fn a_key_that_can_do_nothing_is_refused_by_itself() {
    let wrong: [(&[&str], &str); 17] = [
        (&["deploy.like=minimal", "deploy.web_nodes=2"], "deploy.web_nodes"),
        (&["deploy.like=minimal", "deploy.balancer_nodes=3"], "deploy.balancer_nodes"),
        (&["deploy.web_cpus=1"], "deploy.web_cpus"),
        (&["deploy.web_cores=0-1"], "deploy.web_cores"),
        (&["driver.place=own", "deploy.driver_cores=0"], "deploy.driver_cores"),
        (&["deploy.balancer_memory_mib=64"], "deploy.balancer_memory_mib"),
        (&["deploy.like=minimal", "deploy.bids_cpus=0.5"], "deploy.bids_cpus"),
        (&["deploy.bids_memory_mib=512"], "deploy.bids_memory_mib"),
        (&["deploy.like=minimal", "deploy.bus_cpus=1"], "deploy.bus_cpus"),
        (&["deploy.relational_disk_mib=64"], "deploy.relational_disk_mib"),
        (&["deploy.like=minimal", "deploy.events_memory_mib=1"], "deploy.events_memory_mib"),
        (&["deploy.flavour=vanilla"], "deploy.flavour"),
        (&["driver.place=own", "deploy.driver_cpus=1"], "deploy.driver_cpus"),
        (&["target.tls.verify=false"], "target.tls.verify"),
        (&["deploy.like=full", "deploy.tls=true", "target.tls.authorities=ca.pem"], "target.tls.authorities"),
        (&["platform=namespace", "deploy.like=full-ha", "target.port=8080"], "target.port"),
        (&["deploy.like=minimal", "deploy.relational_disk_mib=31"], "deploy.relational_disk_mib"),
    ];
    for (sets, key) in wrong {
        assert_eq!(refused(sets), [key], "{sets:?}");
    }
}

#[test]
fn a_refusal_names_place_value_what_is_allowed_and_what_to_do() {
    let text = "[deploy]\nlike = \"minimal\"\nweb_nodes = 2\n";
    assert_eq!(
        plan(text, &[]).unwrap_err().to_string(),
        "p.toml:3: `deploy.web_nodes` = 2\n  allowed: left out with deploy.web = \"none\"\n  to do:   leave it out, or name \
         a service as deploy.web"
    );
    let there =
        plan("[deploy]\nlike = \"minimal\"\n", &["target.url=http://127.0.0.1:9"]).unwrap_err().to_string();
    assert_eq!(
        there,
        "p.toml:2: `deploy.like` = \"minimal\"\n  allowed: left out with target.url, where the target is there already\n  \
         to do:   leave it out, or let the run deploy the application"
    );
}

#[test]
fn nothing_of_a_deployment_goes_with_a_target_that_is_there() {
    let url = "target.url=http://127.0.0.1:9";
    for set in [
        "deploy.like=full",
        "deploy.application_nodes=2",
        "deploy.application_cpus=1",
        "deploy.application_cores=0",
        "deploy.hosts=together",
    ] {
        let key = set.split('=').next().unwrap();
        assert!(refused(&[url, set]).contains(&key.to_owned()), "{set}: {:?}", refused(&[url, set]));
    }
    assert_eq!(refused(&[url, "target.port=8080"]), ["target.port"]);
    assert_eq!(refused(&[url, "target.threads=2"]), ["target.threads"]);
    assert_eq!(refused(&[url, "target.tls.verify=false"]), Vec::<String>::new());
    let scenario = ["workload=scenario", "scenario=x.toml", "deploy.relational=postgres"];
    assert_eq!(refused(&scenario), ["deploy.relational"]);
    // Drivers are deployed all the same, where they are units.
    assert_eq!(refused(&[url, "deploy.driver_cpus=1"]), ["deploy.driver_cpus"]);
    assert_eq!(refused(&[url, "deploy.driver_cpus=1", "driver.place=unit"]), Vec::<String>::new());
    assert_eq!(refused(&[url, "deploy.driver_cpus=1", "driver.count=2"]), Vec::<String>::new());
}

#[test]
fn one_changed_platform_refuses_nothing_that_matters_on_another() {
    let sets = [
        "deploy.like=minimal",
        "deploy.container_network=host",
        "deploy.container_engine=unix:///run/podman/podman.sock",
        "deploy.vm_accel=tcg",
        "deploy.driver_cpus=1",
        "deploy.driver_cores=0",
        "deploy.hosts=together",
    ];
    for platform in PLATFORMS {
        let platform = format!("platform={platform}");
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
fn a_value_that_is_the_default_asks_for_nothing() {
    assert_eq!(
        refused(&[
            "deploy.web_nodes=1",
            "deploy.bids_cpus=0",
            "deploy.bids_cores=\"\"",
            "target.tls.verify=true"
        ]),
        Vec::<String>::new()
    );
    for sets in [&["deploy.like=full"][..], &["deploy.like=full", "deploy.tls=true", "deploy.bids_cpus=1.5"]]
    {
        let first = plan("", sets).unwrap();
        let second = plan(&first.resolved, &[]).unwrap();
        assert_eq!(first.deploy, second.deploy, "a resolved plan names every key");
    }
}

#[test]
fn a_part_has_a_disk_where_the_plan_or_a_fault_says_so() {
    let deploy = plan("", &["deploy.like=minimal", "deploy.relational_disk_mib=300"]).unwrap().deploy;
    assert_eq!(
        (deploy.disk_mib("relational", true), deploy.disk_mib("relational", false)),
        (Some(300), Some(300))
    );
    assert_eq!(
        (deploy.disk_mib("application", true), deploy.disk_mib("application", false)),
        (Some(1_024), None)
    );
}
