//! For every way of keeping units together: nothing is left of them, and their processes are the right ones.

use std::cell::Cell;
use std::process::Command;
use std::time::Duration;

use barograph_platform::{Fault, Readiness, Unit, UnitExit};
use barograph_platform_process::Local;

use crate::place::{
    HOLDS, LONG, READY, SERVICE, TestSite, children, groups_of, groups_or_skip, lives, processes_naming,
    state, ticks, until, until_async,
};

/// Ways supported by this machine, with a place for each.
fn places() -> Vec<(&'static str, TestSite)> {
    let places = HOLDS.map(|hold| (hold, TestSite::holding(hold)));
    places.into_iter().filter(|(hold, place)| can(hold, place)).collect()
}

/// Whether the machine supports it; prints the reason if not.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn can(hold: &str, place: &TestSite) -> bool {
    match Local::look(&place.spec) {
        Ok(facts) => {
            assert!(facts.iter().any(|(name, _)| name == "units are held together by"), "{facts:?}");
            true
        }
        Err(missing) => {
            println!("skipped {hold}: {}", missing[0]);
            false
        }
    }
}

#[tokio::test]
async fn a_unit_lives_and_ends_alike() {
    for (hold, mut place) in places() {
        let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
        let pid = running.pid().unwrap();
        assert_eq!(Local::open(&place.spec, &place.ledger).hold().name(), hold);
        // The shell executes it just after its line.
        let name = || std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        until_async(hold, || name().trim() == "cat").await;
        let above = parent(pid);
        assert_eq!(above == std::process::id(), hold != "namespace", "{hold}: nothing is in between");
        assert_eq!(running.accounts().pid, Some(pid));
        assert_eq!(running.accounts().cgroups.is_empty(), hold != "control-group");
        assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15), "{hold}");
        assert!(!lives(pid) && place.left().is_empty());
        let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
        assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9), "{hold}");
        let job = Readiness::Exit { timeout: LONG };
        assert!(place.create("exit 0", job.clone()).await.is_ok(), "{hold}");
        let fault = place.create("exit 7", job).await.err().unwrap();
        assert!(matches!(fault, Fault::EndedEarly { ended: UnitExit::Code(7), .. }), "{hold}: {fault}");
        place.close().await;
    }
}

/// Starts daemons as epmd and PostgreSQL do: outside of the group and the session, and one without the mark.
/// Ready when both have executed their program: a process with only their words, and not within a script, is
/// one of them.
fn daemons(place: &TestSite, forget: &str) -> String {
    let name = place.path("ledger.jsonl").display().to_string();
    format!(
        "setsid tail -f {name} > /dev/null & setsid {forget} tail -f {name} > /dev/null & \
         until [ $(pgrep -cxf 'tail -f {name}') -ge 2 ]; do :; done; {READY} exec cat"
    )
}

#[tokio::test]
async fn daemons_that_flee_the_group_end_with_the_unit() {
    for (hold, mut place) in places() {
        // A daemon that drops the mark as well is lost if only the mark is used.
        let forget = if hold == "mark" { "" } else { "env -i" };
        for end in ["stop", "kill", "end", "drop"] {
            let running = place.create(&daemons(&place, forget), SERVICE).await.unwrap();
            assert!(processes_naming(place.dir.path()).len() >= 3, "{hold}");
            match end {
                "stop" => drop(running.stop(LONG).await.unwrap()),
                "kill" => drop(running.kill().await.unwrap()),
                "end" => {
                    let pid = running.pid().unwrap().to_string();
                    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
                    running.wait_exit().await;
                }
                _ => {
                    drop(running);
                    let what = "all of a dropped unit is gone";
                    until_async(what, || processes_naming(place.dir.path()).is_empty()).await;
                    continue;
                }
            }
            assert_eq!(processes_naming(place.dir.path()), Vec::<String>::new(), "{hold}, {end}");
            assert_eq!(place.left(), [], "{hold}, {end}");
        }
        until_async("the ledger knows", || place.left().is_empty()).await;
        place.close().await;
    }
}

#[tokio::test]
async fn a_paused_unit_stands_still_with_its_children_and_can_be_stopped() {
    for (hold, place) in places() {
        let script = format!("setsid sh -c 'while :; do :; done' & {READY} while :; do :; done");
        let running = place.create(&script, SERVICE).await.unwrap();
        let pid = running.pid().unwrap();
        until("the child is born", || !children(pid).is_empty());
        let child = children(pid)[0];
        until("both burn", || ticks(pid) > 5 && ticks(child) > 5);
        let pausing = running.pausing().unwrap();
        pausing.pause().unwrap();
        // A stop reaches a process when a core next runs it; until then its time advances.
        // A process that waits for a page is not running either, and goes on.
        let still = Cell::new(0);
        until("both stand still", || {
            let is_still = [pid, child].iter().all(|pid| state(*pid) != Some('R'));
            still.set(if is_still { still.get() + 1 } else { 0 });
            still.get() > 20
        });
        let before = (ticks(pid), ticks(child));
        // Time passes for others: this loop uses CPU time of its own.
        let start = ticks(std::process::id());
        until("time passes", || ticks(std::process::id()) > start + 10);
        // A stopped process may have been in the middle of a tick.
        assert!(ticks(pid) <= before.0 + 1 && ticks(child) <= before.1 + 1, "{hold}");
        pausing.resume().unwrap();
        until("both go on", || ticks(pid) > before.0 + 5 && ticks(child) > before.1 + 5);
        pausing.pause().unwrap();
        assert_eq!(
            running.stop(LONG).await.unwrap(),
            UnitExit::Signal(15),
            "{hold}: a request reaches a paused unit"
        );
        assert!(!lives(child), "{hold}");
    }
}

#[tokio::test]
async fn no_process_of_a_killed_unit_acts_on_the_end_of_another() {
    for (hold, place) in places() {
        let (pipe, said) = (place.path("pipe"), place.path("said"));
        let (pipe, end) = (pipe.display(), said.display());
        // It reads until the end of the program, which alone has the pipe open to write.
        let other = format!("setsid sh -c 'read line < {pipe}; : > {end}'");
        let script = format!("mkfifo {pipe}; {other} & exec 3> {pipe}; {READY} exec cat");
        let running = place.create(&script, SERVICE).await.unwrap();
        assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9), "{hold}");
        assert!(!said.exists(), "{hold}");
    }
}

fn parent(pid: u32) -> u32 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn groups_go_with_their_units_and_sites() {
    if !groups_or_skip() {
        return;
    }
    let mut place = TestSite::new();
    let other = TestSite::new();
    let running = place.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let paths = running.accounts().cgroups;
    assert!(!paths.is_empty() && paths.iter().all(|path| path.is_dir()));
    assert_eq!(groups_of(place.dir.path()).len(), paths.len());
    let twin = Unit { name: "cgroup.procs".to_owned(), ..place.unit(&format!("{READY} exec cat"), SERVICE) };
    let second = place.start(&twin).await.unwrap();
    assert_ne!(paths, second.accounts().cgroups);
    running.stop(LONG).await.unwrap();
    assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    let above = paths[0].parent().unwrap().parent().unwrap().to_owned();
    assert!(above.is_dir());
    // Closed with a running unit.
    let pid = second.pid().unwrap();
    place.close().await;
    assert!(!above.exists() && !lives(pid));
    assert_eq!(second.wait_exit().await, UnitExit::Signal(9));
    // Dropped with a running unit.
    let mut other = other;
    let running = other.create(&format!("{READY} exec cat"), SERVICE).await.unwrap();
    let above = running.accounts().cgroups[0].parent().unwrap().parent().unwrap().to_owned();
    drop(other.site.take());
    until_async("the site's group goes", || !above.exists()).await;
    assert!(!lives(running.pid().unwrap()));
}

#[tokio::test]
async fn a_creation_that_fails_leaves_no_group() {
    let mut place = TestSite::new();
    let short = Readiness::StdoutLine { timeout: Duration::from_millis(300) };
    assert!(place.create("setsid sleep 1000 & exec cat", short).await.is_err());
    let unit = Unit { workdir: "/no/such".into(), ..place.unit("", SERVICE) };
    assert!(matches!(place.start(&unit).await, Err(Fault::Start { .. })));
    let group = |path: &std::path::Path| path.is_dir();
    for path in groups_of(place.dir.path()) {
        let entries = std::fs::read_dir(path.join("here")).unwrap().flatten();
        assert_eq!(entries.filter(|entry| group(&entry.path())).count(), 0);
    }
    place.close().await;
}

#[tokio::test]
async fn a_site_that_goes_ends_its_units() {
    for (hold, mut place) in places() {
        let running = place.create(&format!("setsid sleep 1000 & {READY} exec cat"), SERVICE).await.unwrap();
        place.close().await;
        assert_eq!(running.wait_exit().await, UnitExit::Signal(9), "{hold}");
        assert!(!lives(running.pid().unwrap()));
        let mut place = TestSite::holding(hold);
        let running = place.create(&format!("setsid sleep 1000 & {READY} exec cat"), SERVICE).await.unwrap();
        drop(place.site.take());
        assert_eq!(running.wait_exit().await, UnitExit::Signal(9), "{hold}");
        assert_eq!(place.left(), [], "{hold}");
    }
}
