//! Plain exchanges: kept connections, bounds, garbage, cuts, interim answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use barograph_http::{
    Answer, Client, Connections, Fault, Flaw, JSON, Method, Policy, Request, ResolvedTarget,
};
use barograph_testkit::{Act, Answer as Told, ClosedPort, Server};

use super::on_worker;

async fn ask(connections: &Connections, method: Method<'_>) -> Result<Answer, Fault> {
    let body = (method == Method::POST).then_some(&b"{}"[..]);
    let headers = &[JSON, ("X-Token", "t")];
    connections.send(&Request { method, path: format_args!("/some/{}", 7), headers, body }).await
}

/// A server that performs the next of `acts` for each request, and repeats the last one.
fn server(acts: Vec<Act>) -> Server {
    let turn = AtomicUsize::new(0);
    Server::start(Arc::new(move |_| {
        let n = turn.fetch_add(1, Ordering::SeqCst).min(acts.len() - 1);
        acts[n].clone()
    }))
    .unwrap()
}

fn good(body: &str) -> Act {
    Act::Answer(Told::new(200, body.as_bytes().to_vec()))
}

fn connections(server: &Server, most: u32) -> Connections {
    Client::new(&ResolvedTarget::at(server.addr(), Policy::PerUser(most))).user(0)
}

#[test]
fn one_connection_serves_many_requests() {
    let server = server(vec![good("hello")]);
    on_worker(async {
        let connections = connections(&server, 4);
        for _ in 0..5 {
            let answer = ask(&connections, Method::GET).await.unwrap();
            assert_eq!((answer.status, answer.body()), (200, &b"hello"[..]));
        }
        assert_eq!((server.requests(), server.connections()), (5, 1));
        connections.close_idle();
        ask(&connections, Method::POST).await.unwrap();
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn an_answer_of_any_size_leaves_its_connection_to_the_next() {
    // Some fill the room that is made for them to the last byte, so that no read finds nothing.
    for length in [100, 8_192, 16_384, 40_000, 100_000, 300_000] {
        let server = server(vec![good(&"x".repeat(length))]);
        on_worker(async {
            let connections = connections(&server, 1);
            for _ in 0..5 {
                assert_eq!(ask(&connections, Method::GET).await.unwrap().body().len(), length);
            }
        });
        assert_eq!(server.connections(), 1, "{length} bytes");
    }
}

#[test]
fn no_more_connections_than_allowed() {
    let server = server(vec![good("x")]);
    on_worker(async {
        let connections = connections(&server, 2);
        let all = futures::future::join_all((0..20).map(|_| ask(&connections, Method::GET))).await;
        assert!(all.iter().all(|a| a.as_ref().is_ok_and(|a| a.status == 200)));
        assert!(server.connections() <= 2, "{} connections", server.connections());
    });
}

#[test]
fn what_is_not_http_is_told_and_a_cut_answer_is_broken() {
    let server = server(vec![
        Act::Garbage(b"\x00\x01 not http at all\r\n\r\n".to_vec()),
        Act::CloseMid(Told::new(200, vec![b'x'; 10_000])),
        Act::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n".to_vec()),
        good("well again"),
    ]);
    on_worker(async {
        let connections = connections(&server, 1);
        assert!(matches!(ask(&connections, Method::POST).await, Err(Fault::Flawed(Flaw::Version))));
        assert!(matches!(ask(&connections, Method::POST).await, Err(Fault::Broken(_))));
        assert!(matches!(ask(&connections, Method::POST).await, Err(Fault::TooLarge { limit: 268_435_456 })));
        assert_eq!(ask(&connections, Method::GET).await.unwrap().body(), b"well again");
    });
}

#[test]
fn chunks_interim_answers_and_left_overs() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    let server = server(vec![
        Act::Raw(format!("{interim}{chunked}").into_bytes()),
        Act::Raw(format!("{chunked}left over").into_bytes()),
        good("clean"),
    ]);
    on_worker(async {
        let connections = connections(&server, 1);
        assert_eq!(ask(&connections, Method::GET).await.unwrap().body(), b"abcde");
        assert_eq!(ask(&connections, Method::GET).await.unwrap().body(), b"abcde");
        // The connection with surplus bytes is not used again.
        assert_eq!(ask(&connections, Method::GET).await.unwrap().body(), b"clean");
    });
}

#[test]
fn a_refused_connection_names_the_target() {
    let closed = ClosedPort::new().unwrap();
    let address = closed.addr();
    on_worker(async {
        let fault = ask(&Client::new(&ResolvedTarget::at(address, Policy::PerUser(1))).user(0), Method::GET)
            .await
            .map(|_| ())
            .unwrap_err();
        assert_eq!(fault.to_string(), format!("connect to {address}"));
    });
}
