//! Every file in `scenarios/` runs against a matching target. Only the pauses between operations are shorter
//! than in the files.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_http::{Policy, ResolvedTarget};
use barograph_model::{Behaviour, Behaviours, Distribution, Nanos, Outcome, Pace};
use barograph_scenario::Scenario;
use barograph_social::{FillOrder, SiteOptions};
use barograph_testkit::{Act, Answer, ListenOptions, Request, Server, Site, SiteProtocols};

use crate::rig::Run;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads an example, its text changed by `change`, with short pauses.
fn example(name: &str, change: impl Fn(String) -> String) -> Arc<Scenario> {
    let path = folder().join(name);
    let text = change(std::fs::read_to_string(&path).unwrap());
    let read = barograph_scenario::read(path.to_str().unwrap(), &text, &|p| std::fs::read(p));
    let mut scenario = read.unwrap_or_else(|refused| panic!("{refused}"));
    let quick = |behaviour: &Behaviour| Behaviour {
        pace: Pace::Think(Distribution::Constant(Nanos::from_millis(3))),
        ..behaviour.clone()
    };
    let quick: Vec<Behaviour> = scenario.behaviours.all().iter().map(quick).collect();
    scenario.behaviours = Behaviours::new(quick).unwrap();
    Arc::new(scenario)
}

/// Three users of an example against a scripted server.
fn against(name: &str, script: impl Fn(&Request) -> Act + Send + Sync + 'static) -> (Server, Run) {
    let server = Server::start(Arc::new(script)).unwrap();
    let run = Run::new(example(name, |text| text), ResolvedTarget::at(server.addr(), Policy::PerUser(6)));
    (server, Run { users: 3, workers: 2, ..run })
}

#[test]
fn no_example_is_left_out() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    let all =
        ["chat.toml", "events.toml", "follow.toml", "get.toml", "shop.toml", "social.toml", "visit.toml"];
    assert_eq!(names, all);
}

#[test]
fn get() {
    let (_server, run) = against("get.toml", |_| Act::Answer(Answer::new(200, "hello")));
    run.until_done("Get", 50).all_good();
}

#[test]
fn visit() {
    let (_server, run) = against("visit.toml", |request| {
        assert_eq!(request.path, "/auction/ui/");
        Act::Answer(Answer::new(200, "<html>").with("content-type", "text/html"))
    });
    run.until_done("Open", 50).all_good();
}

#[test]
fn shop() {
    let (_server, run) = against("shop.toml", |request| {
        assert_eq!(request.header("accept"), Some("application/json"));
        let signed_in = request.header("authorization") == Some("Bearer t0ken");
        let path = request.path.split('?').next().unwrap();
        assert!(signed_in || path == "/login" || path.starts_with("/pictures/"), "{}", request.path);
        let json = |text: &str| Answer::new(200, text).with("content-type", "application/json");
        Act::Answer(match (request.method.as_str(), path) {
            ("POST", "/login") => {
                let sent: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
                assert!(sent["password"].as_str().is_some_and(|p| p.len() >= 6), "{sent}");
                json(&serde_json::json!({"token": "t0ken", "credit": 100, "name": sent["name"]}).to_string())
            }
            ("GET", "/products") if request.n % 5 == 0 => json(r#"{"items": []}"#),
            ("GET", "/products") => json(
                r#"{"items": [{"id": 11, "picture": "a.jpg"}, {"id": 12, "picture": "b.jpg"}, {"id": 13, "picture": "c.jpg"}]}"#,
            ),
            ("GET", picture) if picture.starts_with("/pictures/") => {
                assert!(["a.jpg", "b.jpg", "c.jpg"].contains(&&picture[10..]), "{picture}");
                Answer::new(200, vec![b'x'; 300]).with("content-type", "image/jpeg")
            }
            ("GET", product) if product.starts_with("/products/") => {
                json(&format!(r#"{{"id": {}, "name": "a lamp", "price": 12.5}}"#, &product[10..]))
            }
            ("PUT", cart) if cart.starts_with("/cart/1") => {
                let sent: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
                assert!([1, 2, 5].contains(&sent["quantity"].as_i64().unwrap()), "{sent}");
                Answer::new(204, "")
            }
            ("POST", "/orders") => {
                assert!(request.header("idempotency-key").unwrap().contains('-'));
                assert_eq!(request.body, b"pay=invoice");
                Answer::new(201, "thank you")
            }
            ("POST", "/logout") => Answer::new(200, ""),
            (method, path) => panic!("nobody asks for {method} {path}"),
        })
    });
    let enough = ["Login", "Search", "Look", "Fill", "Buy", "Logout"];
    run.until(|ended| enough.iter().all(|operation| ended.count(operation) >= 3)).all_good();
}

#[test]
fn follow() {
    let (_server, run) = against("follow.toml", |request| {
        let path = request.path.split('?').next().unwrap();
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        Act::Answer(match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["rooms"]) => Answer::new(200, r#"[{"id": "a"}, {"id": "b"}, {"id": "c"}]"#),
            ("POST", ["rooms", _, "members"]) => Answer::new(201, ""),
            ("POST", ["rooms", _, "messages"]) => Answer::new(200, ""),
            ("DELETE", ["members"]) => Answer::new(204, ""),
            ("GET", ["rooms", "a" | "b" | "c"]) => Answer::new(200, r#"{"number": 1}"#),
            ("GET", ["rooms", _, "next"]) if request.n % 97 == 0 => Answer::new(408, ""),
            ("GET", ["rooms", _, "next"]) if request.n % 13 == 0 => {
                Answer::new(200, r#"{"number": 9, "state": "closed"}"#)
            }
            ("GET", ["rooms", _, "next"]) => Answer::new(200, format!(r#"{{"number": {}}}"#, request.n)),
            (method, _) => panic!("nobody asks for {method} {}", request.path),
        })
    });
    let enough = ["Rooms", "Join", "Say", "Leave", "Poll"];
    let ended = run.until(|ended| {
        enough.iter().all(|operation| ended.count(operation) >= 5)
            && ended.outcome("Poll", Outcome::Expired) > 0
    });
    ended.all_good();
}

#[test]
fn events() {
    let price = |n: u32| {
        format!("event: price\ndata: {{\"value\": {n}}}\n\n: still here\n\nevent: note\ndata: x\n\n")
    };
    let prices: String = (0..200).map(price).collect();
    let stream = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n{prices}");
    let (_server, run) = against("events.toml", move |request| match request.path.as_str() {
        "/" => Act::Answer(Answer::new(200, "home")),
        "/events?topic=prices" => Act::Raw(stream.clone().into_bytes()),
        path => panic!("nobody asks for {path}"),
    });
    run.until(|ended| ended.count("NextPrice") >= 50 && ended.count("Unsubscribe") >= 3).all_good();
}

#[test]
fn chat() {
    // The site echoes at a path of its own, and offers no subprotocol.
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let scenario = example("chat.toml", |text| {
        text.replace("\"/chat\"", "\"/ws\"").replace("protocols = [\"chat.v1\"]", "")
    });
    let run = Run::new(scenario, ResolvedTarget::at(site.address().tcp(), Policy::PerUser(6)));
    let run = Run { users: 3, workers: 2, ..run };
    // A user who has disconnected connects again after a pause, unless the load ends in it.
    let called_again = || site.connections() >= 5;
    run.until(|ended| ended.count("Echo") >= 60 && ended.count("Hangup") >= 2 && called_again()).all_good();
    assert!(called_again());
}

/// The social site of this program with the data of one user, on a thread of its own. Returns its address.
fn social_site(folder: &Path) -> SocketAddr {
    let options = SiteOptions::embedded(folder.to_owned(), 2);
    let (send, address) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let site = barograph_social::Site::open(&options).unwrap();
            let order = FillOrder { users: 1, people_each: 100, seed: 1, file_scale: 0.02 };
            barograph_social::fill(&site, &order).await.unwrap();
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            send.send(listener.local_addr().unwrap()).unwrap();
            barograph_social::serve(listener, site, std::future::pending()).await.unwrap();
        });
    });
    address.recv().unwrap()
}

#[test]
fn social() {
    let folder = tempfile::tempdir().unwrap();
    let target = ResolvedTarget::at(social_site(folder.path()), Policy::PerUser(1));
    // The data of one user have a single zone, and the first tags of the file.
    let tags: String = (0..25).map(|number| barograph_social::tag_name(number) + "\n").collect();
    let all = std::fs::read_to_string(self::folder().join("social/tags.txt")).unwrap();
    assert!(all.starts_with(&tags) && all.lines().count() == 2_311, "the tags of a site for 100 users");
    let known: Vec<&str> = tags.lines().collect();
    let from_file = "[data.tags]\nfile = \"social/tags.txt\"\npick = \"random\"\nper = \"operation\"\n";
    let listed = format!("[values.tags]\nkind = \"random_choice\"\nof = {known:?}\n");
    let scenario = example("social.toml", |text| {
        assert!(text.contains(from_file));
        text.replace("max = 99\n", "max = 0\n").replace(from_file, &listed)
    });
    let run = Run { users: 3, workers: 2, ..Run::new(scenario, target) };
    let enough = ["Home", "Login", "TagSearch", "Event", "Person", "AddPerson", "AddEvent"];
    run.until(|ended| enough.iter().all(|operation| ended.count(operation) >= 3)).all_good();
}
