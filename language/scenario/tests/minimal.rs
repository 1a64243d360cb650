//! Scenarios from a command line.

use barograph_model::Nanos;
use barograph_scenario::{Action, Body, Minimal, Request, Scenario, minimal};

fn request(scenario: &Scenario) -> &Request {
    let Action::Request(request) = &scenario.operations[0].groups[0][0].action else { panic!("a request") };
    request
}

#[test]
fn an_address_is_enough() {
    for (url, path, authority) in [
        ("http://127.0.0.1:8080", "/", "127.0.0.1:8080"),
        ("http://127.0.0.1:8080/a/b?c={d}#e", "/a/b?c={d}", "127.0.0.1:8080"),
        ("https://a.example?q=1", "/?q=1", "a.example"),
    ] {
        let s = minimal(&Minimal { url, ..Minimal::default() }).unwrap();
        assert_eq!(s.operations[0].name, "Get");
        assert_eq!(request(&s).target.fixed(), Some(path.as_bytes()), "{url}");
        assert_eq!(s.target.url.as_ref().unwrap().authority(), authority);
        assert!(!s.rules[0].judged);
    }
}

#[test]
fn everything_can_be_said() {
    let headers =
        [("X-A", "1"), ("content-type", "text/x"), ("X-A", "{2}")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let what = Minimal {
        url: "http://h/x",
        method: Some("PATCH"),
        headers: &headers,
        body: Some("{\"a\": 1}"),
        qos: Some("p90 < 10 ms"),
    };
    let s = minimal(&what).unwrap();
    let request = request(&s);
    let shown: Vec<(&str, &[u8])> =
        request.headers.iter().map(|h| (&*h.name, h.value.fixed().unwrap())).collect();
    assert_eq!(shown, [("x-a", &b"1"[..]), ("x-a", b"{2}"), ("content-type", b"text/x")]);
    let Some(Body::Template(body)) = &request.body else { panic!("a body") };
    assert_eq!((request.method, body.fixed()), ("PATCH", Some(&b"{\"a\": 1}"[..])));
    assert_eq!((s.operations[0].name, s.rules[0].limit), ("Patch", Some(Nanos::from_millis(10))));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |what: &Minimal<'_>| minimal(what).unwrap_err().0[0].clone();
    let refusal = refused(&Minimal { url: "localhost", ..Minimal::default() });
    assert_eq!((refusal.key.as_str(), refusal.value.as_str()), ("target.url", "\"localhost\""));
    let refusal = refused(&Minimal { url: "http://h/", qos: Some("fast"), ..Minimal::default() });
    assert_eq!(refusal.key, "operations.Get.qos");
}
