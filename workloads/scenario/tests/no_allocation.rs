//! In steady state a scenario's exchanges allocate nothing: counted, on the worker's own thread.
//!
//! The worker's thread is reached through the clock of the options, which is read for the timestamp of an operation
//! beside those that are proven.

use std::cell::Cell;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use barograph_engine::Settings;
use barograph_http::{Policy, ResolvedTarget};
use barograph_model::Nanos;
use barograph_scenario::Scenario;
use barograph_testkit::{Act, Answer, CountingAllocator, Server, always, one_of};
use barograph_workload_scenario::{Options, Reasons, runnable};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static AT_START: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Readings of the clock before the count begins, and counted ones; there are as many operations under test.
/// One in two, so that every coincidence of users that makes a pool grow comes early.
const WARM: u64 = 300;
const COUNTED: u64 = 700;

static TOLD: Mutex<Option<SyncSender<u64>>> = Mutex::new(None);

fn clock() -> Nanos {
    let calls = CALLS.get() + 1;
    CALLS.set(calls);
    if calls == WARM {
        AT_START.set(barograph_testkit::allocations());
    } else if calls == WARM + COUNTED {
        let allocations = barograph_testkit::allocations() - AT_START.get();
        if let Some(tell) = &*TOLD.lock().unwrap() {
            tell.try_send(allocations).unwrap();
        }
    }
    Nanos(1_767_225_600_000_000_000 + calls)
}

fn scenario(operation: &str) -> Arc<Scenario> {
    let text = format!(
        r#"
        [target]
        url = "http://127.0.0.1:1"
        [values.now]
        kind = "timestamp"
        [values.n]
        kind = "random_int"
        min = 100
        max = 999
        {operation}
        [operations.Mark]
        [[operations.Mark.exchanges]]
        path = "/mark?now={{now}}"
        [behaviours.main]
        first = "Proven"
        [behaviours.main.next]
        Proven = {{ Proven = 0.5, Mark = 0.5 }}
        Mark = "Proven"
        "#
    );
    let read = barograph_scenario::read("proven", &text, &|_: &Path| Err(std::io::Error::other("no files")));
    Arc::new(read.unwrap_or_else(|refused| panic!("{refused}")))
}

fn page() -> Answer {
    let body = br#"{"items": [{"id": 1}, {"id": 2}], "price": "12.50", "state": "open"}"#;
    Answer::new(200, body.as_slice()).with("content-type", "application/json")
}

fn allocations(operation: &str, answer: Answer) -> u64 {
    let server = Server::start(always(Act::Answer(answer))).unwrap();
    let scenario = scenario(operation);
    let settings = Settings {
        workers: 1,
        seed: 7,
        behaviours: Arc::new(scenario.behaviours.clone()),
        limits: scenario.limits(),
        // Closing an interval makes the next one; that is once a second and not part of an operation.
        interval: Nanos::from_secs(600),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let (tell, told) = sync_channel(1);
    *TOLD.lock().unwrap() = Some(tell);
    let reasons = Reasons::shared();
    let options = Options { clock, reasons: Arc::clone(&reasons) };
    let resolved = ResolvedTarget::at(server.addr(), Policy::PerUser(1));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let count = runtime.block_on(async {
        let mut handle = runnable(scenario, resolved, options).unwrap().start(&settings).unwrap();
        handle.ramp(4, Nanos::ZERO).await.unwrap();
        let count = told.recv().unwrap();
        handle.stop(Nanos::from_secs(1)).await;
        while handle.next().await.unwrap().is_some() {}
        count
    });
    let reasons = reasons.lock().unwrap();
    assert_eq!(reasons.of(barograph_model::OpId(0)), [], "the proven operation is a good one");
    count
}

/// Number of counts. An exchange's own allocations would appear in each of them; a pool that grows late on a
/// busy machine, because more users than ever before are active at once, does not.
const TRIES: usize = 5;

fn allocates_nothing(what: &str, operation: &str, answer: &Answer) {
    one_of(TRIES, || match allocations(operation, answer.clone()) {
        0 => Ok(()),
        count => Err(format!("{what}: {count} allocations in {COUNTED} operations")),
    });
}

#[test]
fn exchanges_allocate_nothing() {
    let constant = r#"
        [[operations.Proven.exchanges]]
        path = "/constant"
    "#;
    allocates_nothing("constant GET", constant, &page());
    let extracting = r#"
        [[operations.Proven.exchanges]]
        path = "/constant"
        extract.price = { json = "/price", keep = "session" }
        check = { status = 200, json = { "/state" = "open" } }
    "#;
    allocates_nothing("GET with an extraction and a check", extracting, &page());
    let templated = r#"
        [[operations.Proven.exchanges]]
        path = "/items/{n}?user={user}"
        headers = { x-number = "{n}" }
        extract.price = { json = "/price" }
        check = { contains = "12.50", headers = { content-type = "application/json" } }
        [[operations.Proven.exchanges]]
        method = "POST"
        path = "/cart"
        json = { price = "{price}", n = "{n}" }
        extract.state = { regex = "\"state\": \"[a-z]+" }
    "#;
    allocates_nothing("templated GET and POST", templated, &page());
    let setting = page().with("set-cookie", "id=abc; Path=/").with("set-cookie", "seen=1");
    allocates_nothing("the same with cookies", templated, &setting);
}
