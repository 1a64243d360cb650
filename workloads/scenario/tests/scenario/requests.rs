//! Requests: values from data files and generators, templates, bodies, cookies.

use barograph_http::Target;
use barograph_testkit::{Answer, ListenOptions, Site, SiteProtocols};
use barograph_workload_scenario::reach;

use crate::rig::{Run, answering};

#[test]
fn values_come_from_data_and_generators() {
    let target = answering(|_| Answer::new(200, ""));
    let run = target.run(
        r#"
        [target]
        headers = { x-run = "test {user}" }
        [data.accounts]
        file = "shop/accounts.csv"
        pick = "unique"
        [data.words]
        file = "shop/words.txt"
        pick = "sequential"
        per = "operation"
        [values.serial]
        kind = "sequence"
        start = 5
        step = 10
        [values.customer]
        kind = "user_id"
        first = 1000
        [values.now]
        kind = "timestamp"
        format = "rfc3339"
        [values.colour]
        kind = "random_choice"
        of = { red = 1.0 }
        [values.note]
        kind = "random_string"
        length = 12
        alphabet = "xy"
        [values.ratio]
        kind = "random_float"
        min = 2
        max = 2
        decimals = 2
        [values.order]
        kind = "template"
        text = "{customer}-{serial}"
        [values.page]
        kind = "zipf"
        keys = 3
        first = 7
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/{accounts.name}/{words}/{order}"
        query = { now = "{now}", colour = "{colour}", note = "{note}", ratio = "{ratio}", page = "{page}" }
        [operations.Then]
        [[operations.Then.exchanges]]
        path = "/then/{order}"
        [behaviours.main]
        first = "Get"
        next = { Get = "Then", Then = "Get" }
        "#,
    );
    let users = 2;
    let run = Run { users, ..run };
    run.until_done("Then", 12).all_good();
    let asked = target.asked.lock().unwrap();
    let of = |user: &str| {
        let header = format!("test {user}");
        let mine = asked.iter().filter(move |r| r.header("x-run") == Some(&header));
        mine.map(|r| r.path.clone()).collect::<Vec<_>>()
    };
    let first = of("0");
    let (path, query) = first[0].split_once('?').unwrap();
    assert_eq!(path, "/ann/lamp/1000-5");
    let fields: Vec<&str> = query.split('&').collect();
    assert!(fields.contains(&"colour=red"), "{query}");
    assert!(query.contains("now=2026-01-31T23%3A59%3A59.123Z"), "{query}");
    assert!(query.contains("ratio=2.00"), "{query}");
    let note = fields.iter().find_map(|f| f.strip_prefix("note=")).unwrap();
    assert!(note.len() == 12 && note.chars().all(|c| "xy".contains(c)), "{note}");
    let page = fields.iter().find_map(|f| f.strip_prefix("page=")).unwrap();
    assert!(["7", "8", "9"].contains(&page), "{page}");
    // A sequence counts per draw, a row per operation; the second operation draws a new order.
    assert_eq!(first[1], "/then/1000-15");
    assert!(first[2].starts_with("/ann/chair/1000-25"), "{}", first[2]);
    assert!(of("1")[0].starts_with("/bob/chair/1001-5"), "{}", of("1")[0]);
}

#[test]
fn bodies_are_written_and_escaped() {
    let target = answering(|_| Answer::new(200, r#"{"nasty": "a\"b c/\u00e9"}"#));
    let run = target.run(
        r#"
        [operations.Send]
        [[operations.Send.exchanges]]
        path = "/start"
        extract.nasty = { json = "/nasty" }
        [[operations.Send.exchanges]]
        path = "/json/{nasty}"
        json = { text = "{nasty}", n = "{user:raw}" }
        [[operations.Send.exchanges]]
        path = "/form"
        form = { text = "{nasty}" }
        [[operations.Send.exchanges]]
        method = "PUT"
        path = "/text"
        headers = { content-type = "text/plain", x-nasty = "{nasty}" }
        body = "<{nasty}>"
        [[operations.Send.exchanges]]
        path = "/file"
        file = "shop/words.txt"
        [[operations.Send.exchanges]]
        method = "DELETE"
        path = "/gone"
        "#,
    );
    run.until_done("Send", 1).all_good();
    let asked = target.asked.lock().unwrap();
    let show = |n: usize| {
        let r = &asked[n];
        let kind = r.header("content-type").unwrap_or("none");
        format!("{} {} {kind} {}", r.method, r.path, String::from_utf8_lossy(&r.body))
    };
    assert_eq!(show(0), "GET /start none ");
    assert_eq!(show(1), r#"POST /json/a%22b%20c%2F%C3%A9 application/json {"text":"a\"b c/é","n":0}"#);
    assert_eq!(show(2), "POST /form application/x-www-form-urlencoded text=a%22b+c%2F%C3%A9");
    assert_eq!(show(3), "PUT /text text/plain <a\"b c/é>");
    assert_eq!(asked[3].header("x-nasty"), Some("a\"b c/é"));
    assert!(show(4).ends_with("lamp\nchair\ngarden table\nblue teapot\n"), "{}", show(4));
    assert_eq!(show(5), "DELETE /gone none ");
}

#[test]
fn a_multipart_form_has_fields_and_files_between_boundaries() {
    let target = answering(|_| Answer::new(200, ""));
    let run = target.run(
        r#"
        [target]
        headers = { content-type = "text/plain" }
        [operations.Send]
        [[operations.Send.exchanges]]
        path = "/upload"
        multipart = { "my \"title\"" = "user {user}", n = [1, true], note = { text = "barograph-boundary-1", filename = "n.csv", type = "text/csv" }, words = { file = "shop/words.txt" } }
        "#,
    );
    run.until_done("Send", 1).all_good();
    let asked = target.asked.lock().unwrap();
    assert_eq!(asked[0].method, "POST");
    assert_eq!(asked[0].header("content-type"), Some("multipart/form-data; boundary=barograph-boundary-2"));
    let expected = "--B\r\ncontent-disposition: form-data; name=\"my %22title%22\"\r\n\r\nuser 0\r\n\
        --B\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n1\r\n\
        --B\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\ntrue\r\n\
        --B\r\ncontent-disposition: form-data; name=\"note\"; filename=\"n.csv\"\r\ncontent-type: text/csv\r\n\r\n\
        barograph-boundary-1\r\n\
        --B\r\ncontent-disposition: form-data; name=\"words\"; filename=\"words.txt\"\r\n\
        content-type: application/octet-stream\r\n\r\nlamp\nchair\ngarden table\nblue teapot\n\r\n--B--\r\n";
    assert_eq!(String::from_utf8_lossy(&asked[0].body), expected.replace("--B", "--barograph-boundary-2"));
}

#[test]
fn cookies_last_as_long_as_the_session() {
    let target = answering(|request| {
        let answer = Answer::new(200, "");
        match request.path.as_str() {
            "/in" => {
                answer.with("set-cookie", "id=7; Path=/; HttpOnly").with("set-cookie", "shop=a; Path=/shop")
            }
            "/change" => {
                answer.with("set-cookie", "id=8; Path=/").with("set-cookie", "shop=; Max-Age=0; Path=/shop")
            }
            _ => answer,
        }
    });
    let run = target.run(
        r#"
        [operations.In]
        [[operations.In.exchanges]]
        path = "/in"
        extract.id = { cookie = "id" }
        [[operations.In.exchanges]]
        path = "/shop/{id}"
        [[operations.In.exchanges]]
        path = "/constant"
        headers = { cookie = "own=1" }
        [[operations.In.exchanges]]
        path = "/change"
        [[operations.In.exchanges]]
        path = "/shop/end"
        [behaviours.main]
        next = { In = "end_session" }
        "#,
    );
    run.until_done("In", 2).all_good();
    let asked = target.asked.lock().unwrap();
    let sent: Vec<&str> = asked[..6].iter().map(|r| r.header("cookie").unwrap_or("none")).collect();
    assert_eq!(sent, ["none", "id=7; shop=a", "own=1; id=7", "id=7", "id=8", "none"]);
    assert_eq!(asked[5].path, "/in");
}

#[test]
fn a_scenario_says_how_its_target_is_spoken_to() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http2).unwrap();
    let text = r#"
        [target]
        protocol = "http2"
        [operations.Post]
        [[operations.Post.exchanges]]
        path = "/echo"
        json = { user = "{user}" }
        extract.version = { header = "x-version" }
        check = { json = { "/user" = "{user}" }, headers = { x-version = "HTTP/2.0" } }
        [[operations.Post.exchanges]]
        path = "/cookie"
        [[operations.Post.exchanges]]
        path = "/me"
        "#;
    let scenario = crate::rig::scenario(text);
    let target = Target::parse(&site.url(""), &reach(&scenario.target)).unwrap().resolve().unwrap();
    let run = Run { users: 2, ..Run::new(scenario, target) };
    run.until_done("Post", 20).all_good();
    assert_eq!(site.connections(), 2);
}

#[test]
fn paths_go_behind_the_path_of_the_address() {
    let target = answering(|_| Answer::new(200, ""));
    let text = r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/constant?a=1"
        [[operations.Get.exchanges]]
        path = "/{user}"
        "#;
    Run::at(text, &target.server.url("/base/")).until_done("Get", 1).all_good();
    assert_eq!(target.paths()[..2], ["GET /base/constant?a=1", "GET /base/0"]);
}
