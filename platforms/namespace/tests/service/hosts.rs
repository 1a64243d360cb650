//! Creation of sites, and refusals.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use barograph_platform::{
    Fault, HERE, HostSpec, Limits, LinkSpec, OnLine, Platform, Readiness, SiteSpec, Unit,
};
use barograph_platform_namespace::VIRTUAL_ADDRESSES;

use crate::place::{LONG, TestSite, host, listing, platform, tell, until};

fn job(name: &str, on: &str, script: &str) -> Unit {
    Unit {
        host: on.to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        ..Unit::new(name, "/bin/sh".into(), Readiness::Exit { timeout: LONG })
    }
}

fn collector() -> (OnLine, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let keep = lines.clone();
    (Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())), lines)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_runs_on_its_host_and_sees_the_machines_control_groups() {
    let limits = Limits { memory_bytes: Some(256 << 20), ..Limits::default() };
    let limited = HostSpec { limits, ..host("small") };
    let Some(place) = TestSite::new(vec![limited, host("other")]).await else { return };
    let site = place.open().await;
    for on in ["small", "other", HERE] {
        let (on_line, lines) = collector();
        let script = "ip -4 -o addr show; test -d /sys/fs/cgroup && ls /sys/fs/cgroup | wc -l";
        site.create(&job("look", on, script), on_line).await.unwrap();
        let text = lines.lock().unwrap().join("\n");
        let address = site.address(on).unwrap().to_string();
        assert!(text.contains(&format!("{address}/24")), "{on}: {text}");
        let others = text.lines().filter(|line| line.contains("eth0")).count();
        assert!(on == HERE || others == 1, "{text}");
        assert_ne!(text.lines().last(), Some("0"), "{text}");
    }
    assert_eq!(site.address("nowhere"), None);
    let fault = site.create(&job("lost", "nowhere", "true"), collector().0).await.err().unwrap();
    assert!(matches!(fault, Fault::Unit { .. }), "{fault}");
    let ports: Vec<u16> = (0..50).map(|_| site.port("other", 0).unwrap()).collect();
    assert!(ports.iter().collect::<BTreeSet<_>>().len() == 50);
    drop(site);
    until("everything gone", || listing(&place.spec.id, place.ledger.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_announces_loopback_is_known_by_its_hosts_address() {
    let Some(place) = TestSite::new(vec![host("one")]).await else { return };
    let site = place.open().await;
    let unit = Unit {
        ready: Readiness::StdoutLine { timeout: LONG },
        ..job("app", "one", r#"echo '{"ready":true,"address":"0.0.0.0:4321"}'; exec sleep 1000"#)
    };
    let running = site.create(&unit, collector().0).await.unwrap();
    assert_eq!(running.address().map(|a| (a.ip(), a.port())), Some((site.address("one").unwrap(), 4321)));
    running.kill().await.unwrap();
    site.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_with_a_delay_says_how_exact_it_is() {
    let link = LinkSpec { delay: Duration::from_millis(3), ..LinkSpec::default() };
    let Some(place) = TestSite::new(vec![HostSpec { link, ..host("far") }]).await else { return };
    let site = place.open().await;
    let facts = site.network().unwrap().facts();
    tell(&format!("{facts:#?}"));
    let names: Vec<&str> = facts.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"error of a round trip with a delay of 3ms each way"), "{names:?}");
    assert!(names.contains(&"kernel settings of hosts that differ from a new namespace's"), "{names:?}");
    let carriers = site.network().unwrap().carriers().len();
    let told = names.iter().filter(|name| **name == "relay of far").count();
    assert_eq!(told, carriers, "{names:?}");
    site.close().await.unwrap();
    assert!(place.ledger.left().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_can_be_set_aside() {
    let Some(mut place) = TestSite::new(vec![host("a"), host("b")]).await else { return };
    place.spec.options.push((VIRTUAL_ADDRESSES.to_owned(), "web-vip db-vip".to_owned()));
    let site = place.open().await;
    let all = ["a", "b", "web-vip", "db-vip", HERE].map(|name| site.address(name).unwrap());
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 5, "{all:?}");
    site.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_told_all_at_once() {
    let bad = |name: &str, link| HostSpec { link, ..host(name) };
    let spec = SiteSpec {
        id: "x".to_owned(),
        hosts: vec![
            host("a"),
            host("a"),
            bad("b", LinkSpec { loss: 2.0, ..LinkSpec::default() }),
            bad("c", LinkSpec { bits_per_second: Some(0), ..LinkSpec::default() }),
            bad(HERE, LinkSpec { bits_per_second: Some(1), ..LinkSpec::default() }),
        ],
        ..SiteSpec::default()
    };
    let missing = platform().preflight(&spec).await.unwrap_err();
    let text = missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in [
        "two hosts are named `a`",
        "host `b` cannot lose 2",
        "host `c` carries nothing",
        "it is this machine",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_say_how_hosts_are_made() {
    let Some(place) = TestSite::new(vec![host("a")]).await else { return };
    let facts = platform().preflight(&place.spec).await.unwrap();
    let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(fact("platform"), Some("namespace"));
    assert_eq!(facts.iter().filter(|(key, _)| key == "isolation").count(), 1);
    assert!(fact("isolation").unwrap().starts_with("the network"), "{facts:?}");
    assert!(fact("delay and loss").is_some() && fact("units are held together by").is_some(), "{facts:?}");
}
