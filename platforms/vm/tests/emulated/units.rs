//! Units in guests: their lines, logs, ends, limits and pauses; a database; two connected guests.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use barograph_platform::{
    DiskSpec, Fault, Guests, HERE, Limits, LinkSpec, Readiness, ReadinessCheck, Site, Step, UnitExit,
    UnitFile, User, ignore_lines,
};
use barograph_testkit::one_of_async;

use crate::site::{LIMIT, TestSite, cpus, listener, open, or_skip, say};
use crate::{disks, echo, moves};

/// Largest number of observations of a limit.
const TRIES: usize = 5;

/// The whole test uses two guests; its parts are called in order and each cleans up after itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_do_what_hosts_do_and_can_be_moved() {
    let begun = Instant::now();
    let Some(opened) = open("units", &["a", "b"], |spec, _| {
        spec.hosts[0].limits = Limits { memory_bytes: Some(768 << 20), ..cpus(1.5) };
        spec.disks = vec![DiskSpec { unit: disks::UNIT.to_owned(), bytes: disks::BYTES }];
    })
    .await
    else {
        return;
    };
    let took = |what: &str| say(&format!("{:6.2} s: {what}", begun.elapsed().as_secs_f64()));
    took("two guests are ready");
    say(&format!("{:?}", opened.vm.facts()));
    lines_logs_and_ends(&opened).await;
    took("lines, logs and ends come back");
    clocks_and_counters(&opened).await;
    pauses_and_limits(&opened).await;
    took("units were paused and limited");
    disks::all(&opened).await;
    took("the disk of a unit was full and free again");
    network(&opened).await;
    took("two guests talked, were cut off and healed");
    a_database(&opened).await;
    took("a database answered");
    moves::all(&opened).await;
    took("guests were moved, mirrored, kept, taken back and cloned");
    opened.close().await;
    took("nothing is left");
}

async fn lines_logs_and_ends(opened: &TestSite) {
    let lines = opened
        .script("words", "a", "echo one; echo two >&2; hostname; pwd; [ -e /dev/vda ] && echo disk")
        .await;
    assert_eq!(lines, ["one", "a", opened.spec.folder.to_str().unwrap(), "disk"]);
    assert_eq!(std::fs::read_to_string(opened.log("words")).unwrap(), "two\n");

    let bad = opened.unit("bad", "a", "/bin/sh", &["-c", "echo not today >&2; exit 3"]);
    match opened.vm.create(&bad, ignore_lines()).await.map(drop).unwrap_err() {
        Fault::EndedEarly { unit, ended, log } => {
            assert_eq!(
                (unit.as_str(), ended, log.0),
                ("bad", UnitExit::Code(3), vec!["not today".to_owned()])
            );
        }
        other => panic!("{other:?}"),
    }
    let mut late = opened.unit("late", "b", "/bin/sleep", &["1000"]);
    late.ready = Readiness::StdoutLine { timeout: Duration::from_millis(300) };
    let fault = opened.vm.create(&late, ignore_lines()).await.map(drop).unwrap_err();
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault:?}");
    let absent = opened.unit("absent", "b", "/no/such/program", &[]);
    let missing = opened.vm.preflight(&absent).await.unwrap_err();
    assert!(missing.what.contains("/no/such/program") && missing.what.contains("host `b`"), "{missing}");
    let fault = opened.vm.create(&absent, ignore_lines()).await.map(drop).unwrap_err();
    say(&format!("a program that is not there: {fault}"));

    let script = r#"trap 'echo bye >&2; exit 7' TERM; echo '{"ready":true,"address":"127.0.0.1:1"}'; while :; do sleep 0.1; done"#;
    let mut service = opened.unit("service", "a", "/bin/sh", &["-c", script]);
    service.ready = Readiness::StdoutLine { timeout: LIMIT };
    let running = opened.create(&service, ignore_lines()).await;
    assert_eq!(
        running.address(),
        Some(SocketAddr::new(opened.vm.address("a").unwrap(), 1)),
        "as seen from outside"
    );
    assert_eq!(running.stop(LIMIT).await.unwrap(), UnitExit::Code(7));
    // The shell reports its `sleep`, too.
    let log = std::fs::read_to_string(opened.log("service")).unwrap();
    assert!(log.ends_with("bye\n"), "the log is whole after the stop: {log}");
    let running = opened.create(&service, ignore_lines()).await;
    assert_eq!(running.kill().await.unwrap(), UnitExit::Signal(9));
    let (accounts, pid) = (running.accounts(), running.pid());
    assert!(accounts.machine && accounts.pid.is_some() && pid.is_none());
    // Dropped while it runs, and dropped during its creation: in both cases it does not run any more.
    drop(opened.create(&service, ignore_lines()).await);
    late.ready = Readiness::StdoutLine { timeout: LIMIT };
    let gave_up =
        tokio::time::timeout(Duration::from_millis(500), opened.vm.create(&late, ignore_lines())).await;
    assert!(gave_up.is_err());
    until(|| async {
        let left = opened.script("who", "b", "ps -eo args | grep -c '[s]leep 1000' || true").await;
        left == ["0"]
    })
    .await;

    let (lines, on_line) = listener();
    let mut here = opened.unit("here", HERE, "/bin/sh", &["-c", "cat /proc/sys/kernel/hostname"]);
    here.host = HERE.to_owned();
    opened.create(&here, on_line).await;
    assert_ne!(lines.lock().unwrap()[0], "a", "the machine itself is a host too");
}

/// Waits for a condition.
async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < LIMIT, "it does not come true");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn clocks_and_counters(opened: &TestSite) {
    let offset = opened.vm.clock_offset("a").unwrap();
    say(&format!("clock: {offset:?}"));
    assert!(offset.nanos.unsigned_abs() < 50_000_000 + offset.error_nanos, "{offset:?}");
    let sample = opened.vm.counters("b").await.unwrap();
    let names: Vec<_> = sample.files.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["stat", "meminfo", "diskstats", "net/dev", "pressure/cpu"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

async fn pauses_and_limits(opened: &TestSite) {
    let echo = echo::start(opened, "a").await;
    let address = echo.address().unwrap();
    assert_eq!(address, SocketAddr::new(opened.vm.address("a").unwrap(), 7000));
    assert_eq!(echo::once(address, "hej", LIMIT).unwrap(), "hej");
    echo.pausing().unwrap().pause().unwrap();
    echo::once(address, "hej", Duration::from_millis(400)).unwrap_err();
    echo.pausing().unwrap().resume().unwrap();
    assert_eq!(echo::once(address, "hej", LIMIT).unwrap(), "hej");
    echo.stop(LIMIT).await.unwrap();

    let mut spin = opened.unit("spin", "a", "/bin/sh", &["-c", "while :; do :; done"]);
    spin.ready = Readiness::Runs;
    spin.limits = cpus(0.9);
    let spinning = opened.create(&spin, ignore_lines()).await;
    // Other work of the guest takes longer on a busy machine, so it is judged in one of several tries.
    one_of_async(TRIES, async || {
        spinning.limiting().unwrap().limit(&cpus(0.9)).unwrap();
        let free = busy(opened).await;
        spinning.limiting().unwrap().limit(&cpus(0.2)).unwrap();
        let held = busy(opened).await;
        let seen =
            format!("a unit that spins keeps its guest {free:.2} busy with 0.9 cores, {held:.2} with 0.2");
        say(&seen);
        if held < 0.45 && free > held + 0.2 { Ok(()) } else { Err(seen) }
    })
    .await;
    let counters = opened.vm.counters("a").await.unwrap();
    let units: Vec<_> = counters.units.iter().map(|unit| unit.unit.as_str()).collect();
    assert_eq!(units, ["spin"], "whoever ended is not counted");
    let stat = &counters.units[0].files.iter().find(|(name, _)| name == "cpu.stat").unwrap().1;
    let used = stat.lines().find_map(|line| line.strip_prefix("usage_usec ")).unwrap();
    assert!(used.parse::<u64>().unwrap() > 500_000, "it spun for three seconds: {stat}");
    spinning.kill().await.unwrap();

    // `tail` keeps all of a line that does not end.
    let hungry = |name: &str, memory_bytes| {
        let mut unit =
            opened.unit(name, "a", "/bin/sh", &["-c", "head -c 60000000 /dev/zero | tail >/dev/null"]);
        unit.limits = Limits { memory_bytes, ..Limits::default() };
        unit
    };
    opened.create(&hungry("fed", None), ignore_lines()).await;
    let fault =
        opened.vm.create(&hungry("hungry", Some(16 << 20)), ignore_lines()).await.map(drop).unwrap_err();
    assert!(
        matches!(fault, Fault::EndedEarly { ended: UnitExit::Code(137) | UnitExit::Signal(9), .. }),
        "{fault:?}"
    );
}

/// Share of the time in which the guest's processor is not idle.
async fn busy(opened: &TestSite) -> f64 {
    let ticks = || async {
        let sample = opened.vm.counters("a").await.unwrap();
        let stat = sample.text("stat").unwrap();
        let numbers = stat.lines().next().unwrap().split_whitespace().skip(1).take(8);
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        (numbers.iter().sum::<f64>(), numbers[3] + numbers[4])
    };
    let before = ticks().await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let after = ticks().await;
    1.0 - (after.1 - before.1) / (after.0 - before.0)
}

async fn network(opened: &TestSite) {
    let echo = echo::start(opened, "b").await;
    let address = echo.address().unwrap();
    let talk = "exec 3<>/dev/tcp/b/7000; echo hej >&3; head -n 1 <&3";
    let mut unit = opened.unit("talk", "a", "/bin/bash", &["-c", talk]);
    let (lines, on_line) = listener();
    opened.create(&unit, on_line).await;
    assert_eq!(*lines.lock().unwrap(), ["hej"], "a finds b by its name");

    let network = opened.vm.network().unwrap();
    network.partition(&["b".to_owned()]).await.unwrap();
    echo::once(address, "hej", Duration::from_millis(300)).unwrap_err();
    unit.args[1] = format!("timeout 1 bash -c '{talk}'");
    opened.vm.create(&unit, ignore_lines()).await.map(drop).unwrap_err();
    network.heal().await.unwrap();
    assert_eq!(echo::found_again(address, "hej"), "hej");

    let rate = LinkSpec { bits_per_second: Some(20_000_000), ..LinkSpec::default() };
    network.shape("b", rate).await.unwrap();
    let begun = Instant::now();
    // 8 Mbit there and back at 20 Mbit/s, some of it in the bucket.
    echo::once(address, &"x".repeat(1 << 20), LIMIT).unwrap();
    let slow = begun.elapsed();
    network.shape("b", LinkSpec::default()).await.unwrap();
    let begun = Instant::now();
    echo::once(address, &"x".repeat(1 << 20), LIMIT).unwrap();
    say(&format!("1 MiB there and back: {slow:?} at 20 Mbit/s, {:?} without a limit", begun.elapsed()));
    assert!(slow > Duration::from_millis(250));
    echo.kill().await.unwrap();
}

fn postgres() -> Result<PathBuf, &'static str> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders = versions.map(|version| version.path().join("bin"));
    folders
        .find(|folder| folder.join("postgres").is_file())
        .ok_or("PostgreSQL is not there; apt-get install -y postgresql")
}

async fn a_database(opened: &TestSite) {
    let Some(programs) = or_skip(postgres()) else { return };
    let program = |name: &str| programs.join(name);
    let ip = opened.vm.address("b").unwrap();
    let port = opened.vm.port("b", 5432).unwrap();
    assert_eq!(port, 5432);
    assert_ne!(opened.vm.port("b", 5432).unwrap(), 5432, "given once");
    let mut unit = opened.unit("database", "b", program("postgres").to_str().unwrap(), &[]);
    unit.workdir = opened.spec.folder.join("database");
    unit.files = vec![UnitFile {
        path: PathBuf::from("hba.conf"),
        bytes: b"host all all 0.0.0.0/0 trust\nlocal all all trust\n".to_vec(),
        mode: 0o644,
    }];
    let step = |name: &str, words: &str| Step {
        program: program(name),
        args: words.split(' ').map(str::to_owned).collect(),
    };
    unit.prepare = vec![step("initdb", "-D data -U postgres -A trust --no-sync")];
    let words = format!(
        "-D data -p 5432 -k . -c listen_addresses=0.0.0.0 -c hba_file={}",
        unit.workdir.join("hba.conf").display()
    );
    unit.args = words.split(' ').map(str::to_owned).collect();
    unit.user = User::NotRoot;
    let address = SocketAddr::new(ip, port);
    unit.ready = Readiness::Answers { ask: ReadinessCheck::Postgres, address, timeout: LIMIT };
    let begun = Instant::now();
    let database = opened.create(&unit, ignore_lines()).await;
    say(&format!("PostgreSQL in a guest: initdb and start took {:?}", begun.elapsed()));
    let ask = format!(
        "psql -h {ip} -U postgres -Atc 'select 6*7' -c \"select setting from pg_settings where name = 'fsync'\""
    );
    let lines = opened.script("ask", HERE, &ask).await;
    assert_eq!(lines, ["42", "on"]);
    let disk = format!("df --output=source {} | tail -n 1", unit.workdir.join("data").display());
    let disk = opened.script("where", "b", &disk).await;
    assert!(disk[0].starts_with("/dev/vd") || disk[0].ends_with("vdc"), "{disk:?}");
    // Dropped: ends without grace.
    drop(database);
    until(|| async { TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() }).await;
    assert!(Path::new(&unit.log).is_file());
}
