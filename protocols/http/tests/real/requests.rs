//! Outgoing requests: every method, fields, bodies, the three ways to write a request, and invalid ones.

use std::io::Write as _;

use barograph_http::{Client, Fault, JSON, Method, Options, Policy, PreparedRequest, Request, Target};
use barograph_testkit::{Act, Answer as Told, ListenOptions, Server, Site, SiteProtocols};

use super::{ask, failed, get, on_worker, user};

/// A server that echoes its requests.
fn mirror() -> Server {
    Server::start(std::sync::Arc::new(|request: &barograph_testkit::Request| {
        let fields: Vec<String> = request.headers.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let body = String::from_utf8_lossy(&request.body);
        let told = format!("{} {} [{}] {body}", request.method, request.path, fields.join("; "));
        Act::Answer(Told::new(200, told))
    }))
    .unwrap()
}

#[test]
fn requests_arrive_as_they_were_written_in_all_three_ways() {
    let server = mirror();
    let url = format!("http://{}/", server.addr());
    on_worker(async {
        let target = Target::parse(&url, &Options::default()).unwrap();
        let connections = Client::new(&target.resolve().unwrap()).user(0);
        let n = 7;
        let path = format_args!("/items/{n}?q=%20");
        let request = Request {
            method: Method::POST,
            path,
            headers: &[JSON, ("x-token", "t")],
            body: Some(b"{\"a\":1}"),
        };
        let expected = format!(
            "POST /items/7?q=%20 [content-type=application/json; x-token=t; host={}; content-length=7] {{\"a\":1}}",
            server.addr()
        );
        let told = |answer: barograph_http::Answer| String::from_utf8(answer.body().to_vec()).unwrap();
        assert_eq!(told(connections.send(&request).await.unwrap()), expected);
        let prepared = PreparedRequest::new(&target, &request).unwrap();
        assert_eq!(told(connections.send_prepared(&prepared).await.unwrap()), expected);
        let mut draft = connections.draft(Method::POST);
        write!(draft.path(), "/items/{n}?q=%20").unwrap();
        draft.header(JSON.0).extend_from_slice(JSON.1.as_bytes());
        draft.header("x-token").push(b't');
        draft.body().extend_from_slice(b"{\"a\":1}");
        assert_eq!(told(connections.send_draft(draft).await.unwrap()), expected);
    });
}

#[test]
fn the_host_can_be_another_and_an_empty_body_has_a_length() {
    let server = mirror();
    on_worker(async {
        let connections = user(&format!("http://{}/", server.addr()), &Options::default());
        let request = Request {
            method: Method::POST,
            path: format_args!("/"),
            headers: &[("Host", "other.example")],
            body: None,
        };
        let answer = connections.send(&request).await.unwrap();
        assert_eq!(answer.body(), b"POST / [host=other.example; content-length=0] ");
        let answer = ask(&connections, Method::OPTIONS, "*").await.unwrap();
        assert_eq!(answer.body(), format!("OPTIONS * [host={}] ", server.addr()).as_bytes());
    });
}

#[test]
fn a_connection_for_one_request_is_said_to_be_one() {
    let server = mirror();
    on_worker(async {
        let options = Options { policy: Policy::New, ..Options::default() };
        let connections = user(&format!("http://{}/", server.addr()), &options);
        let answer = get(&connections, "/").await.unwrap();
        assert_eq!(answer.body(), format!("GET / [host={}; connection=close] ", server.addr()).as_bytes());
    });
}

#[test]
fn every_method_is_sent_and_head_has_no_body() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap();
    on_worker(async {
        for protocol in [barograph_http::Protocol::Http1, barograph_http::Protocol::Http2] {
            let connections = user(&site.url("/"), &Options { protocol, ..Options::default() });
            for name in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PURGE", "x-Odd!"] {
                let answer = ask(&connections, Method::new(name).unwrap(), "/echo").await.unwrap();
                assert_eq!(answer.header("X-Method"), Some(name.as_bytes()));
            }
            let head = ask(&connections, Method::HEAD, "/bytes/5000").await.unwrap();
            assert_eq!(
                (head.status, head.body(), head.header("content-length")),
                (200, &b""[..], Some(&b"5000"[..]))
            );
            for status in [204, 304] {
                let answer = get(&connections, &format!("/status/{status}")).await.unwrap();
                assert_eq!((answer.status, answer.body()), (status, &b""[..]));
            }
            assert_eq!(get(&connections, "/hello").await.unwrap().body(), b"hello");
        }
    });
    assert_eq!(site.connections(), 2);
    assert!(["", "a b", "GET\r\n", "CONNECT", "ü"].iter().all(|name| Method::new(name).is_none()));
}

#[test]
fn what_is_no_request_is_not_sent() {
    let server = mirror();
    on_worker(async {
        let connections = user(&format!("http://{}/", server.addr()), &Options::default());
        let why = async |path: &str, header: (&str, &str)| {
            let headers = &[header];
            let request = Request { method: Method::GET, path: format_args!("{path}"), headers, body: None };
            match failed(connections.send(&request).await) {
                Fault::Request { why } => why,
                other => panic!("{other}"),
            }
        };
        let good = ("a", "b");
        assert!(
            why("no-slash", good).await.starts_with("its path does not begin with a slash, in `GET no-slash")
        );
        assert!(why("/a b", good).await.starts_with("its path has a space or a control character in it"));
        assert!(why("/a\r\nevil: 1", good).await.starts_with("its path has a space or a control character"));
        assert!(
            why("/", ("a", "b\r\nevil: 1")).await.starts_with("the value of a field has a line end in it")
        );
        assert!(why("/", ("a b", "c")).await.starts_with("a field's name has characters"));
        assert!(why("/", ("Content-Length", "3")).await.contains("are the client's own"));
        let draft = connections.draft(Method::GET);
        assert!(matches!(failed(connections.send_draft(draft).await), Fault::Request { .. }));
    });
    assert_eq!(server.connections(), 0);
}
