//! A hundred units, each on a simulated node of its own: what that takes of the process that makes and ends them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use barograph_platform::{HostSpec, Platform, Readiness, Unit, UnitExit, UnitHandle};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::{Cluster, SIMULATED};
use futures::future::{join_all, try_join_all};

use crate::stand::{Stand, host, words};

/// Nodes, and units.
const COUNT: usize = 100;

/// Longest time for all of it, in one of a few tries: a busy machine can only make it longer.
const LIMIT: Duration = Duration::from_secs(180);
const TRIES: usize = 3;

/// Most memory of this process, in KiB.
const MEMORY_KIB: u64 = 300 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_units_are_planned_started_stopped_and_cleaned() {
    let Some(cluster) = Cluster::start(1) else { return };
    let nodes = tokio::task::block_in_place(|| cluster.simulate_nodes(COUNT));
    let mut in_time = false;
    for _ in 0..TRIES {
        in_time = in_time || all_of_it(&cluster).await < LIMIT;
    }
    drop(nodes);
    let memory = most_memory_kib();
    say(&format!("at most {} MiB of memory", memory >> 10));
    assert!(in_time && memory < MEMORY_KIB, "{memory} KiB");
}

/// Plans, starts and stops the units, and cleans what a killed program leaves of them. Returns the time that it took.
async fn all_of_it(cluster: &Cluster) -> Duration {
    let begun = Instant::now();
    let mut stand = hundred(cluster, "h");
    let facts = KubernetesPlatform.preflight(&stand.spec).await.unwrap();
    let planned = begun.elapsed();
    let of_nodes = facts.iter().filter(|(name, _)| name.starts_with("node simulated-"));
    assert_eq!(of_nodes.count(), COUNT);
    let (units, running) = started(&mut stand).await;
    let started_after = begun.elapsed();
    let found = stand.site().nodes().unwrap();
    let on = try_join_all(units.iter().map(|unit| found.node_of(unit))).await.unwrap();
    assert_eq!(on.into_iter().flatten().collect::<BTreeSet<_>>().len(), COUNT, "a node for each");
    let looked = begun.elapsed();
    let ended = join_all(running.iter().map(|unit| unit.stop(Duration::from_secs(5)))).await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(UnitExit::Unknown(_)))), "{ended:?}");
    let stopped = begun.elapsed();
    drop(running);
    stand.close().await;
    let closed = begun.elapsed();
    let cleaned = cleaned_after_a_kill(cluster).await;
    say(&format!(
        "planned in {planned:.1?}, started in {:.1?}, stopped in {:.1?}, removed in {:.1?}, cleaned in {cleaned:.1?}",
        started_after - planned,
        stopped - looked,
        closed - stopped
    ));
    closed + cleaned
}

/// A site of hosts that want a node each.
fn hundred(cluster: &Cluster, id: &str) -> Stand {
    let names: Vec<String> = (1..=COUNT).map(|number| format!("driver-{number}")).collect();
    let options = [
        ("kubernetes-nodes", SIMULATED),
        ("kubernetes-group", &names.join(",")),
        ("kubernetes-group-apart", "true"),
    ];
    let mut stand = Stand::closed(cluster, id, &options);
    stand.spec.hosts = names.iter().map(|name| host(name)).collect();
    stand
}

/// Opens the site and starts a unit on each host, side by side.
async fn started(stand: &mut Stand) -> (Vec<Unit>, Vec<Box<dyn UnitHandle>>) {
    stand.site = Some(KubernetesPlatform.open(&stand.spec, &stand.ledger).await.unwrap());
    let unit = |host: &HostSpec| {
        let unit = stand.unit(&host.name, "exec sleep 86400", Readiness::Runs);
        Unit { host: host.name.clone(), ..unit }
    };
    let units: Vec<Unit> = stand.spec.hosts.iter().map(unit).collect();
    let running = try_join_all(units.iter().map(|unit| stand.create(unit))).await;
    let running = running.map_err(|fault| words(&fault)).unwrap();
    (units, running)
}

/// Returns the time that the removal of what a killed program leaves takes.
async fn cleaned_after_a_kill(cluster: &Cluster) -> Duration {
    let mut stand = hundred(cluster, "k");
    let (_, running) = started(&mut stand).await;
    // What a killed program does not do: its destructors.
    std::mem::forget(running);
    std::mem::forget(stand.site.take());
    let begun = Instant::now();
    let swept = KubernetesPlatform.sweep(&stand.ledger).await.unwrap();
    assert_eq!((swept.removed.len(), swept.failed.len()), (1, 0), "{swept:?}");
    begun.elapsed()
}

/// The most memory that this process had.
fn most_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[expect(clippy::print_stdout, reason = "a measured figure is shown")]
fn say(text: &str) {
    println!("{text}");
}
