//! Limits of units and hosts: seen by the kernel, and holding.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use barograph_platform::{HostSpec, Limits, Readiness, Step, UnitExit, UnitHandle};
use barograph_testkit::one_of_async;

use crate::place::{JOB, TestSite, ended_early, until};

/// CPU time used by a unit, from its accounts.
fn used(running: &dyn UnitHandle) -> Duration {
    let folders = running.accounts().cgroups;
    let nanos = folders.iter().find_map(|folder| {
        let text = fs::read_to_string(folder.join("cpuacct.usage")).ok()?;
        text.trim().parse().ok().map(Duration::from_nanos)
    });
    let micros = || {
        folders.iter().find_map(|folder| {
            let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
            line.parse().ok().map(Duration::from_micros)
        })
    };
    nanos.or_else(micros).expect("some account counts CPU time")
}

/// Largest number of stretches in which a limit is observed: a machine that stands still may charge the time
/// to the running unit, and other work leaves a unit less than its limit.
const STRETCHES: usize = 8;

/// Cores used over a stretch of time.
async fn share(used: impl Fn() -> Duration) -> f64 {
    // The clock first and last: time in between makes the share smaller, never larger.
    let (begin, before) = (Instant::now(), used());
    tokio::time::sleep(Duration::from_secs(2)).await;
    (used() - before).as_secs_f64() / begin.elapsed().as_secs_f64()
}

/// Returns the first share that meets the condition.
async fn share_that(used: impl Fn() -> Duration, wanted: impl Fn(f64) -> bool) -> f64 {
    one_of_async(STRETCHES, async || {
        let share = share(&used).await;
        if wanted(share) { Ok(share) } else { Err(format!("{share} cores")) }
    })
    .await
}

const BURN: &str = "while :; do :; done";

#[tokio::test]
async fn cpu_time_is_limited_and_the_limit_can_be_changed() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let mut unit = place.unit("burn", BURN, Readiness::Runs);
    unit.limits =
        Limits { cpus: Some(0.2), cpu_set: vec![0], memory_bytes: Some(64 << 20), ..Limits::default() };
    let running = place.create(&unit).await.unwrap();
    let accounts = running.accounts();
    assert!(accounts.pid.is_some() && !accounts.cgroups.is_empty() && !accounts.machine);
    // More than the next limit allows, and not much more than this one.
    share_that(|| used(running.as_ref()), |share| (0.1..0.3).contains(&share)).await;
    let allowed = || {
        let text = fs::read_to_string(format!("/proc/{}/status", running.pid().unwrap())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        line.trim().to_owned()
    };
    assert_eq!(allowed(), "0");
    let change = |cpus| Limits { cpus: Some(cpus), ..Limits::default() };
    running.limiting().unwrap().limit(&change(0.05)).unwrap();
    let second = share_that(|| used(running.as_ref()), |share| share < 0.1).await;
    assert_ne!(allowed(), "0", "the set of cores is no limit any more");
    running.limiting().unwrap().limit(&Limits::default()).unwrap();
    until("more CPU time", || {
        let (begin, before) = (Instant::now(), used(running.as_ref()));
        while begin.elapsed() < Duration::from_millis(300) {
            std::thread::yield_now();
        }
        (used(running.as_ref()) - before).as_secs_f64() / begin.elapsed().as_secs_f64() > second
    })
    .await;
    running.kill().await.unwrap();
    running.limiting().unwrap().limit(&change(0.5)).unwrap();
    place.close().await;
}

#[tokio::test]
async fn a_unit_that_takes_too_much_memory_is_ended_and_its_log_says_so() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let mut unit = place.unit("hungry", "exec python3 -c 'x = b\"x\" * (300 << 20); print(len(x))'", JOB);
    unit.limits.memory_bytes = Some(48 << 20);
    let (ended, log) = ended_early(&place.create(&unit).await.err().unwrap());
    assert_eq!(ended, UnitExit::Signal(9));
    // The engine may not have known of it before the container was gone.
    let remarks = [
        "barograph: the kernel ended a process of this unit: out of memory",
        "barograph: somebody else killed this unit; its memory is limited, which may be the reason",
    ];
    assert!(log.len() == 1 && remarks.contains(&log[0].as_str()), "{log:?}");
    unit.limits.memory_bytes = Some(600 << 20);
    place.create(&unit).await.unwrap();
    place.close().await;
}

#[tokio::test]
async fn the_rate_of_disks_is_limited_but_for_steps() {
    let Some(place) = TestSite::open(&[]).await else { return };
    let mut unit = place.unit("writer", "sleep 600", Readiness::Runs);
    unit.limits.disk_bytes_s = Some(3 << 20);
    unit.prepare = vec![Step { program: "/bin/true".into(), args: Vec::new() }];
    let running = place.create(&unit).await.unwrap();
    let files = ["blkio.throttle.write_bps_device", "io.max"];
    let mut files =
        running.accounts().cgroups.into_iter().flat_map(|group| files.map(|file| group.join(file)));
    let limited = files.find_map(|file| fs::read_to_string(file).ok()).unwrap();
    assert!(limited.contains("3145728"), "{limited:?}");
    running.kill().await.unwrap();
    place.close().await;
}

#[tokio::test]
async fn a_host_has_limits_for_all_its_units() {
    let limited = HostSpec {
        name: "a".to_owned(),
        limits: Limits { cpus: Some(0.2), ..Limits::default() },
        ..HostSpec::default()
    };
    let Some(place) = TestSite::open_with(vec![limited], &[]).await else { return };
    let one = place.create(&place.unit("one", BURN, Readiness::Runs)).await.unwrap();
    let two = place.create(&place.unit("two", BURN, Readiness::Runs)).await.unwrap();
    share_that(|| used(one.as_ref()) + used(two.as_ref()), |share| share < 0.3).await;
    let group = format!("barograph.{}.containers", place.spec.id);
    let of_site: Vec<PathBuf> = one
        .accounts()
        .cgroups
        .into_iter()
        .filter_map(|folder| {
            let site =
                folder.ancestors().find(|above| above.file_name().is_some_and(|n| n == group.as_str()));
            site.map(PathBuf::from)
        })
        .collect();
    assert!(!of_site.is_empty());
    place.close().await;
    assert!(of_site.iter().all(|folder| !folder.exists()), "{of_site:?}");
}
