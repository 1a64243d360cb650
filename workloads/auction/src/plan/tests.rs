//! Topologies: their defaults, conflicts, and keys without effect.

use barograph_spec::{Ability, Catalogue, Plan, PlatformKind, Refusals, TlsPlan, explain, read};

use super::AuctionPlan;
use crate::Auctions;

/// This machine, and hosts with all abilities.
const PLATFORMS: [PlatformKind; 2] = [
    PlatformKind { name: "here", abilities: &[] },
    PlatformKind { name: "apart", abilities: &[Ability::Hosts, Ability::Links, Ability::VirtualAddresses] },
];

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusals> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    read(Catalogue { workloads: &[&Auctions], platforms: &PLATFORMS }, "p.toml", text, &sets)
}

fn own(text: &str, sets: &[&str]) -> AuctionPlan {
    AuctionPlan::of(&plan(text, sets).unwrap()).clone()
}

/// The refused keys.
fn refused(sets: &[&str]) -> Vec<String> {
    plan("", sets).map_or_else(|refused| refused.0.into_iter().map(|r| r.key).collect(), |_| Vec::new())
}

#[test]
fn an_empty_plan_is_the_default() {
    assert_eq!(own("", &[]), AuctionPlan::DEFAULT);
}

#[test]
fn a_topology_gives_the_rest_its_defaults() {
    let d = own("", &[]).deploy;
    assert!(d.is_embedded());
    assert_eq!((d.web_nodes, d.balancer_nodes, d.bid_nodes, d.application_nodes), (0, 0, 0, 1));
    let d = own("deploy.like = \"minimal\"", &[]).deploy;
    assert_eq!((d.relational, d.events, d.bus), ("postgres", "same", "none"));
    let d = own("deploy.like = \"full\"\ndeploy.application_nodes = 4", &[]).deploy;
    assert_eq!((d.application_nodes, d.bid_nodes, d.web_nodes, d.balancer_nodes), (4, 1, 2, 1));
    assert_eq!((d.web, d.bus, d.events), ("nginx", "rabbitmq", "ferretdb"));
    let d = own("platform = \"apart\"\ndeploy.like = \"full-ha\"", &[]).deploy;
    assert_eq!((d.balancer_nodes, d.virtual_addresses, d.standby), (2, 1, true));
}

#[test]
fn a_topology_with_an_embedded_store_has_nothing_around_it() {
    let d = own("", &["deploy.like=full", "deploy.relational=embedded"]).deploy;
    assert_eq!((d.like, d.nodes(), d.web, d.bus), ("full", 1, "none", "none"));
}

#[test]
fn open_files_hold_for_each_thread_of_a_node_that_users_reach_and_whose_stores_are_files() {
    let tables = |sets: &[&str]| {
        let plan = plan("", sets).unwrap();
        crate::topology::tables(&plan, AuctionPlan::of(&plan))
    };
    assert_eq!(tables(&[]), barograph_auction::MOST_THREADS);
    assert_eq!(tables(&["target.threads=3"]), 3);
    assert_eq!(tables(&["deploy.application_cpus=1.5"]), 2);
    assert_eq!(tables(&["deploy.web=nginx"]), 1);
    assert_eq!(tables(&["deploy.like=minimal"]), 1);
}

#[test]
fn a_plan_as_resolved_reads_back_to_itself() {
    let text = "platform = \"apart\"\ndeploy.like = \"full\"\ndeploy.tls = true\ndata.history = 0.5\n";
    let first = plan(text, &[]).unwrap();
    assert_eq!(own(&first.resolved, &[]), *AuctionPlan::of(&first));
    assert_eq!(plan(&first.resolved, &[]).unwrap().resolved, first.resolved);
    for sets in [&["deploy.like=full"][..], &["deploy.like=full", "deploy.tls=true", "deploy.bids_cpus=1.5"]]
    {
        let first = plan("", sets).unwrap();
        assert_eq!(own(&first.resolved, &[]), own("", sets), "a resolved plan names every key");
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_its_key() {
    let wrong: [(&[&str], &str); 11] = [
        (&["deploy.bus=nats"], "deploy.bus"),
        (&["deploy.sql_durability=off"], "deploy.sql_durability"),
        (&["deploy.application_nodes=2"], "deploy.application_nodes"),
        (&["deploy.relational=mariadb"], "deploy.events"),
        (&["deploy.relational=mariadb", "deploy.events=ferretdb", "deploy.standby=true"], "deploy.standby"),
        (&["deploy.like=minimal", "deploy.application_nodes=2"], "deploy.bus"),
        (&["deploy.like=full", "deploy.web=none"], "deploy.bid_nodes"),
        (&["deploy.like=full", "deploy.balancer=none"], "deploy.web_nodes"),
        (&["deploy.images=nfs"], "deploy.images"),
        (&["deploy.like=full-ha"], "deploy.virtual_addresses"),
        (&["deploy.like=minimal", "deploy.tls=true"], "deploy.tls"),
    ];
    for (sets, key) in wrong {
        assert_eq!(refused(sets).first().map(String::as_str), Some(key), "{sets:?}");
    }
}

#[test]
fn a_key_that_can_do_nothing_is_refused_by_itself() {
    let wrong: [(&[&str], &str); 17] = [
        (&["deploy.like=minimal", "deploy.web_nodes=2"], "deploy.web_nodes"),
        (&["deploy.like=minimal", "deploy.balancer_nodes=3"], "deploy.balancer_nodes"),
        (&["deploy.like=minimal", "deploy.event_nodes=2"], "deploy.event_nodes"),
        (&["deploy.like=minimal", "deploy.bus_nodes=2"], "deploy.bus_nodes"),
        (&["deploy.like=full", "deploy.files_cpus=1"], "deploy.files_cpus"),
        (&["deploy.web_cpus=1"], "deploy.web_cpus"),
        (&["deploy.web_cores=0-1"], "deploy.web_cores"),
        (&["deploy.balancer_memory_mib=64"], "deploy.balancer_memory_mib"),
        (&["deploy.like=minimal", "deploy.bids_cpus=0.5"], "deploy.bids_cpus"),
        (&["deploy.bids_memory_mib=512"], "deploy.bids_memory_mib"),
        (&["deploy.like=minimal", "deploy.bus_cpus=1"], "deploy.bus_cpus"),
        (&["deploy.relational_disk_mib=64"], "deploy.relational_disk_mib"),
        (&["deploy.like=minimal", "deploy.events_memory_mib=1"], "deploy.events_memory_mib"),
        (&["deploy.flavour=vanilla"], "deploy.flavour"),
        (&["target.tls.verify=false"], "target.tls.verify"),
        (&["deploy.like=full", "deploy.tls=true", "target.tls.authorities=ca.pem"], "target.tls.authorities"),
        (&["platform=apart", "deploy.like=full-ha", "target.port=8080"], "target.port"),
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
    for set in ["deploy.like=full", "deploy.application_nodes=2", "target.threads=2"] {
        let key = set.split('=').next().unwrap();
        assert!(refused(&[url, set]).contains(&key.to_owned()), "{set}: {:?}", refused(&[url, set]));
    }
    assert_eq!(refused(&[url, "target.tls.verify=false"]), Vec::<String>::new());
}

#[test]
fn a_value_that_is_the_default_asks_for_nothing() {
    let sets =
        ["deploy.web_nodes=1", "deploy.bids_cpus=0", "deploy.bids_cores=\"\"", "target.tls.verify=true"];
    assert_eq!(refused(&sets), Vec::<String>::new());
}

#[test]
fn what_is_believed_of_a_target_is_kept() {
    let text = "[target.tls]\nverify = false\nauthorities = \"ca.pem\"\n";
    let first = plan(text, &["target.url=https://127.0.0.1:8443"]).unwrap();
    let tls = TlsPlan { verify: false, authorities: Some("ca.pem".into()), server_name: None };
    assert_eq!((&AuctionPlan::of(&first).tls, own("", &[]).tls.verify), (&tls, true));
    assert_eq!(own(&first.resolved, &[]).tls, tls);
}

#[test]
fn what_is_deployed_is_explained() {
    let says = |sets: &[&str]| explain(&plan("", sets).unwrap());
    let told = says(&[]);
    assert!(
        told.contains("target    the application as a process of its own on 127.0.0.1 on a free port\n"),
        "{told}"
    );
    let told =
        says(&["deploy.like=minimal", "deploy.sql_durability=off", "platform=apart", "deploy.link_mbit=10"]);
    let target = "target    the application deployed like \"minimal\" on platform apart, each part on a host of its own, services \
                  tuned\n          PostgreSQL is not durable: ";
    assert!(told.contains(target), "{told}");
    assert!(told.contains("\nlinks     10 Mbit/s, 0 ms and 0.00 % loss each way\n"), "{told}");
    let told = says(&["target.url=http://127.0.0.1:9"]);
    assert!(told.contains("target    http://127.0.0.1:9, which is there already: "), "{told}");
}
