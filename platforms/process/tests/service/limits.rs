//! Limits of units and hosts hold, can be changed, and are never silently ignored.

use std::time::{Duration, Instant};

use barograph_cgroup::{Meter, Usage};
use barograph_platform::{Fault, HostSpec, Limits, Readiness, Site, Step, Unit, UnitHandle};
use barograph_platform_process::Local;
use barograph_testkit::one_of_async;

use crate::place::{LONG, READY, SERVICE, TestSite, groups_or_skip, until_async};

const BURN: &str = "while :; do :; done";

fn usage(running: &dyn UnitHandle) -> Usage {
    Meter::open(&running.accounts().cgroups).read()
}

fn cpu(usage: &Usage) -> Duration {
    usage.cpu.unwrap().total
}

/// Largest number of stretches in which a limit is observed: a machine that stands still may charge the time
/// to the running unit, and other work leaves a unit less than its limit.
const STRETCHES: usize = 5;

/// Figures for some amount of used CPU time.
#[derive(Debug)]
struct CpuUse {
    cores: f64,
    periods: u64,
    throttled: u64,
}

impl CpuUse {
    /// Whether the limit held it back, not other work.
    fn held_back(&self) -> bool {
        self.throttled * 10 > self.periods * 5
    }
}

/// Observes until it has used `used` of CPU time.
async fn stretch(read: impl Fn() -> Usage, used: Duration) -> CpuUse {
    until_async("it has begun", || cpu(&read()) > Duration::from_millis(50)).await;
    let (start, before) = (Instant::now(), read());
    until_async("it uses CPU time", || cpu(&read()) >= cpu(&before) + used).await;
    let after = read();
    let (held, now) = (before.throttling.unwrap(), after.throttling.unwrap());
    CpuUse {
        cores: (cpu(&after) - cpu(&before)).as_secs_f64() / start.elapsed().as_secs_f64(),
        periods: now.periods - held.periods,
        throttled: now.throttled - held.throttled,
    }
}

/// Observes until one stretch meets the condition.
async fn until_one(read: impl Fn() -> Usage, used: Duration, wanted: impl Fn(&CpuUse) -> bool) {
    one_of_async(STRETCHES, async || {
        let seen = stretch(&read, used).await;
        if wanted(&seen) { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;
}

fn cpus(cpus: f64) -> Limits {
    Limits { cpus: Some(cpus), ..Limits::default() }
}

#[tokio::test]
async fn the_cpu_time_of_a_unit_is_limited_and_the_limit_can_be_changed() {
    if !groups_or_skip() {
        return;
    }
    let mut place = TestSite::new();
    let script = format!("{READY} {BURN} & {BURN}");
    let unit = Unit { limits: cpus(0.3), ..place.unit(&script, SERVICE) };
    let running = place.start(&unit).await.unwrap();
    // Other work may leave it less, but never more.
    until_one(|| usage(&*running), Duration::from_secs(1), |seen| seen.cores < 0.34).await;
    let limiting = running.limiting().unwrap();
    limiting.limit(&cpus(0.1)).unwrap();
    until_one(|| usage(&*running), Duration::from_millis(300), |seen| seen.cores < 0.14).await;
    until_one(|| usage(&*running), Duration::from_millis(300), CpuUse::held_back).await;
    limiting.limit(&Limits::default()).unwrap();
    // Its share of a core now depends on other work; the absence of throttling does not.
    let free = stretch(|| usage(&*running), Duration::from_secs(1)).await;
    assert_eq!(free.throttled, 0, "without a limit: {free:?}");
    let fault = limiting.limit(&cpus(-1.0)).unwrap_err();
    assert!(fault.to_string().starts_with("limit unit"), "{fault}");
    running.kill().await.unwrap();
    limiting.limit(&cpus(0.5)).unwrap();
    place.close().await;
}

#[tokio::test]
async fn the_limits_of_a_host_hold_for_all_its_units_together() {
    if !groups_or_skip() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let ledger = barograph_platform::Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    let small = HostSpec { name: "small".to_owned(), limits: cpus(0.4), ..HostSpec::default() };
    let spec =
        barograph_platform::SiteSpec { id: "two".to_owned(), hosts: vec![small], ..Default::default() };
    let site = Local::open(&spec, &ledger);
    assert!(site.host_accounts("small").cgroups.is_empty());
    let unit = |name: &str| Unit {
        name: name.to_owned(),
        host: "small".to_owned(),
        args: vec!["-c".to_owned(), format!("{READY} {BURN}")],
        log: dir.path().join(name),
        ..Unit::new("", "/bin/sh".into(), SERVICE)
    };
    let first = site.create(&unit("one"), barograph_platform::ignore_lines()).await.unwrap();
    let second = site.create(&unit("two"), barograph_platform::ignore_lines()).await.unwrap();
    let host = Meter::open(&site.host_accounts("small").cgroups);
    until_one(|| host.read(), Duration::from_secs(1), |seen| seen.cores < 0.45).await;
    assert!(cpu(&usage(&*first)) + cpu(&usage(&*second)) <= cpu(&host.read()));
    drop((first, second));
    Box::new(site).close().await.unwrap();
    assert_eq!(ledger.left(), []);
}

#[tokio::test]
async fn a_unit_that_wants_more_memory_than_it_may_is_killed() {
    if !groups_or_skip() {
        return;
    }
    let place = TestSite::new();
    let limits = Limits { memory_bytes: Some(48 << 20), ..Limits::default() };
    // `tail` keeps all it has read until it sees a line end, and there is none.
    let hog = "head -c 300000000 /dev/zero | tail -n 1 > /dev/null";
    let job = Readiness::Exit { timeout: LONG };
    let unit = Unit { limits: limits.clone(), ..place.unit(hog, job.clone()) };
    let fault = place.start(&unit).await.err().unwrap();
    assert!(matches!(fault, Fault::EndedEarly { .. }), "{fault}");
    assert!(
        place.start(&Unit { limits: Limits::default(), ..unit }).await.is_ok(),
        "without the limit it is done"
    );
    let script =
        format!("{READY} read -r word; head -c 300000000 /dev/zero | tail -n 1 > /dev/null; exec cat");
    let running = place.start(&Unit { limits, ..place.unit(&script, SERVICE) }).await.unwrap();
    let memory = usage(&*running).memory.unwrap();
    assert!(memory.current.unwrap() <= 48 << 20 && memory.out_of_memory_kills == Some(0), "{memory:?}");
}

async fn allowed(place: &TestSite, limits: Limits) -> String {
    let script = format!("grep Cpus_allowed_list /proc/self/status > allowed; {READY} exec cat");
    let running = place.start(&Unit { limits, ..place.unit(&script, SERVICE) }).await.unwrap();
    let text = std::fs::read_to_string(place.path("allowed")).unwrap();
    running.kill().await.unwrap();
    text.trim_start_matches("Cpus_allowed_list:").trim().to_owned()
}

#[tokio::test]
async fn cores_are_chosen_with_and_without_control_groups() {
    let one = || Limits { cpu_set: vec![0], ..Limits::default() };
    for hold in crate::place::HOLDS {
        let place = TestSite::holding(hold);
        assert_eq!(allowed(&place, one()).await, "0", "{hold}");
    }
    let host = HostSpec { name: "h".to_owned(), limits: one(), ..HostSpec::default() };
    for hold in crate::place::HOLDS {
        let place = TestSite::with(|spec, _| {
            spec.hosts.push(host.clone());
            spec.options.push(("hold".to_owned(), hold.to_owned()));
        });
        let script = format!("grep Cpus_allowed_list /proc/self/status > allowed; {READY} exec cat");
        let unit = Unit { host: "h".to_owned(), ..place.unit(&script, SERVICE) };
        place.start(&unit).await.unwrap().kill().await.unwrap();
        let text = std::fs::read_to_string(place.path("allowed")).unwrap();
        assert!(text.trim().ends_with("\t0"), "{hold}: {text:?}");
    }
}

/// Limits of disks of a unit, as the kernel has them.
fn rates(running: &dyn UnitHandle) -> Option<String> {
    let files = ["blkio.throttle.write_bps_device", "io.max"];
    let mut files =
        running.accounts().cgroups.into_iter().flat_map(|group| files.map(|file| group.join(file)));
    files.find_map(|file| std::fs::read_to_string(file).ok())
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
async fn the_rate_of_disks_is_limited_once_the_steps_are_done() {
    if !groups_or_skip() {
        return;
    }
    let place = TestSite::new();
    let step = Step { program: "/bin/true".into(), args: Vec::new() };
    for prepare in [Vec::new(), vec![step]] {
        let limits = Limits { disk_bytes_s: Some(3 << 20), ..Limits::default() };
        let unit = Unit { limits, prepare, ..place.unit(&format!("{READY} exec cat"), SERVICE) };
        if let Err(missing) = place.site().preflight(&unit).await {
            println!("skipped: {missing}");
            return;
        }
        let running = place.start(&unit).await.unwrap();
        let limited = rates(&*running).expect("the kernel has limits of disks");
        assert!(limited.contains("3145728"), "{limited:?}");
        running.limiting().unwrap().limit(&Limits::default()).unwrap();
        assert_eq!(rates(&*running).unwrap(), "");
        running.kill().await.unwrap();
    }
}

#[tokio::test]
async fn limits_that_cannot_be_set_are_missing_and_refused() {
    let place = TestSite::holding("mark");
    let disks = Limits { disk_bytes_s: Some(1 << 20), ..Limits::default() };
    for limits in [cpus(1.0), Limits { memory_bytes: Some(1 << 30), ..Limits::default() }, disks] {
        let unit = Unit { limits: limits.clone(), ..place.unit("exec cat", SERVICE) };
        let missing = place.site().preflight(&unit).await.unwrap_err();
        assert!(missing.what.contains("cannot be limited"), "{missing}");
        let fault = place.start(&unit).await.err().unwrap();
        assert!(fault.to_string().starts_with("limit unit"), "{fault}");
        let mut spec = place.spec.clone();
        spec.hosts.push(HostSpec { name: "h".to_owned(), limits, ..HostSpec::default() });
        assert_eq!(Local::look(&spec).unwrap_err().len(), 1);
    }
    assert!(place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap().limiting().is_none());
    // The kernel has no such core.
    if groups_or_skip() {
        let place = TestSite::new();
        let limits = Limits { cpu_set: vec![100_000], ..Limits::default() };
        let fault = place.start(&Unit { limits, ..place.unit("exec cat", SERVICE) }).await.err().unwrap();
        assert!(fault.to_string().starts_with("make a control group for unit"), "{fault}");
    }
}
