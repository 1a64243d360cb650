//! Partitions and their healing.

use std::time::Duration;

use barograph_platform::LinkSpec;

use crate::place::{LONG, TestSwitch, ask, connect, echo, is_silence, one_at_a_time, talks};

const SHORT: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::await_holding_lock, reason = "one test after the other, each with a runtime of its own")]
async fn a_partition_stalls_an_open_connection_and_healing_lets_it_go_on() {
    let Some(place) = TestSwitch::new().await else { return };
    let _alone = one_at_a_time();
    let (a, b, c) = (place.host("a").await, place.host("b").await, place.host("c").await);
    let on_a = echo(Some(&a.namespace), a.address);
    let mut from_b = connect(Some(&b.namespace), on_a, LONG).unwrap();
    let mut from_c = connect(Some(&c.namespace), on_a, LONG).unwrap();
    let mut from_machine = connect(None, on_a, LONG).unwrap();
    for stream in [&mut from_b, &mut from_c, &mut from_machine] {
        ask(stream, b"before", LONG).unwrap();
    }
    place.switch.partition(&["a".to_owned(), "b".to_owned()]).await.unwrap();
    ask(&mut from_b, b"together", LONG).unwrap();
    for stream in [&mut from_c, &mut from_machine] {
        let error = ask(stream, b"waits", SHORT).unwrap_err();
        assert!(is_silence(&error), "stalls, and is not reset: {error}");
    }
    assert!(connect(Some(&c.namespace), on_a, SHORT).is_err());
    place.switch.heal().await.unwrap();
    for stream in [&mut from_c, &mut from_machine] {
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut waited = [0; 5];
        std::io::Read::read_exact(stream, &mut waited).unwrap();
        assert_eq!(&waited, b"waits", "what was sent meanwhile arrives");
        ask(stream, b"after", LONG).unwrap();
    }
    talks(Some(&c.namespace), on_a);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_hold_for_links_of_all_kinds_and_through_changes() {
    let Some(place) = TestSwitch::new().await else { return };
    let (a, b) = (place.host("a").await, place.host("b").await);
    let on_a = echo(Some(&a.namespace), a.address);
    let links = [
        LinkSpec { bits_per_second: Some(50_000_000), ..LinkSpec::default() },
        LinkSpec { delay: Duration::from_millis(2), ..LinkSpec::default() },
        LinkSpec::default(),
    ];
    for link in links {
        place.switch.partition(&["a".to_owned()]).await.unwrap();
        place.switch.shape("a", link).await.unwrap();
        assert!(connect(Some(&b.namespace), on_a, SHORT).is_err(), "{link:?}");
        place.switch.heal().await.unwrap();
        talks(Some(&b.namespace), on_a);
    }
    // Two groups, and a host that moves from one to the other.
    let cut = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
    let c = place.host("c").await;
    place.switch.partition(&cut(&["a", "b"])).await.unwrap();
    place.switch.partition(&cut(&["b", "c"])).await.unwrap();
    assert!(connect(Some(&b.namespace), on_a, SHORT).is_err());
    talks(Some(&b.namespace), echo(Some(&c.namespace), c.address));
    place.switch.heal().await.unwrap();
    talks(Some(&b.namespace), on_a);
}
