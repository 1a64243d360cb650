//! Imported scenarios pass their check, and match the document.

mod documents;
mod properties;
mod recordings;

use std::path::Path;

use barograph_scenario::{Action, Scenario, read};
use barograph_scenario_import::{Assets, from_har, from_url};

const AUCTION: &str = include_str!("../../../../docs/openapi/auction.json");
const SHOP: &str = include_str!("../har/shop.har");

fn from_openapi(text: &str, url: Option<&str>) -> Result<String, barograph_scenario_import::ImportError> {
    barograph_scenario_import::from_openapi(text, url, &|_: &str| Err(std::io::ErrorKind::NotFound.into()))
}

fn checked(text: &str) -> Scenario {
    let no_files = |_: &Path| Err(std::io::Error::other("an import names no files"));
    read("imported.toml", text, &no_files).unwrap_or_else(|why| panic!("{why}\n\n{text}"))
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "`{line}` is not in\n{text}");
    }
}

fn names(scenario: &Scenario) -> Vec<&str> {
    scenario.operations.iter().map(|op| op.name).collect()
}

/// The part of the text that is about one operation.
fn about<'t>(text: &'t str, operation: &str) -> &'t str {
    let from = text
        .find(&format!("[operations.{operation}]"))
        .unwrap_or_else(|| panic!("no {operation} in\n{text}"));
    let rest = &text[from..];
    let end = rest[1..].find("\n[operations.").or_else(|| rest.find("\n# Edit: what follows")).unwrap();
    &rest[..end]
}

#[test]
fn the_auctions_own_document_becomes_a_scenario_with_its_ids_linked() {
    let text = from_openapi(AUCTION, Some("http://127.0.0.1:9999")).unwrap();
    let scenario = checked(&text);
    let document: serde_json::Value = serde_json::from_str(AUCTION).unwrap();
    let calls: usize =
        document["paths"].as_object().unwrap().values().map(|p| p.as_object().unwrap().len()).sum();
    assert_eq!(scenario.operations.len(), calls, "every call is there once");
    assert_eq!(scenario.target.url.as_ref().map(|u| u.port), Some(9_999));
    let names = names(&scenario);
    assert_eq!((names[0], *names.last().unwrap()), ("PostLogin", "GetLogout"));
    let login = about(&text, "PostLogin");
    assert!(
        login.contains("extract = { token = { json = \"/token\" }, user_id = { json = \"/userId\" } }"),
        "{login}"
    );
    assert!(about(&text, "GetAuction").contains("auction_id = { json = \"/items/0/id\" }"));
    let poll = about(&text, "GetBidAuctionByAuctionIdItemBy");
    assert!(
        poll.contains("path = \"/auction/bid/auction/{auction_id}/item/{item_id}/count/{count}\""),
        "{poll}"
    );
    assert!(poll.contains("headers = { API_TOKEN = \"{token}\" }"), "{poll}");
    let bid = about(&text, "PostBid");
    assert!(bid.contains("json = { amountCents = 1, auctionId = \"{auction_id:raw}\""), "{bid}");
    assert!(
        text.contains("[values.size]\nkind = \"random_choice\"\nof = [\"thumbnail\", \"preview\", \"full\"]")
    );
}

#[test]
fn a_recording_becomes_operations_by_page_and_pause() {
    let text = from_har(SHOP, Assets::LeaveOut, None).unwrap();
    let scenario = checked(&text);
    assert_eq!(names(&scenario), ["GetHome", "PostLogin", "PostApiCartsLines"]);
    let groups: Vec<usize> = scenario.operations[0].groups.iter().map(Vec::len).collect();
    assert_eq!(groups, [1, 2], "the page first, then what it asked for, side by side");
    // Ids, a token and a hidden field come from earlier answers; an id of one digit may be equal by chance.
    let login = about(&text, "PostLogin");
    assert!(
        login
            .contains("form = { user = \"ann@example.com\", csrf = \"{csrf}\", password = \"s3cret word\" }"),
        "{login}"
    );
    assert!(login.contains("path = \"/api/users/{user_id}/cart\""), "{login}");
    assert!(login.contains("authorization = \"Bearer {token}\""), "{login}");
    let line = about(&text, "PostApiCartsLines");
    assert!(line.contains("path = \"/api/carts/{cart_id}/lines\""), "{line}");
    // In the order of the recording.
    let expected = r#"body = "{{\"item\":{{\"id\":1,\"name\":\"Hat {{red}}\"}},\"count\":2,\"gift\":null,\"owner\":{user_id}}}""#;
    assert!(line.contains(expected), "{line}");
    assert!(text.contains("values = [\"4.4 s\", \"7.63 s\"]"), "{text}");
    for secret in ["topsecret", "eyJhbGciOiJIUzI1NiJ9"] {
        assert!(!text.contains(secret), "{secret} is copied");
    }
    for left_out in ["style.css", "app.js", "hat.webp", "9000"] {
        assert!(!text.contains(left_out), "{left_out} is there");
    }
}

#[test]
fn assets_are_taken_along_when_asked() {
    let text = from_har(SHOP, Assets::Keep, Some("http://127.0.0.1:1")).unwrap();
    let scenario = checked(&text);
    let exchanges: usize = scenario.operations.iter().flat_map(|op| &op.groups).map(Vec::len).sum();
    assert_eq!(exchanges, 9, "all but the one to another origin");
    assert!(text.contains("url = \"http://127.0.0.1:1\"\n"));
}

#[test]
fn a_url_becomes_one_operation() {
    for (url, target) in
        [("http://[::1]:8080/a?b={c}", "/a?b={{c}}"), ("https://example.com", "/"), ("http://x?y", "/?y")]
    {
        let text = from_url(url).unwrap();
        let scenario = checked(&text);
        assert_eq!(names(&scenario), ["Get"]);
        assert!(matches!(scenario.operations[0].groups[0][0].action, Action::Request(_)));
        assert!(text.contains(&format!("path = {target:?}\n")), "{text}");
    }
    for wrong in ["example.com", "ftp://x/", "http://", "http:///x"] {
        assert!(from_url(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn documents_that_are_something_else_say_so() {
    let openapi = |text: &str| from_openapi(text, None).unwrap_err().to_string();
    assert_eq!(openapi("a: [1"), "read the document as JSON or YAML: line 1 column 4: unclosed bracket '['");
    assert_eq!(
        openapi("{\"a\":"),
        "read the document as JSON or YAML: EOF while parsing a value at line 1 column 5"
    );
    assert_eq!(
        openapi("{}"),
        "find `openapi: 3...` or `swagger: 2.0` in the document; it says nothing of it"
    );
    assert_eq!(
        openapi("swagger: 1.2"),
        "find `openapi: 3...` or `swagger: 2.0` in the document; it says version 1.2"
    );
    assert_eq!(openapi("{\"openapi\":\"3.1.0\"}"), "find a call in the document: `paths` names none");
    assert_eq!(
        openapi("openapi: 3.0.0\npaths: {/a: {$ref: 'http://example.com/a.yaml'}}"),
        "find a call in the document: `paths` names what was not found: `http://example.com/a.yaml` at /paths/~1a"
    );
    let har = |text: &str| from_har(text, Assets::Keep, None).unwrap_err().to_string();
    assert_eq!(har("{"), "read the recording as HAR 1.2; browsers write it as \"save all as HAR\"");
    assert_eq!(har("{}"), "find `log.entries` in the recording; browsers write it as \"save all as HAR\"");
    assert_eq!(
        har("{\"log\":{\"entries\":[]}}"),
        "find a request over HTTP in the recording that is no asset"
    );
}

/// A document that contains itself, has misplaced schemas, and invalid names.
#[test]
fn strange_documents_are_read_as_far_as_they_go() {
    let text = r##"{"openapi":"3.0.1","security":[{"b":[]}],
        "components":{"securitySchemes":{"b":{"type":"http","scheme":"bearer"}},
            "schemas":{"Tree":{"type":"object","properties":{"id":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}}}}},
        "paths":{"/trees/{id}":{"parameters":[{"name":"id","in":"path","schema":{"type":"string"}}],
                "get":{"responses":{"default":{"description":"x"}}},
                "put":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Tree"}}}},"responses":{}}},
            "/trees":{"get":{"operationId":"1 list/trees!","responses":{"200":{"content":{"application/json":{"schema":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}}}}}}}},
            "/{a}/{b}":{"delete":{"responses":{"204":{}}}},
            "/login":{"post":{"security":[],"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"user":{"type":"string"},"n":{"type":"integer"}}}}}},
                "responses":{"200":{"content":{"application/json":{"schema":{"type":"object","properties":{"access_token":{"type":"string"}}}}}}}}}}}"##;
    let scenario_text = from_openapi(text, None).unwrap();
    let scenario = checked(&scenario_text);
    assert_eq!(names(&scenario)[..2], ["PostLogin", "Op1ListTrees"]);
    assert!(scenario_text.contains("authorization = \"Bearer {access_token}\""), "{scenario_text}");
    assert!(scenario_text.contains("extract = { tree_id = { json = \"/0/id\" } }"), "{scenario_text}");
    assert!(scenario_text.contains("path = \"/trees/{tree_id}\""), "{scenario_text}");
}
