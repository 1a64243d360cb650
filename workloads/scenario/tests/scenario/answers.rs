//! Answers: extraction, checks, outcomes, and reasons for people.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use barograph_model::{Nanos, Outcome};
use barograph_testkit::{Act, Answer, Request, Server};

use crate::rig::{Run, answering};

const PAGE: &str = r#"{"items": [{"id": 1, "name": "a b"}, {"id": 2, "name": null}, {"id": 30}], "csrf=abc9;": true, "price": "12.50", "vip": true}"#;

fn page(_: &Request) -> Answer {
    Answer::new(200, PAGE)
        .with("content-type", "application/json")
        .with("location", "/next?x=1")
        .with("set-cookie", "other=2")
        .with("set-cookie", "night=yes; Path=/")
}

#[test]
fn values_are_found_everywhere_in_an_answer() {
    let target = answering(page);
    let run = target.run(
        r#"
        [target]
        cookies = false
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/"
        [operations.Get.exchanges.extract]
        name = { json = "/items/0/name" }
        ids = { json = "/items/*/id", at_most = 2 }
        nothing = { json = "/items/1/name", default = "none" }
        csrf = { regex = "csrf=([a-z0-9]+)", group = 1 }
        digits = { regex = "[0-9]+", all = true }
        place = { header = "location" }
        night = { cookie = "night" }
        page = { body = true, keep = "operation" }
        missing = { json = "/missing", required = false }
        [[operations.Get.exchanges]]
        for_each = { list = "ids", as = "id" }
        path = "/{name}/{id}/{nothing}/{csrf}/{night}{place:raw}"
        when = "len(ids) == 2 and len(digits) == 6 and not has(missing) and len(page) > 100"
        "#,
    );
    run.until_done("Get", 1).all_good();
    let paths = target.paths();
    assert_eq!(paths[1..3], ["GET /a%20b/1/none/abc9/yes/next?x=1", "GET /a%20b/2/none/abc9/yes/next?x=1"]);
}

/// Runs one exchange with these keys against the page; returns its outcome and the reason.
fn judged(keys: &str) -> (Outcome, String) {
    let target = answering(page);
    let text = format!("[operations.Get]\n[[operations.Get.exchanges]]\npath = \"/\"\n{keys}\n");
    let ended = target.run(&text).until_done("Get", 1);
    let outcome = Outcome::ALL.into_iter().find(|o| ended.outcome("Get", *o) > 0).unwrap();
    (outcome, ended.whys("Get").join("; "))
}

/// As gzip writes it.
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_body_is_decoded_where_it_is_looked_at() {
    let target = answering(|r| match r.path.as_str() {
        "/broken" => Answer::new(200, "no gzip").with("content-encoding", "gzip"),
        "/other" => Answer::new(200, "x").with("content-encoding", "br"),
        _ => Answer::new(200, gzip(PAGE)).with("content-encoding", "gzip"),
    });
    let of = |path: &str, keys: &str| {
        let text = format!("[operations.Get]\n[[operations.Get.exchanges]]\npath = \"{path}\"\n{keys}\n");
        target.run(&text).until_done("Get", 1)
    };
    let next = "[[operations.Get.exchanges]]\npath = \"/{csrf}\"";
    let keys = "check = { contains = \"a b\", json = { \"/vip\" = true }, max_bytes = 120 }\n\
                extract.csrf = { regex = \"csrf=([a-z0-9]+)\", group = 1 }";
    of("/", &format!("{keys}\n{next}")).all_good();
    assert!(target.paths().contains(&"GET /abc9".to_owned()), "{:?}", target.paths());
    for path in ["/broken", "/other"] {
        of(path, "check = { min_bytes = 1 }").all_good();
    }
    let looked = |path: &str| of(path, "extract.all = { body = true }").whys("Get")[0].clone();
    assert!(looked("/broken").starts_with("the body is no whole gzip: "), "{}", looked("/broken"));
    assert_eq!(looked("/other"), "the body has the coding `br`, and only gzip and deflate are decoded");
}

#[test]
fn checks_that_hold() {
    let (outcome, why) = judged(
        r#"
        [operations.Get.exchanges.check]
        status = [404, "2xx"]
        headers = { content-type = { matches = "json$" }, location = "/next?x={user_one}", x-debug = { present = false } }
        contains = ["csrf", "{user_one}2.50"]
        contains_not = "sold out"
        matches = "\"id\": *[0-9]+"
        json = { "/items/0/name" = "a b", "/price" = "12.50", "/items/2/id" = 30, "/vip" = true, "/no" = { exists = false } }
        min_bytes = 10
        max_bytes = 1000
        [values.user_one]
        kind = "user_id"
        first = 1
        "#,
    );
    assert_eq!((outcome, why.as_str()), (Outcome::Good, ""));
}

#[test]
fn checks_that_do_not_hold_say_so() {
    use Outcome::{Refused, WrongAnswer};
    for (check, outcome, why) in [
        ("status = 404", Refused, "status 200"),
        ("headers = { x-debug = { present = true } }", WrongAnswer, "the header `x-debug` is missing"),
        ("headers = { x-debug = \"a\" }", WrongAnswer, "the header `x-debug` is missing"),
        ("headers = { location = { present = false } }", WrongAnswer, "the header `location` is there"),
        ("headers = { location = \"/\" }", WrongAnswer, "the header `location` has another value"),
        ("contains = \"sold\"", WrongAnswer, "the body does not contain `sold`"),
        ("contains_not = \"vip\"", WrongAnswer, "the body contains `vip`"),
        ("matches = \"x{3}\"", WrongAnswer, "the body does not match `x{3}`"),
        ("min_bytes = 1000", WrongAnswer, "the body has not between 1000 and 1099511627776 bytes"),
        ("schema = \"shop/product.schema.json\"", WrongAnswer, "the body does not fit its schema"),
    ] {
        assert_eq!(judged(&format!("check = {{ {check} }}")), (outcome, why.to_owned()), "{check}");
    }
    for json in ["\"/price\" = 12", "\"/vip\" = false", "\"/items/1/name\" = \"null\"", "\"/no\" = \"a\""] {
        assert_eq!(judged(&format!("check = {{ json = {{ {json} }} }}")).0, WrongAnswer, "{json}");
    }
    let (outcome, why) = judged("extract.token = { json = \"/token\" }");
    assert_eq!((outcome, why.as_str()), (WrongAnswer, "`token` is not in the answer"));
}

#[test]
fn reasons_are_counted_with_what_was_seen_first() {
    let target = answering(|request| match request.n % 3 {
        0 => Answer::new(500, "first\nof them"),
        1 => Answer::new(503, ""),
        _ => Answer::new(200, "ok"),
    });
    let run = target.run(
        r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/"
        [behaviours.main]
        pace = { think = "10 ms" }
        "#,
    );
    let ended = run.until_done("Get", 9);
    let reasons = ended.reasons("Get");
    let of = |why: &str| reasons.iter().find(|r| r.why == why).unwrap();
    assert_eq!(reasons.len(), 2);
    assert_eq!((of("status 500").first.as_str(), of("status 503").first.as_str()), ("first of them", ""));
    assert_eq!(of("status 500").count + of("status 503").count, ended.outcome("Get", Outcome::Refused));
    assert!(ended.outcome("Get", Outcome::Good) >= 3);
}

#[test]
fn an_absent_value_sends_nothing() {
    let target = answering(page);
    let run = target.run(
        r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/first"
        extract.missing = { json = "/missing", required = false }
        [[operations.Get.exchanges]]
        path = "/{missing}"
        [[operations.Get.exchanges]]
        path = "/never"
        "#,
    );
    let ended = run.until_done("Get", 1);
    assert_eq!(ended.whys("Get"), ["`{missing}` has no value, or is a list"]);
    assert!(target.paths().iter().all(|path| path == "GET /first"), "{:?}", target.paths());
    assert_eq!(ended.outcome("Get", Outcome::WrongAnswer), ended.requests("Get"));
}

#[test]
fn a_byte_order_mark_before_json_is_passed_over() {
    let target = answering(|_| {
        Answer::new(
            200,
            "\u{feff}{\"id\": 7, \"name\": \"x\", \"price\": 1, \"all\": [{\"n\": 1}, {\"n\": 2}]}",
        )
    });
    let run = target.run(
        r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/"
        extract = { id = { json = "/id" }, all = { json = "/all/*/n" } }
        check = { json = { "/id" = 7, "/all/1" = { exists = true } }, schema = "shop/product.schema.json" }
        [[operations.Get.exchanges]]
        when = "len(all) == 2"
        path = "/{id}"
        "#,
    );
    run.until_done("Get", 1).all_good();
    assert_eq!(target.paths()[..2], ["GET /", "GET /7"]);
}

#[test]
fn a_link_of_the_target_itself_is_followed() {
    let origin = Arc::new(Mutex::new(String::new()));
    for (location, expected) in [
        ("ORIGIN/landed?x=1#frag", Ok("GET /landed?x=1")),
        ("HTTP:ORIGIN/a/b", Ok("GET /a/b")),
        ("ORIGIN", Ok("GET /")),
        ("/landed#frag", Ok("GET /base/landed")),
        ("http://shop.example/named", Ok("GET /named")),
        ("http://elsewhere.example/", Err("its path does not begin with a slash")),
        ("https:ORIGIN/", Err("its path does not begin with a slash")),
    ] {
        let shared = Arc::clone(&origin);
        let target = answering(move |request| {
            let origin = shared.lock().unwrap();
            // The scheme of ORIGIN is http, and may be written before it.
            let told = match location.split_once(":ORIGIN") {
                Some((scheme, rest)) => format!("{scheme}:{}{rest}", origin.trim_start_matches("http:")),
                None => location.replace("ORIGIN", &origin),
            };
            match request.path.as_str() {
                "/base/first" => Answer::new(302, "").with("location", &told),
                _ => Answer::new(200, ""),
            }
        });
        target.server.url("").clone_into(&mut origin.lock().unwrap());
        let text = r#"
            [operations.Get]
            [[operations.Get.exchanges]]
            path = "/first"
            headers = { host = "shop.example" }
            check = { status = "3xx" }
            extract = { next = { header = "location" } }
            [[operations.Get.exchanges]]
            path = "{next:raw}"
            headers = { host = "shop.example" }
        "#;
        let ended = Run::at(text, &target.server.url("/base")).until_done("Get", 1);
        match expected {
            Ok(path) => assert_eq!(target.paths()[1], path, "{location}"),
            Err(why) => assert!(ended.whys("Get")[0].contains(why), "{location}: {:?}", ended.whys("Get")),
        }
    }
}

#[test]
fn what_follows_a_bad_end_can_be_chosen() {
    let script = |request: &Request| match request.path.as_str() {
        "/late" => Act::Stall,
        "/broken" => Act::Refuse,
        "/garbage" => Act::Garbage(b"hello\r\n\r\n".to_vec()),
        path => {
            assert!(path.starts_with("/told/"), "{path}");
            Act::Answer(Answer::new(200, ""))
        }
    };
    let server = Server::start(std::sync::Arc::new(script)).unwrap();
    let operation = |name: &str, path: &str| {
        format!("[operations.{name}]\n[[operations.{name}.exchanges]]\npath = \"{path}\"\n")
    };
    let told =
        |how: &str| format!("[{{ when = \"outcome == '{how}'\", next = \"Told\" }}, {{ else = \"Wrong\" }}]");
    let text = [
        operation("Late", "/late"),
        operation("Broken", "/broken"),
        operation("Garbage", "/garbage"),
        operation("Told", "/told/{one}"),
        operation("Wrong", "/wrong"),
        "[values.one]\nkind = \"user_id\"\n".to_owned(),
        "[behaviours.main]\nfirst = \"Late\"\npace = { think = \"1 ms\" }\n[behaviours.main.next]\n"
            .to_owned(),
        format!("Late = {{ choose = {} }}\n", told("timed out").replace("\"Told\"", "\"Broken\"")),
        format!("Broken = {{ choose = {} }}\n", told("broken connection").replace("\"Told\"", "\"Garbage\"")),
        format!("Garbage = {{ choose = {} }}\n", told("wrong answer")),
        "Told = \"Told\"\nWrong = \"Wrong\"\n".to_owned(),
    ]
    .concat();
    // Other requests must not reach it as well, on a machine that takes the processor away for seconds.
    let run = Run { timeout: Nanos::from_secs(5), ..Run::at(&text, &server.url("/")) };
    let ended = run.until_done("Told", 1);
    assert_eq!(ended.outcome("Late", Outcome::TimedOut), 1);
    assert_eq!(ended.outcome("Broken", Outcome::Broken), 1);
    assert_eq!(ended.outcome("Garbage", Outcome::WrongAnswer), 1);
    assert_eq!(ended.count("Wrong"), 0);
    assert_eq!(
        ended.whys("Garbage"),
        ["answer is not HTTP: it does not begin with `HTTP/1.0` or `HTTP/1.1`"]
    );
}
