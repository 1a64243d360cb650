//! Reachability between hosts.

use std::process::Command;
use std::time::{Duration, Instant};

use barograph_platform::LinkSpec;
use barograph_testkit::one_of_async;
use barograph_virtual_network::{HOST_DEVICE, Switch, SwitchError, inside};

use crate::place::{TRIES, TestSwitch, connect, echo, relay, talks, tell};

#[tokio::test(flavor = "multi_thread")]
async fn hosts_reach_each_other_and_the_machine_and_are_reached() {
    let Some(place) = TestSwitch::new().await else { return };
    let (a, b) = (place.host("a").await, place.host("b").await);
    assert_eq!(place.switch.address("a"), Some(a.address));
    assert_eq!(place.switch.address("nobody"), None);
    let (on_a, on_machine) = (echo(Some(&a.namespace), a.address), echo(None, place.switch.leg()));
    talks(Some(&b.namespace), on_a);
    talks(None, on_a);
    talks(Some(&a.namespace), on_machine);
    // A host's own address and its loopback device work as on any machine.
    talks(Some(&a.namespace), on_a);
    let own = echo(Some(&a.namespace), "127.0.0.1".parse().unwrap());
    talks(Some(&a.namespace), own);
    assert!(connect(Some(&b.namespace), own, Duration::from_secs(5)).is_err(), "loopback is each host's own");
    place.switch.close().await.unwrap();
    assert!(place.ledger.left().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_has_the_settings_of_the_machine_and_low_ports_for_all() {
    let Some(place) = TestSwitch::new().await else { return };
    let host = place.host("a").await;
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap();
    for name in ["core/somaxconn", "ipv4/ip_local_port_range", "ipv4/tcp_fin_timeout", "ipv4/tcp_rmem"] {
        let there = inside(&host.namespace, move || {
            std::fs::read_to_string(format!("/proc/sys/net/{name}")).unwrap()
        });
        assert_eq!(read(name), there.unwrap(), "{name}");
    }
    let low = ("net/ipv4/ip_unprivileged_port_start".to_owned(), "0".to_owned());
    assert!(host.settings.contains(&low), "{:?}", host.settings);
}

/// Time to create twenty hosts. `None` if they cannot be created.
async fn twenty_hosts() -> Option<Duration> {
    let place = TestSwitch::new().await?;
    let start = Instant::now();
    let mut last = None;
    for n in 0..20 {
        last = Some(place.host(&format!("host-{n}")).await);
    }
    let made = start.elapsed();
    let last = last.unwrap();
    talks(None, echo(Some(&last.namespace), last.address));
    let start = Instant::now();
    place.switch.close().await.unwrap();
    tell(&format!("20 hosts made in {made:?}, removed in {:?}", start.elapsed()));
    assert!(place.ledger.left().is_empty());
    Some(made)
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_hosts_are_there_quickly() {
    // Well under two seconds on an idle machine; bound and tries allow for a machine that builds at the same
    // time.
    one_of_async(TRIES, async || match twenty_hosts().await {
        Some(made) if made >= Duration::from_secs(20) => Err(format!("twenty hosts take {made:?}")),
        Some(_) | None => Ok(()),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_can_be_removed_and_made_again_under_the_same_address() {
    let Some(place) = TestSwitch::new().await else { return };
    let (first, other) = (place.host("a").await, place.host("b").await);
    talks(Some(&other.namespace), echo(Some(&first.namespace), first.address));
    place.switch.remove("a").await.unwrap();
    assert!(!std::path::Path::new("/run/netns").join(&first.namespace).exists());
    let again = place.host("a").await;
    assert_eq!(again.address, first.address);
    talks(Some(&other.namespace), echo(Some(&again.namespace), again.address));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_is_refused_and_leaves_nothing() {
    let Some(place) = TestSwitch::new().await else { return };
    place.host("a").await;
    let plain = LinkSpec::default();
    assert!(matches!(place.switch.host("a", &plain).await, Err(SwitchError::Taken(_))));
    assert!(matches!(place.switch.host("A b", &plain).await, Err(SwitchError::Name { .. })));
    assert!(matches!(place.switch.shape("x", plain).await, Err(SwitchError::Unknown(_))));
    assert!(matches!(place.switch.remove("x").await, Err(SwitchError::Unknown(_))));
    let names = ["a".to_owned(), "x".to_owned()];
    assert!(matches!(place.switch.partition(&names).await, Err(SwitchError::Unknown(_))));
    let again = Switch::open(&place.id, relay(), &place.ledger).await;
    assert!(matches!(again, Err(SwitchError::Taken(_))), "{again:?}");
    let left = place.ledger.left().len();
    assert_eq!(left, 3, "the switch, its leg and one host");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_set_aside_goes_from_host_to_host() {
    let Some(place) = TestSwitch::new().await else { return };
    let shared = place.switch.reserve("shared").await.unwrap();
    assert_eq!(place.switch.address("shared"), Some(shared));
    let client = place.host("client").await;
    for name in ["a", "b"] {
        let host = place.host(name).await;
        assert_ne!(host.address, shared);
        // As keepalived does when it takes over.
        let add = |verb: &str| {
            let words = ["-n", &host.namespace, "addr", verb, &format!("{shared}/24"), "dev", HOST_DEVICE];
            assert!(Command::new("ip").args(words).status().unwrap().success());
        };
        add("add");
        let on_host = echo(Some(&host.namespace), shared);
        // The neighbours still know the other host under this address until they resolve it again.
        let flush = ["-n", &client.namespace, "neigh", "flush", "all"];
        assert!(Command::new("ip").args(flush).status().unwrap().success());
        talks(Some(&client.namespace), on_host);
        add("del");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_switches_do_not_meet() {
    let (Some(one), Some(two)) = (TestSwitch::new().await, TestSwitch::new().await) else { return };
    assert_ne!(one.switch.leg(), two.switch.leg());
    let (a, b) = (one.host("a").await, two.host("a").await);
    let on_b = echo(Some(&b.namespace), b.address);
    talks(None, on_b);
    assert!(connect(Some(&a.namespace), on_b, Duration::from_millis(300)).is_err(), "sites see each other");
    one.switch.close().await.unwrap();
    talks(None, on_b);
    two.switch.close().await.unwrap();
}
