//! Recordings: content types, invalid entries, numbers, addresses.

use barograph_scenario_import::{Assets, from_har};
use serde_json::{Value, json};

use crate::{about, checked, has, names};

#[expect(clippy::needless_pass_by_value, reason = "an entry is written as what it holds")]
fn entry(method: &str, target: &str, post: Value) -> Value {
    json!({
        "startedDateTime": "2026-01-01T10:00:00.000Z", "time": 1,
        "request": {"method": method, "url": format!("http://127.0.0.1:18081{target}"), "headers": [], "postData": post},
        "response": {"status": 200, "content": {"mimeType": "application/json"}},
    })
}

fn imported(entries: &[Value]) -> String {
    let har = json!({"log": {"entries": entries}});
    let text = from_har(&har.to_string(), Assets::LeaveOut, None).unwrap();
    checked(&text);
    text
}

#[test]
fn bodies_are_sent_under_their_recorded_types() {
    for (media_type, text, lines) in [
        (
            "text/xml; charset=utf-8",
            "<a/>",
            ["content-type = \"text/xml; charset=utf-8\"", "body = \"<a/>\""],
        ),
        (
            "application/vnd.api+json",
            "{\"a\":1}",
            ["content-type = \"application/vnd.api+json\"", "json = { a = 1 }"],
        ),
        (
            "text/plain;charset=UTF-8",
            "{\"a\":1}",
            ["content-type = \"text/plain;charset=UTF-8\"", "json = { a = 1 }"],
        ),
        (
            "application/x-ndjson",
            "{\"a\":1}\n{}\n",
            ["\"application/x-ndjson\"", "body = \"{{\\\"a\\\":1}}\\n{{}}\\n\""],
        ),
        (
            "application/json",
            "{\"n\":18446744073709551615,\"p\":1.10}",
            ["content-type = \"application/json\"", "18446744073709551615,\\\"p\\\":1.10"],
        ),
        ("application/json", "[1,2.5]", ["json = [1, 2.5]", "method = \"POST\""]),
        (
            "multipart/form-data; boundary=X",
            "--X\r\n--X--",
            ["content-type = \"multipart/form-data; boundary=X\"", "body = \"--X\\r\\n--X--\""],
        ),
        (
            "multipart/form-data",
            "--Y\r\n--Y--",
            ["content-type = \"multipart/form-data; boundary=Y\"", "body = \"--Y"],
        ),
        ("application/x-www-form-urlencoded", "a=b+c&a=%26", ["form = { a = [\"b c\", \"&\"] }", "method"]),
        (
            "application/x-www-form-urlencoded",
            "plain",
            ["\"application/x-www-form-urlencoded\"", "body = \"plain\""],
        ),
        ("", "plain", ["body = \"plain\"", "method"]),
    ] {
        has(&imported(&[entry("POST", "/x", json!({"mimeType": media_type, "text": text}))]), &lines);
    }
}

#[test]
fn bodies_that_are_listed_only_are_put_together() {
    let params = json!([{"name": "title", "value": "My cat"}, {"name": "file", "fileName": "a.txt", "contentType": "text/plain"}]);
    let text = imported(&[entry(
        "POST",
        "/x",
        json!({"mimeType": "multipart/form-data; boundary=X", "params": params}),
    )]);
    let form = "multipart = { title = \"My cat\", file = { text = \"\", filename = \"a.txt\", type = \"text/plain\" } }";
    has(&text, &[form, "# Edit: the recording lacks the file `file`"]);
    assert!(!text.contains("content-type"), "{text}");
    let form =
        json!({"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1 2"}]});
    has(&imported(&[entry("POST", "/x", form)]), &["form = { a = \"1 2\" }"]);
    has(
        &imported(&[entry("POST", "/x", json!({"text": "AAA=", "encoding": "base64"}))]),
        &["body is no text"],
    );
}

#[test]
fn null_is_absent_and_entries_that_are_none_are_named() {
    let good = json!({
        "pageref": null, "startedDateTime": null, "time": null,
        "request": {"method": "GET", "url": "http://127.0.0.1:18081/a", "headers": null, "postData": null},
        "response": {"status": 200, "content": {"size": null, "mimeType": null, "text": null}},
    });
    let post = entry("POST", "/c", json!({"mimeType": "text/plain", "text": "x", "params": null}));
    let none = [
        json!(null),
        json!({"request": {"method": "GET"}}),
        json!({"request": {"method": "GET", "url": "data:x"}}),
    ];
    let text = imported(&[&[good, post][..], &none].concat());
    let exchanges: usize = checked(&text).operations.iter().flat_map(|op| &op.groups).map(Vec::len).sum();
    assert_eq!(exchanges, 2);
    has(
        &text,
        &["# Left out, without a request: entries[2].", "# Left out, without `request.url`: entries[3] GET."],
    );
    has(&text, &["# Left out, to what is no address over HTTP: entries[4] GET data:x."]);
}

#[test]
fn requests_that_no_user_sends_are_left_out() {
    let mut preflight = entry("OPTIONS", "/api", json!(null));
    preflight["request"]["headers"] = json!([{"name": "Access-Control-Request-Method", "value": "POST"}]);
    let mut blocked = entry("GET", "/blocked", json!(null));
    blocked["response"]["status"] = json!(0);
    let mut proxy = entry("CONNECT", "", json!(null));
    proxy["request"]["url"] = json!("http://127.0.0.1:18081");
    let text = imported(&[preflight, entry("GET", "/api", json!(null)), blocked, proxy]);
    assert_eq!(names(&checked(&text)), ["GetApi"]);
    has(
        &text,
        &[
            "preflights, which browsers send by themselves: entries[0] OPTIONS",
            "requests to a proxy: entries[3]",
        ],
    );
    has(&text, &["as blocked or cancelled requests are: entries[2] GET"]);
}

#[test]
fn the_target_is_the_site_of_the_first_page() {
    let at = |url: &str, media_type: &str| {
        let mut entry = entry("GET", "", json!(null));
        entry["request"]["url"] = json!(url);
        entry["response"]["content"]["mimeType"] = json!(media_type);
        entry
    };
    let page = at("https://shop.example/", "text/html");
    let api = |n: usize| at(&format!("https://api.shop.example/items/{n}"), "application/json");
    let asset = |n: usize| at(&format!("https://cdn.example/{n}.png"), "image/png");
    let ad = |n: usize| at(&format!("https://ads.example/{n}"), "application/json");
    let moved = {
        let mut moved = at("http://login.example/", "text/html");
        moved["response"]["status"] = json!(302);
        moved
    };
    for (entries, url) in [
        (vec![page.clone(), asset(1), asset(2)], "https://shop.example"),
        (vec![moved, page.clone(), ad(1), ad(2), ad(3)], "https://shop.example"),
        (vec![page, api(1), api(2), ad(1), ad(2), ad(3)], "https://api.shop.example"),
        (vec![asset(1), asset(2), ad(1)], "https://ads.example"),
    ] {
        has(&imported(&entries), &[&format!("url = \"{url}\"")]);
    }
}

#[test]
fn a_method_that_is_no_text_is_remarked() {
    let mut number = entry("GET", "/a", json!(null));
    number["request"]["method"] = json!(7);
    let text = imported(&[number, entry("GET", "/b", json!(null))]);
    assert_eq!(names(&checked(&text)), ["GetB"]);
    has(&text, &["Left out, with a method that is none: entries[0]"]);
}

#[test]
fn web_sockets_are_opened() {
    let mut socket = entry("GET", "", json!(null));
    socket["request"]["url"] = json!("ws://127.0.0.1:18081/live?room=1");
    socket["request"]["headers"] = json!([
        {"name": "Upgrade", "value": "websocket"}, {"name": "Sec-WebSocket-Protocol", "value": "chat, v2"},
    ]);
    socket["response"]["status"] = json!(101);
    let text = imported(&[socket.clone()]);
    has(
        &text,
        &[
            "url = \"http://127.0.0.1:18081\"",
            "websocket = \"open\"\nstream = \"socket1\"\nprotocols = [\"chat\", \"v2\"]\n",
        ],
    );
    has(&text, &["path = \"/live\"\nquery = { room = \"1\" }", "messages are not carried over"]);
    socket["response"]["status"] = json!(403);
    has(
        &imported(&[entry("GET", "/a", json!(null)), socket]),
        &["handshakes of WebSockets that were refused: entries[1]"],
    );
}

#[test]
fn addresses_and_headers_are_written_so_that_they_can_be_sent() {
    let mut odd = entry("get", "/ü b/{x}|?flag&q=%FF", json!(null));
    odd["request"]["headers"] = json!([
        {"name": "X-Two", "value": "a\r\nb"}, {"name": "bad name", "value": "x"}, {"name": "Upgrade", "value": "h2c"},
        {"name": ":path", "value": "/"}, {"name": "HTTP2-Settings", "value": "x"},
    ]);
    let text = imported(&[odd]);
    has(&text, &["path = \"/%C3%BC%20b/%7Bx%7D|?flag&q=%FF\"", "headers = { x-two = \"a  b\" }"]);
    has(&text, &["the recorded header `bad name` has a name that cannot be sent"]);
    let mut with_password = entry("GET", "", json!(null));
    with_password["request"]["url"] = json!("http://ann:secret@127.0.0.1:18081/x#part");
    let text = imported(&[with_password]);
    has(&text, &["url = \"http://127.0.0.1:18081\"", "path = \"/x\""]);
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn what_one_answer_gives_is_not_asked_for_beside_it() {
    let at = |mut entry: Value, ms: u32, text: &str| {
        entry["startedDateTime"] = json!(format!("2026-01-01T10:00:00.{ms:03}Z"));
        entry["time"] = json!(500);
        entry["response"]["content"]["text"] = json!(text);
        entry
    };
    let text = imported(&[
        at(entry("GET", "/", json!(null)), 0, ""),
        at(entry("GET", "/orders", json!(null)), 1, "{\"id\":\"order-0815\"}"),
        at(entry("POST", "/pay", json!({"text": "{\"order\":\"order-0815\"}"})), 2, ""),
    ]);
    let groups: Vec<usize> = checked(&text).operations[0].groups.iter().map(Vec::len).collect();
    assert_eq!(groups, [1, 1, 1], "{text}");
    has(about(&text, "GetHome"), &["json = { order = \"{order_id}\" }"]);
}

#[test]
fn the_mark_of_a_text_file_is_left_out() {
    let text = barograph_scenario_import::text;
    assert_eq!(text(b"\xEF\xBB\xBFa"), "a");
    assert_eq!(text(b"\xFF\xFEa\0\xFC\0"), "a\u{fc}");
    assert_eq!(text(b"\xFE\xFF\0a"), "a");
    assert_eq!(text(b"a\xFF"), "a\u{fffd}");
}
