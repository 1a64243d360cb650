//! The compiled form matches the text: requests as bytes, draws in order, rules and groups.

use std::io;
use std::path::Path;

use barograph_model::{Nanos, OpId, Rule, Share, TimeLimit};
use barograph_scenario::{Action, Body, DrawId, DrawScope, Request, Scenario, Source, Values, View, read};

/// Values that equal their names.
struct ByName<'s>(&'s Scenario);

impl Values for ByName<'_> {
    fn view(&self, source: Source) -> View<'_> {
        let named = self.0.names.iter().find(|(_, s)| **s == source);
        View::Text(named.map_or("?", |(name, _)| name))
    }
}

fn scenario(text: &str) -> Scenario {
    let file = |path: &Path| -> io::Result<Vec<u8>> {
        Ok(if path.ends_with("a b.csv") { b"x,y z\n1,2\n".to_vec() } else { vec![0, 255] })
    };
    read("s", text, &file).unwrap_or_else(|e| panic!("{e}"))
}

fn request(scenario: &Scenario, exchange: usize) -> &Request {
    let exchanges = scenario.operations[0].groups.iter().flatten();
    let actions: Vec<&Action> = exchanges.map(|e| &e.action).collect();
    let Action::Request(request) = actions[exchange] else { panic!("a request") };
    request
}

fn shown(scenario: &Scenario, exchange: usize) -> String {
    let request = request(scenario, exchange);
    let values = ByName(scenario);
    let mut out = format!("{} ", request.method).into_bytes();
    request.target.render(&values, &mut out).unwrap();
    for header in &request.headers {
        out.extend_from_slice(format!("\n{}: ", header.name).as_bytes());
        header.value.render(&values, &mut out).unwrap();
    }
    match &request.body {
        None => {}
        Some(Body::Template(body)) => {
            out.extend_from_slice(b"\n\n");
            body.render(&values, &mut out).unwrap();
        }
        Some(Body::File(bytes)) => out.extend_from_slice(format!("\n\n{bytes:?}").as_bytes()),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn requests_are_rendered_as_they_are_written() {
    let s = scenario(
        r#"
        [target.headers]
        Accept = "a/b"
        x-user = "{user}"

        [[operations.Get.exchanges]]
        path = "/a%20b/{outcome}?q={user}&r={{}}"
        query = { "s t" = "u v&{user}", list = [1, true, "x"], f = 1.5 }
        headers = { accept = "c/d", cookie = "k={status}" }

        [[operations.Get.exchanges]]
        method = "PUT"
        path = "{user:raw}"
        json = { b = [1, -2.5, false, "q\"{user}\n"], a = { n = "{user:raw}", t = "x{user:raw}" }, "k\"" = {} }

        [[operations.Get.exchanges]]
        path = "/"
        form = { a = "x y", "b=" = "{user}" }
        headers = { content-type = "own" }

        [[operations.Get.exchanges]]
        path = "/"
        body = "plain {user} {{ok}}"

        [[operations.Get.exchanges]]
        path = "/"
        method = "DELETE"
        file = "binary"
        "#,
    );
    let expected = [
        "GET /a%20b/outcome?q=user&r={}&s+t=u+v%26user&list=1&list=true&list=x&f=1.5\n\
         x-user: user\naccept: c/d\ncookie: k=status",
        "PUT user\naccept: a/b\nx-user: user\ncontent-type: application/json\n\n\
         {\"b\":[1,-2.5,false,\"q\\\"user\\u000A\"],\"a\":{\"n\":user,\"t\":\"xuser\"},\"k\\\"\":{}}",
        "POST /\naccept: a/b\nx-user: user\ncontent-type: own\n\na=x+y&b%3D=user",
        "POST /\naccept: a/b\nx-user: user\ncontent-type: text/plain; charset=utf-8\n\nplain user {ok}",
        "DELETE /\naccept: a/b\nx-user: user\ncontent-type: application/octet-stream\n\n[0, 255]",
    ];
    for (i, expected) in expected.iter().enumerate() {
        assert_eq!(shown(&s, i), *expected);
    }
}

#[test]
fn draws_come_after_what_they_are_made_of() {
    let s = scenario(
        r#"
        [target.headers]
        x-trace = "{trace}"
        [values.trace]
        kind = "uuid"
        per = "exchange"
        [values.all]
        kind = "template"
        text = "{outer}{inner}{rows.x}"
        [values.outer]
        kind = "template"
        text = "{inner}"
        [values.inner]
        kind = "random_int"
        max = 9
        [values.unused]
        kind = "uuid"
        [data.rows]
        file = "a b.csv"
        [[operations.Get.exchanges]]
        path = "/"
        when = "has(outer)"
        [[operations.Get.exchanges]]
        path = "/{all}"
        "#,
    );
    let names =
        |draws: &[DrawId]| -> Vec<&str> { draws.iter().map(|d| s.draws[usize::from(d.0)].name).collect() };
    assert_eq!(s.draws[1].per, DrawScope::Exchange);
    let groups = &s.operations[0].groups;
    assert_eq!(names(&groups[0][0].draws), ["inner", "outer", "trace"]);
    assert_eq!(names(&groups[1][0].draws), ["inner", "outer", "rows", "all", "trace"]);
    assert_eq!((s.slots.operation, s.slots.session, s.slots.activity, s.slots.user), (5, 1, 0, 0));
}

#[test]
fn groups_are_neighbours_of_one_name() {
    let exchange = |parallel: &str| format!("[[operations.Get.exchanges]]\npath = \"/\"\n{parallel}\n");
    let (plain, yes) = (exchange(""), exchange("parallel = true"));
    let (left, right) = (exchange("parallel = \"l\""), exchange("parallel = \"r\""));
    let no = exchange("parallel = false");
    let text =
        [&yes, &yes, &plain, &plain, &left, &left, &right, &no, &no, &yes].map(String::as_str).concat();
    let sizes: Vec<usize> = scenario(&text).operations[0].groups.iter().map(Vec::len).collect();
    assert_eq!(sizes, [2, 1, 1, 2, 1, 1, 1, 1]);
}

#[test]
fn rules_follow_from_qos() {
    let get = "exchanges = [{ path = \"/\" }]";
    let text = format!(
        "[operations.A]\n{get}\n[operations.B]\n{get}\nqos = \"p95 < 2 s\"\n\
         [operations.C]\n{get}\nqos = {{ failures = \"0 %\", mix = 0.25 }}\n[behaviours.main]\nfirst = \"A\"\n"
    );
    let s = scenario(&text);
    assert!(!s.rules[0].judged && s.rules[1].judged && s.rules[2].judged);
    assert_eq!((s.rules[1].quantile, s.rules[1].failures), (Share::percent(95.0), Share::percent(0.5)));
    assert_eq!((s.rules[2].limit, s.rules[2].failures.get(), s.rules[2].mix.get()), (None, 0.0, 0.25));
    assert_eq!(s.rules[2].mix_tolerance, Share::percent(10.0));
    assert!(s.further.is_empty());
    assert_eq!(s.mix.unwrap().iter().map(|s| s.get()).collect::<Vec<_>>(), [1.0, 0.0, 0.0]);
}

#[test]
fn qos_takes_several_limits() {
    let with = |qos: &str| {
        let get = "exchanges = [{ path = \"/\" }]";
        format!("[operations.A]\n{get}\nqos = {qos}\n[behaviours.main]\nfirst = \"A\"\n")
    };
    for qos in [
        "[\"p90 < 200 ms\", \"p99 < 1 s\"]",
        "{ limit = [\"p90 < 200 ms\", \"p99 < 1 s\"], failures = \"0 %\" }",
    ] {
        let s = scenario(&with(qos));
        assert_eq!(
            (s.rules[0].quantile, s.rules[0].limit),
            (Share::percent(90.0), Some(Nanos::from_millis(200)))
        );
        assert_eq!(s.further, [Rule::response(OpId(0), Share::percent(99.0), Nanos::from_secs(1))]);
        let limits = s.limits()[0];
        assert_eq!(limits.response, Some(Nanos::from_millis(200)));
        assert_eq!(limits.further[0], Some(TimeLimit::Response(Nanos::from_secs(1))));
        assert_eq!(s.profile("p").rules.len(), 3, "two of time and one of failures");
        assert_eq!(scenario(&s.resolved).further, s.further);
    }
    let five = "[\"p50 < 1 s\", \"p60 < 2 s\", \"p70 < 3 s\", \"p80 < 4 s\", \"p90 < 5 s\"]";
    let refused = read("s", &with(five), &|_: &Path| Err(io::Error::other("none"))).unwrap_err().0;
    assert_eq!((refused.len(), refused[0].allowed.as_str()), (1, "at most 4 limits for one operation"));
}
