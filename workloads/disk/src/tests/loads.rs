//! Loads of real files through both engines.

use std::cell::Cell;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::Context;

use barograph_engine::{Group, GroupFactory, Members, OpContext, runnable_groups};
use barograph_model::{ChooserId, OpId, UserId};
use barograph_testkit::{CountingAllocator, allocations};

use super::*;
use crate::access::Opening;
use crate::group::{QueueGroup, Rings};
use crate::measures::{CALLS, READ, SUBMISSION, SUBMITTED, VERIFIABLE, VERIFIED, WRITTEN};
use crate::program::Program;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Both ways to do operations.
const ENGINES: [&str; 2] = ["io_uring", "threads"];

/// Whether the system makes rings; a message where it does not.
fn has(engine: &str) -> bool {
    let buffers = barograph_ring::Buffers::new(1, 4_096).unwrap();
    let possible = barograph_ring::Ring::is_possible(tempfile::tempfile().unwrap().into(), buffers);
    if let (Err(why), "io_uring") = (&possible, engine) {
        skip(&why.to_string());
        return false;
    }
    true
}

fn keys(engine: &str, more: &str) -> String {
    format!("disk.engine = {engine:?}\ndisk.direct = false\n{more}")
}

#[test]
fn reads_and_writes_come_in_their_mix() {
    for engine in ENGINES.into_iter().filter(|engine| has(engine)) {
        let folder = tempfile::tempdir().unwrap();
        let ended = Load::of(&folder.path().join("x"), &keys(engine, "")).run(4_000);
        ended.assert_clean();
        let (reads, writes) = (ended.good("Read"), ended.good("Write"));
        let share = reads as f64 / (reads + writes) as f64;
        assert!((share - 0.7).abs() < 0.05, "{engine}: {share}");
        assert_eq!((ended.counter(READ), ended.counter(WRITTEN)), (reads * 4_096, writes * 4_096));
        let (submitted, calls) = (ended.counter(SUBMITTED), ended.counter(CALLS));
        match engine {
            "io_uring" => {
                assert_eq!(submitted, reads + writes);
                assert!((1..=submitted).contains(&calls) && ended.counter(SUBMISSION) > 0);
            }
            _ => assert_eq!((submitted, calls), (0, 0)),
        }
    }
}

#[test]
fn direct_loads_of_several_sizes_in_every_order() {
    let Some(folder) = direct_folder() else { return skip("no folder with direct access") };
    for engine in ENGINES.into_iter().filter(|engine| has(engine)) {
        for pattern in ["uniform", "zipf", "hot", "sequential"] {
            let more = format!(
                "disk.engine = {engine:?}\ndisk.pattern = {pattern:?}\ndisk.block = \"4k=3,16k=1\"\n"
            );
            let ended = Load::of(&folder.path().join("x"), &more).run(400);
            ended.assert_clean();
            assert!(ended.good("Read") > 0 && ended.good("Write") > 0, "{engine} {pattern}");
        }
    }
}

#[test]
fn writes_are_synced_as_the_plan_says() {
    for engine in ENGINES.into_iter().filter(|engine| has(engine)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let more = "disk.mix.Write = 1\ndisk.sync = \"every\"\ndisk.sync_every = 4\n";
        let ended = Load::of(&path, &keys(engine, more)).run(2_000);
        ended.assert_clean();
        let (writes, syncs) = (ended.good("Write"), ended.good("Sync"));
        // Users stop amid a round.
        assert!(
            syncs * 4 <= writes && writes <= syncs * 4 + 8 * 4,
            "{engine}: {writes} writes, {syncs} syncs"
        );
        let mixed = "disk.mix.Write = 3\ndisk.mix.Sync = 1\n";
        let ended = Load::of(&path, &keys(engine, mixed)).run(400);
        ended.assert_clean();
        assert!(ended.good("Sync") > 0 && ended.good("Sync") < ended.good("Write"));
        Load::of(&path, &keys(engine, "disk.sync = \"each\"\n")).run(200).assert_clean();
    }
}

#[test]
fn what_is_written_is_verified() {
    for engine in ENGINES.into_iter().filter(|engine| has(engine)) {
        for pattern in ["uniform", "sequential", "hot"] {
            let folder = tempfile::tempdir().unwrap();
            let more = format!(
                "disk.verify = true\ndisk.pattern = {pattern:?}\ndisk.mix = {{ Read = 1, Write = 1 }}\n"
            );
            let ended = Load::of(&folder.path().join("x"), &keys(engine, &more)).run(4_000);
            ended.assert_clean();
            let (verifiable, verified) = (ended.counter(VERIFIABLE), ended.counter(VERIFIED));
            assert_eq!(verifiable, ended.good("Read"));
            assert!(verified > verifiable / 2 && verified <= verifiable, "{engine} {pattern}: {verified}");
        }
    }
}

#[test]
fn a_target_of_others_is_read_and_not_changed() {
    for engine in ENGINES.into_iter().filter(|engine| has(engine)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("of-others");
        let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8 + 1).collect();
        std::fs::write(&path, &bytes).unwrap();
        let load = Load::of(&path, &keys(engine, "disk.mix.Read = 1\n"));
        assert_eq!(load.refused(), "");
        assert!(load.fill().is_none());
        let ended = load.load(1_000);
        ended.assert_clean();
        assert!(ended.good("Read") >= 1_000);
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn operations_that_take_too_long_are_timed_out_and_waited_for() {
    let Some(folder) = direct_folder().filter(|_| has("io_uring")) else {
        return skip("no folder with direct access");
    };
    let large = "disk.size = \"32m\"\ndisk.block = \"4m\"\ndisk.mix.Read = 1\n";
    let mut load = Load::of(&folder.path().join("x"), large);
    load.fill().unwrap().unwrap();
    // Shorter than any operation of this size takes.
    load.timeout = Nanos(1_000);
    let ended = load.load(40);
    let all: u64 = ended.sum.ops.iter().map(barograph_stats::OpStats::count).sum();
    assert_eq!(ended.outcomes("Read", Outcome::TimedOut), all, "{:?}", ended.reasons);
    load.timeout = Nanos::from_secs(60);
    load.load(20).assert_clean();
}

/// A load on a ring of which each operation is counted.
struct Counted {
    rings: Rings,
    tell: SyncSender<u64>,
}

struct CountedGroup {
    group: QueueGroup<barograph_ring::Ring>,
    begun: Cell<u64>,
    before: Cell<u64>,
    tell: SyncSender<u64>,
}

impl GroupFactory for Counted {
    type Group = CountedGroup;

    fn size(&self) -> usize {
        self.rings.size()
    }

    fn group(&self) -> CountedGroup {
        let (begun, before) = (Cell::new(0), Cell::new(0));
        CountedGroup { group: self.rings.group(), begun, before, tell: self.tell.clone() }
    }
}

impl Group for CountedGroup {
    fn join(&mut self, place: usize, user: UserId) {
        self.group.join(place, user);
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        const WARM: u64 = 1_000;
        const COUNTED: u64 = 5_000;
        self.group.begin(place, op, context);
        self.begun.set(self.begun.get() + 1);
        match self.begun.get() {
            WARM => self.before.set(allocations()),
            n if n == WARM + COUNTED => self.tell.try_send(allocations() - self.before.get()).unwrap(),
            _ => {}
        }
    }

    fn abandon(&mut self, place: usize) {
        self.group.abandon(place);
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        self.group.poll(cx, members);
    }

    fn choose(&mut self, place: usize, chooser: ChooserId, context: &mut OpContext) -> usize {
        self.group.choose(place, chooser, context)
    }
}

#[test]
fn operations_allocate_nothing() {
    if !has("io_uring") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let load = Load::of(&path, &keys("io_uring", "disk.verify = true\ndisk.mix = { Read = 1, Write = 1 }\n"));
    load.fill().unwrap().unwrap();
    let own = crate::plan::DiskPlan::of(&load.plan).clone();
    let (tell, told) = sync_channel(1);
    let make = move || {
        let program = Program {
            kinds: own.kinds(),
            places: crate::places::Places::new(&own.blocks, own.pattern, own.size),
            contents: crate::contents::Contents::new(own.entropy),
            generations: Some(Arc::new(crate::generations::Generations::filled(256))),
            salt: crate::program::salt(1),
            plan: own.clone(),
            reasons: barograph_workload::Reasons::shared(),
        };
        let opening = Opening { path: path.clone(), access: own.access() };
        Counted { rings: Rings { program: Arc::new(program), opening, users: 8 }, tell: tell.clone() }
    };
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(load.workload.behaviours(NAME).unwrap()),
        limits: load.workload.profile(NAME).unwrap().time_limits(2),
        interval: Nanos::from_secs(600),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let counted = runtime().block_on(async {
        let mut engine = runnable_groups(make).start(&settings).unwrap();
        engine.ramp(8, Nanos::ZERO).await.unwrap();
        let counted = tokio::task::spawn_blocking(move || told.recv()).await.unwrap().unwrap();
        engine.stop(Nanos::from_secs(10)).await;
        while engine.next().await.unwrap().is_some() {}
        counted
    });
    assert_eq!(counted, 0);
}
