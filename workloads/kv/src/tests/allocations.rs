//! In steady state commands allocate nothing: counted on the worker's own thread, with the embedded store.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::Context;

use barograph_engine::{Group, GroupFactory, Members, OpContext, Settings, runnable_groups};
use barograph_model::{ChooserId, Nanos, OpId, TimeLimits, UserId};
use barograph_net::Routes;
use barograph_resp::Address;
use barograph_testkit::{CountingAllocator, allocations};
use barograph_workload::{Reasons, WorkloadFactory as _};

use super::rig::embedded;
use crate::group::KvGroup;
use crate::plan::KvPlan;
use crate::program::PreparedLoad;
use crate::seam::KeyValue;
use crate::testing::plan;
use crate::worker::KvUsers;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Operations before the count begins, and counted ones.
const WARM: u64 = 1_000;
const COUNTED: u64 = 5_000;

/// Groups that report their allocations.
struct CountedUsers {
    users: KvUsers,
    tell: SyncSender<u64>,
}

struct CountedGroup {
    group: KvGroup,
    begun: u64,
    before: u64,
    tell: SyncSender<u64>,
}

impl GroupFactory for CountedUsers {
    type Group = CountedGroup;

    fn size(&self) -> usize {
        self.users.size()
    }

    fn group(&self) -> CountedGroup {
        CountedGroup { group: self.users.group(), begun: 0, before: 0, tell: self.tell.clone() }
    }
}

impl Group for CountedGroup {
    fn join(&mut self, place: usize, user: UserId) {
        self.group.join(place, user);
    }

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        self.group.begin(place, op, context);
        self.begun += 1;
        match self.begun {
            WARM => self.before = allocations(),
            // One group is enough.
            n if n == WARM + COUNTED => drop(self.tell.try_send(allocations() - self.before)),
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

/// Allocations of the counted commands of eight users.
fn counted(keys: &str) -> u64 {
    let store = embedded(1 << 30);
    let plan = plan(keys);
    let workload = KeyValue.of_plan(&plan).unwrap();
    let profile = workload.profiles()[0];
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(workload.behaviours(profile).unwrap()),
        limits: vec![TimeLimits::default(); workload.ops().len()],
        // Closing an interval makes the next one, which is no part of a command.
        interval: Nanos::from_secs(600),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let address = Address::parse(&format!("redis://{store}")).unwrap();
    let own = KvPlan::of(&plan).clone();
    let program = Arc::new(PreparedLoad::new(own, 1, address, (vec![Routes::at(store)], None)));
    let reasons = Reasons::shared();
    let (tell, told) = sync_channel(1);
    let of_worker = Arc::clone(&reasons);
    let make = move || CountedUsers { users: KvUsers::new(&program, &of_worker), tell: tell.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let counted = runtime.block_on(async {
        let mut engine = runnable_groups(make).start(&settings).unwrap();
        engine.ramp(8, Nanos::ZERO).await.unwrap();
        let counted = tokio::task::spawn_blocking(move || told.recv()).await.unwrap().unwrap();
        engine.stop(Nanos::from_secs(10)).await;
        while engine.next().await.unwrap().is_some() {}
        counted
    });
    assert!(reasons.lock().unwrap().of(OpId(0)).is_empty(), "{reasons:?}");
    counted
}

#[test]
fn commands_allocate_nothing() {
    let base = "[kv]\nkeys = 100\nfill = 0.0\nverify = true\nvalue_bytes = 1\nvalue_bytes_max = 200\n\
                mix.GET = 1\nmix.SET = 1\nmix.INCR = 1\n";
    for keys in [base.to_owned(), format!("{base}pipeline = 16\n")] {
        assert_eq!(counted(&keys), 0, "{keys}");
    }
}
