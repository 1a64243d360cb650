//! In steady state messages allocate nothing: counted on the worker's own thread, over loopback.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::task::Context;

use barograph_engine::{Group, GroupFactory, Members, OpContext, Settings, runnable_groups};
use barograph_model::{ChooserId, Nanos, OpId, TimeLimits, UserId};
use barograph_testkit::{CountingAllocator, allocations};
use barograph_workload::Workload as _;

use super::rig::responder;
use crate::driver::{NetGroup, NetUsers};
use crate::pattern::Pattern;
use crate::plan::NetPlan;
use crate::seam::{NAME, NetWorkload};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Operations before the count begins, and counted ones.
const WARM: u64 = 1_000;
const COUNTED: u64 = 5_000;

/// Groups that report their allocations.
struct CountedUsers {
    users: NetUsers,
    tell: SyncSender<u64>,
}

struct CountedGroup {
    group: NetGroup,
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
            n if n == WARM + COUNTED => self.tell.try_send(allocations() - self.before).unwrap(),
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

/// Allocations of the counted operations of one connection.
fn counted(pattern: Pattern, keys: &str) -> u64 {
    let responder = responder();
    let plan = super::plan(&format!("load.users = 2\nnet.pattern = {:?}\n{keys}", pattern.name()));
    let workload = NetWorkload::new(NetPlan::of(&plan).clone());
    let prepared = Arc::new(workload.prepared(&format!("net://{}", responder.address())).unwrap());
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: vec![TimeLimits::default(); workload.ops().len()],
        // Closing an interval makes the next one, which is no part of an operation.
        interval: Nanos::from_secs(600),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let (tell, told) = sync_channel(1);
    let make = move || CountedUsers { users: NetUsers::new(&prepared), tell: tell.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let counted = runtime.block_on(async {
        let mut engine = runnable_groups(make).start(&settings).unwrap();
        engine.ramp(pattern.users(), Nanos::ZERO).await.unwrap();
        let counted = tokio::task::spawn_blocking(move || told.recv()).await.unwrap().unwrap();
        engine.stop(Nanos::from_secs(10)).await;
        while engine.next().await.unwrap().is_some() {}
        counted
    });
    assert!(workload.failure_reasons().is_empty(), "{:?}", workload.failure_reasons());
    counted
}

#[test]
fn messages_allocate_nothing() {
    for (pattern, keys) in [
        (Pattern::To, "net.message_bytes = 256\n"),
        (Pattern::To, "net.message_bytes = 131072\nnet.verify = true\n"),
        (Pattern::From, "net.message_bytes = 16384\nnet.receive = \"discard\"\n"),
        (Pattern::Both, "net.message_bytes = 16384\nnet.verify = true\n"),
        (Pattern::Request, "net.request_bytes = 1\nnet.answer_bytes = 1\n"),
        (Pattern::To, "net.protocol = \"udp\"\n"),
    ] {
        assert_eq!(counted(pattern, keys), 0, "{pattern:?} {keys}");
    }
}
