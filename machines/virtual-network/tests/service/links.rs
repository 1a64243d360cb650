//! Links with limits, delays and losses.

use std::time::Duration;

use barograph_platform::LinkSpec;
use barograph_testkit::{one_of, one_of_async};

use crate::place::{
    LONG, TRIES, TestSwitch, ask, connect, echo, one_at_a_time, packets, talks, tell, throughput,
};

fn limit(bits_per_second: u64) -> LinkSpec {
    LinkSpec { bits_per_second: Some(bits_per_second), ..LinkSpec::default() }
}

fn delay(ms: u64) -> LinkSpec {
    LinkSpec { delay: Duration::from_millis(ms), ..LinkSpec::default() }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn a_limit_holds_both_ways() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    for rate in [20_000_000, 100_000_000] {
        place.switch.shape("a", limit(rate)).await.unwrap();
        for (from, to) in [(&a, &b), (&b, &a)] {
            // Headers are part of the limit: 1448 of 1514 bytes are payload.
            let wanted = rate as f64 * 1448.0 / 1514.0;
            one_of(TRIES, || {
                let got = throughput(from, to, Duration::from_secs(2));
                tell(&format!("limit {rate} bit/s, {} to {}: {got:.0} bit/s", from.name, to.name));
                if (0.9..1.1).contains(&(got / wanted)) {
                    return Ok(());
                }
                Err(format!("{got:.0} bit/s are not near {wanted:.0}, with a limit of {rate}"))
            });
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn a_delay_is_what_was_asked_for() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    place.switch.shape("a", delay(10)).await.unwrap();
    let on_a = echo(Some(&a.namespace), a.address);
    let mut stream = connect(Some(&b.namespace), on_a, LONG).unwrap();
    one_of(TRIES, || {
        let mut trips: Vec<Duration> = (0..50).map(|_| ask(&mut stream, b"ping", LONG).unwrap()).collect();
        trips.sort_unstable();
        tell(&format!(
            "10 ms each way, TCP echo: shortest {:?}, median {:?}, longest {:?}",
            trips[0], trips[25], trips[49]
        ));
        assert!(trips[0] >= Duration::from_millis(20), "{:?}", trips[0]);
        if trips[25] < Duration::from_millis(23) {
            return Ok(());
        }
        Err(format!("half of the trips take {:?} or more, and not less than 23 ms", trips[25]))
    });
    let pids = place.switch.relays();
    if !place.switch.kernel_delays() {
        let [(host, pid)] = pids.as_slice() else { panic!("{pids:?}") };
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(host == "a" && command.contains("relay"), "{command}");
        let counts = place.switch.relay_counts().unwrap();
        let [(_, count)] = counts.as_slice() else { panic!("{counts:?}") };
        tell(&format!("{count}; with priority: {}", place.switch.relays_come_first()));
        assert!(count.out.frames >= 50 && count.back.frames >= 50 && count.out.dropped == 0, "{count:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn the_exactness_of_a_delay_is_measured() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let ms = Duration::from_millis;
    let found = one_of_async(TRIES, async || {
        let found = place.switch.calibrate(ms(10)).await.unwrap();
        tell(&format!("{found:#?}"));
        let exact = found.plain.p50 < ms(5) && found.added.p50 < ms(3) && found.unanswered < 20;
        if exact { Ok(found) } else { Err(format!("{found:?}")) }
    })
    .await;
    assert!(found.delayed.p50 >= ms(20), "{found:?}");
    assert_eq!(found.facts().len(), 4 + usize::from(found.relay.is_some()));
    assert_eq!(found.relay.is_none(), found.by_kernel);
    assert!(place.switch.relays().is_empty() && place.switch.address("measure-1").is_none());
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn the_wanted_part_of_packets_is_lost_each_way() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    // Neighbours are resolved before packets get lost.
    talks(Some(&b.namespace), echo(Some(&a.namespace), a.address));
    let lossy = LinkSpec { loss: 0.2, ..LinkSpec::default() };
    place.switch.shape("a", lossy).await.unwrap();
    for (from, to) in [(&a, &b), (&b, &a)] {
        let arrived = packets(from, to, 2000);
        tell(&format!("loss 0.2, {} to {}: {arrived} of 2000 packets arrived", from.name, to.name));
        // Five standard deviations of a binomial: 18 each.
        assert!(arrived.abs_diff(1600) < 90, "{arrived} of 2000");
    }
    place.switch.shape("a", LinkSpec { loss: 1.0, ..lossy }).await.unwrap();
    assert_eq!(packets(&a, &b, 50), 0);
    place.switch.shape("a", LinkSpec::default()).await.unwrap();
    assert_eq!(packets(&a, &b, 500), 500);
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn a_connection_lives_through_every_change_of_its_link() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    let on_a = echo(Some(&a.namespace), a.address);
    let mut stream = connect(Some(&b.namespace), on_a, LONG).unwrap();
    let both = LinkSpec { bits_per_second: Some(50_000_000), ..delay(5) };
    let links =
        [limit(50_000_000), both, delay(3), delay(1), limit(10_000_000), LinkSpec::default(), delay(2)];
    for link in links {
        place.switch.shape("a", link).await.unwrap();
        ask(&mut stream, b"still here", LONG).unwrap();
        let took = ask(&mut stream, &[3; 3000], LONG).unwrap();
        assert!(took >= 2 * link.delay, "{took:?} with {link:?}");
    }
    place.switch.shape("a", LinkSpec::default()).await.unwrap();
    ask(&mut stream, b"still here", LONG).unwrap();
    assert!(place.switch.relays().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn a_delayed_link_carries_much_and_drops_nothing() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    place.switch.shape("a", delay(1)).await.unwrap();
    for (from, to) in [(&a, &b), (&b, &a)] {
        one_of(TRIES, || {
            let got = throughput(from, to, Duration::from_secs(2));
            tell(&format!("1 ms each way, {} to {}: {:.0} Mbit/s", from.name, to.name, got / 1e6));
            if got > 50e6 { Ok(()) } else { Err(format!("{:.0} Mbit/s, not more than 50", got / 1e6)) }
        });
    }
    for (host, count) in place.switch.relay_counts().unwrap() {
        tell(&format!("relay of {host}: {count}"));
        assert_eq!((count.out.dropped, count.back.dropped), (0, 0));
    }
    let pids = place.switch.relays();
    for (host, pid) in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
        tell(&format!("relay of {host}: CPU ticks {} + {}, policy {}", fields[11], fields[12], fields[38]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_cannot_start_says_why_and_leaves_the_link_as_it_was() {
    let Some(place) = TestSwitch::new().await else { return };
    if place.switch.kernel_delays() {
        tell("skipped: this kernel needs no relay");
        return;
    }
    let mut other = place.switch.clone();
    drop(place.switch);
    other.close().await.unwrap();
    let relay = barograph_virtual_network::RelayProgram { program: "/bin/false".into(), args: Vec::new() };
    other = barograph_virtual_network::Switch::open(&place.id, relay, &place.ledger).await.unwrap();
    let a = other.host("a", &LinkSpec::default()).await.unwrap();
    let error = other.shape("a", delay(5)).await.unwrap_err();
    assert!(error.to_string().contains("start the relay of `a`"), "{error}");
    talks(None, echo(Some(&a.namespace), a.address));
    assert_eq!(place.ledger.left().len(), 3, "{:?}", place.ledger.left());
    other.shape("a", limit(1_000_000)).await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn offloads_are_set_and_read_back() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b) = (place.host("a").await, place.host("b").await);
    for text in ["tso=off,gso=off,gro=on", "tso=on,gso=on,gro=off", "mtu=9000"] {
        place
            .switch
            .offload("a", text.parse().unwrap())
            .await
            .unwrap_or_else(|why| panic!("{text}: {why:?}"));
    }
    let on_a = echo(Some(&a.namespace), a.address);
    let mut stream = connect(Some(&b.namespace), on_a, LONG).unwrap();
    ask(&mut stream, b"ping", LONG).unwrap();
    // A device in software has none that merges.
    let refused = place.switch.offload("a", "lro=on".parse().unwrap()).await.unwrap_err();
    assert!(refused.to_string().contains("offloads of `eth0`"), "{refused}");
    assert!(place.switch.offload("c", "gro=on".parse().unwrap()).await.is_err(), "there is no such host");
}
