//! A guest that is restored to a snapshot: its state, and the reports to this side.

use std::error::Error;
use std::time::Duration;

use barograph_platform::{Fault, Readiness, Site, UnitExit, UnitHandle, ignore_lines};

use crate::echo;
use crate::site::{LIMIT, TestSite, say};

/// Checks on a host that runs only this service, and has the snapshot `known`.
pub(crate) async fn all(opened: &TestSite, host: &str, (echo, known): (&dyn UnitHandle, &str)) {
    let machines = opened.vm.machines().unwrap();
    an_unknown_name_is_refused(opened, host, known).await;
    let file = opened.spec.folder.join("of-a-time");
    let write = |text: &str| format!("echo {text} >{0}; sync {0}", file.display());
    opened.script("write", host, &write("then")).await;
    let (kept, ends) = (sleep(opened, host, "1001").await, sleep(opened, host, "1002").await);
    let moved = machines.snapshot(host, "then").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    say(&format!("snapshot with units that run: {moved:?}"));
    machines.snapshot(host, "then").await.unwrap_err();

    let comes = sleep(opened, host, "1003").await;
    assert_eq!(ends.kill().await.unwrap(), UnitExit::Signal(9));
    opened.script("write", host, &write("now")).await;
    assert_eq!(sleepers(opened, host).await, ["sleep 1001", "sleep 1003"]);
    let moved = back(opened, host).await;
    assert!(moved.bytes > 10 << 20 && moved.downtime < moved.took, "{moved:?}");
    let words = format!("host `{host}` went back to its snapshot `then`, taken before this unit was created");
    let ended = tokio::time::timeout(LIMIT, comes.wait_exit()).await.unwrap();
    assert_eq!(ended, UnitExit::Unknown(words));
    assert_eq!(sleepers(opened, host).await, ["sleep 1001"], "what ended since does not run again");
    assert_eq!(opened.script("read", host, &format!("cat {}", file.display())).await, ["then"]);
    let offset = opened.vm.clock_offset(host).unwrap();
    say(&format!("clock after going back: {offset:?}"));
    assert!(offset.nanos.unsigned_abs() < 50_000_000 + offset.error_nanos, "{offset:?}");
    assert_eq!(echo::once(echo.address().unwrap(), "hej", LIMIT).unwrap(), "hej");

    // Again, from a state in which a unit of the snapshot has ended.
    assert_eq!(kept.kill().await.unwrap(), UnitExit::Signal(9));
    back(opened, host).await;
    assert_eq!(sleepers(opened, host).await, Vec::<String>::new());
    assert_eq!(echo::once(echo.address().unwrap(), "hej", LIMIT).unwrap(), "hej");
}

async fn back(opened: &TestSite, host: &str) -> barograph_platform::MachineOperation {
    let moved = opened.vm.machines().unwrap().restore(host, "then").await;
    let moved = moved.unwrap_or_else(|fault| panic!("{fault:?}"));
    say(&format!("back to a snapshot: {moved:?}"));
    assert!(moved.downtime > Duration::ZERO, "{moved:?}");
    moved
}

/// It is refused with the existing names, and nothing is done.
async fn an_unknown_name_is_refused(opened: &TestSite, host: &str, known: &str) {
    let running = sleep(opened, host, "1004").await;
    let fault: Fault = opened.vm.machines().unwrap().restore(host, "never").await.unwrap_err();
    let text = format!("{fault}: {}", fault.source().unwrap());
    for said in [format!("`{host}`"), "`never`".to_owned(), format!("it has: `{known}` ")] {
        assert!(text.contains(&said), "{said} is not in {text}");
    }
    assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9));
}

async fn sleep(opened: &TestSite, host: &str, seconds: &str) -> Box<dyn UnitHandle> {
    let mut unit = opened.unit(&format!("sleep-{seconds}"), host, "/bin/sleep", &[seconds]);
    unit.ready = Readiness::Runs;
    opened.create(&unit, ignore_lines()).await
}

/// Returns the sleeping units that the guest itself sees.
async fn sleepers(opened: &TestSite, host: &str) -> Vec<String> {
    let script = "ps -eo args | grep -o '[s]leep 100[0-9]$' | sort -u";
    opened.script("sleepers", host, script).await
}
