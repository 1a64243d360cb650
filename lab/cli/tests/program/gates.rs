//! Real faults of driver and host, and the checks that report them.

use std::sync::atomic::{AtomicBool, Ordering};

use barograph_record::{CheckRecord, Run};
use barograph_testkit::{Answer, ListenOptions, Server, Site, SiteProtocols, always};

use crate::going::RunningProgram;
use crate::http::{http, result};
use crate::place::{TestFolders, fixed};

/// The check of this name in every trial of a run.
fn checks<'r>(run: &'r Run, name: &str) -> Vec<&'r CheckRecord> {
    let of = |trial: &'r barograph_record::Trial| {
        trial.window.checks.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name} is not checked"))
    };
    run.trials().map(of).collect()
}

/// Keeps every core busy until dropped. This process is not part of a run.
struct BusyCores {
    stop: &'static AtomicBool,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl BusyCores {
    fn start() -> Self {
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let burn = move || {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        BusyCores { stop, threads: (0..cores).map(|_| std::thread::spawn(burn)).collect() }
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A counting thread does not panic.
            let _ = thread.join();
        }
    }
}

#[test]
fn processor_time_of_others_makes_a_window_unbelievable() {
    let place = TestFolders::new();
    let burning = BusyCores::start();
    let ended = RunningProgram::start(place.run(None, &fixed(10, 4))).end();
    drop(burning);
    assert_eq!(ended.code, Some(9), "{ended:?}");
    let run = place.record();
    for check in checks(&run, "CPU used by others") {
        assert!(!check.ok && check.found.contains("outside of the run"), "{check:?}");
        assert_eq!(check.allowed, "at most 10 %, or 50 % of the host idle");
    }
    let reasons = &run.verdict().unwrap().reasons;
    assert!(reasons.iter().any(|r| r.starts_with("not valid: CPU used by others: ")), "{reasons:?}");
}

#[test]
fn of_a_target_on_this_host_nobody_says_what_others_used() {
    let place = TestFolders::without_data();
    let server = Server::start(always(Answer::new(200, "{}").into())).unwrap();
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/scenario-get.toml");
    let target = format!("target.url=http://{}", server.addr());
    let runs = format!("runs={}", place.runs().display());
    let mut command = place.program(&["run", plan, "--set", &target, "--set", &runs]);
    for set in ["load.users=2", "load.window_s=2", "load.warm_up_s=0", "driver.interval_ms=250"] {
        command.args(["--set", set]);
    }
    let ended = RunningProgram::start(command).end();
    let run = place.record();
    for check in checks(&run, "CPU used by others") {
        assert!(check.ok && check.found.starts_with("not judged: the target is on this host"), "{ended:?}");
    }
    // CPU time taken by the hypervisor is known in any case.
    assert_eq!(checks(&run, "stolen CPU").len(), 1);
    assert!(checks(&run, "driver's own failures").iter().all(|check| check.ok && check.found == "none"));
}

/// Every second user connects from an address that this host does not have, which fails in the driver as a
/// lack of local ports does.
#[test]
fn failures_of_the_driver_are_not_the_targets() {
    let place = TestFolders::without_data();
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let words = ["-d", "5s", "-c", "4", "--source", "127.0.0.1", "--source", "192.0.2.7", "--json", "-q"];
    let kept = ["--errors", "100%", "--keep-record", "kept"];
    let ended = http(&place, &[&[site.url("/hello").as_str()], &words[..], &kept[..]].concat());
    assert_eq!(ended.code, Some(9), "{ended:?}");
    let result = result(&ended, 9);
    assert!(result["outcomes"]["driver fault"].as_u64().unwrap() > 0, "{}", ended.out);
    assert!(result["outcomes"]["good"].as_u64().unwrap() > 0, "{}", ended.out);
    let ids = barograph_record::list(&place.root().join("kept")).unwrap();
    let run = Run::open(&place.root().join("kept").join(ids[0].as_str())).unwrap();
    for check in checks(&run, "driver's own failures") {
        assert!(!check.ok && check.found.contains("no port, file or memory left"), "{check:?}");
    }
}
