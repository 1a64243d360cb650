//! A request over a kept HTTP/1.1 connection allocates nothing, once buffers are warm.

use std::io::Write as _;

use barograph_http::{
    Answer, Client, Connections, JSON, Method, Policy, PreparedRequest, Request, ResolvedTarget,
};
use barograph_testkit::{Act, Answer as Told, Server, always};

#[global_allocator]
static ALLOCATOR: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

const WARM_UP: u32 = 20;
const MEASURED: u32 = 1_000;

/// Allocations of this thread in `MEASURED` rounds of `ask`, after the warm-up.
async fn allocations(mut ask: impl AsyncFnMut(u32)) -> u64 {
    for n in 0..WARM_UP {
        ask(n).await;
    }
    let before = barograph_testkit::allocations();
    for n in 0..MEASURED {
        ask(n).await;
    }
    barograph_testkit::allocations() - before
}

fn check(answer: &Answer) {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body().len(), 1_000);
    assert_eq!(answer.header("X-Kind"), Some(&b"known"[..]));
}

async fn rendered(connections: &Connections, n: u32) {
    let token = if n.is_multiple_of(2) { "even" } else { "odd" };
    let request = Request {
        method: Method::POST,
        path: format_args!("/items/{n}?page={}", n % 7),
        headers: &[JSON, ("x-token", token)],
        body: Some(b"{\"a\":1}"),
    };
    check(&connections.send(&request).await.unwrap());
}

async fn drafted(connections: &Connections, n: u32) {
    let mut draft = connections.draft(Method::PUT);
    write!(draft.path(), "/items/{n}").unwrap();
    draft.header("x-token").extend_from_slice(b"a token");
    write!(draft.body(), "body {n}").unwrap();
    check(&connections.send_draft(draft).await.unwrap());
}

/// The counter works: otherwise the other tests would prove nothing.
#[test]
fn an_allocation_is_counted() {
    let before = barograph_testkit::allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(barograph_testkit::allocations() - before, 1);
}

#[test]
fn a_kept_connection_allocates_nothing() {
    let plain = Act::Answer(Told::new(200, vec![b'x'; 1_000]).with("x-kind", "known"));
    let chunks = format!("{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n", 600, "x".repeat(600), 400, "x".repeat(400));
    let head = "HTTP/1.1 200 OK\r\nx-kind: known\r\ntransfer-encoding: chunked\r\n\r\n";
    for act in [plain, Act::Raw(format!("{head}{chunks}").into_bytes())] {
        let server = Server::start(always(act)).unwrap();
        barograph_reactor::block_on(async {
            let resolved = ResolvedTarget::at(server.addr(), Policy::PerUser(1));
            let path = format_args!("/constant");
            let constant = Request { method: Method::GET, path, headers: &[("accept", "*/*")], body: None };
            let prepared = PreparedRequest::new(resolved.target(), &constant).unwrap();
            let connections = Client::new(&resolved).user(0);
            let ask = async |_| check(&connections.send_prepared(&prepared).await.unwrap());
            assert_eq!(allocations(ask).await, 0, "prepared");
            assert_eq!(allocations(async |n| rendered(&connections, n).await).await, 0, "rendered");
            assert_eq!(allocations(async |n| drafted(&connections, n).await).await, 0, "drafted");
            assert_eq!(server.connections(), 1);
        })
        .unwrap();
    }
}

#[test]
fn an_event_that_comes_allocates_nothing() {
    // Long enough that the warm-up reads several times.
    let data = "x".repeat(1_000);
    let event = format!("event: bid\nid: 7-12\ndata: {data}\n\n");
    let body = event.repeat((WARM_UP + MEASURED) as usize);
    let told = Told::new(200, body.into_bytes()).with("content-type", "text/event-stream");
    let server = Server::start(always(Act::Answer(told))).unwrap();
    barograph_reactor::block_on(async {
        let connections = Client::new(&ResolvedTarget::at(server.addr(), Policy::PerUser(1))).user(0);
        let path = format_args!("/events");
        let request = Request { method: Method::GET, path, headers: &[], body: None };
        let mut stream = connections.events(&request).await.unwrap();
        let ask = async |_| {
            let event = stream.next().await.unwrap().unwrap();
            assert_eq!((event.name, event.id, event.data), ("bid", "7-12", &*data));
        };
        assert_eq!(allocations(ask).await, 0);
    })
    .unwrap();
}
