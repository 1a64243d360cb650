//! The server on a real socket: start, stop, limits.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::*;
use crate::{ServeError, StartError, serve};

struct TestServer {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<(), ServeError>>,
    _dir: TempDir,
}

fn run(max_connections: usize) -> TestServer {
    let dir = tempfile::tempdir().unwrap();
    fill(&dir.path().join("data"));
    let config = config(dir.path(), max_connections);
    run_with(config, dir)
}

fn run_with(config: ServeConfig, dir: TempDir) -> TestServer {
    let (stop, stopped) = oneshot::channel::<()>();
    let (ready, address) = mpsc::sync_channel(1);
    let thread = std::thread::spawn(move || {
        serve(config, async { drop(stopped.await) }, |address| ready.send(address).unwrap())
    });
    TestServer { address: address.recv().unwrap(), stop, thread, _dir: dir }
}

fn send(connection: &mut TcpStream, text: &str) {
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    connection.write_all(text.as_bytes()).unwrap();
}

/// Reads one answer with a body of known length.
fn receive(connection: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = connection.read(&mut buffer).unwrap();
        text.extend_from_slice(&buffer[..read]);
        let answer = String::from_utf8_lossy(&text);
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            assert!(read > 0, "closed in mid-answer: {answer}");
            continue;
        };
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |l| l.parse().unwrap()) {
            return answer.into_owned();
        }
        assert!(read > 0, "closed in mid-body: {answer}");
    }
}

const HEALTH: &str = "GET /auction/healthCheck HTTP/1.1\r\nhost: x\r\n\r\n";
const METRICS: &str = "GET /auction/metrics HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn it_serves_keeps_connections_and_lets_pollers_go_when_it_stops() {
    let server = run(100);
    let mut connection = TcpStream::connect(server.address).unwrap();
    for _ in 0..3 {
        send(&mut connection, HEALTH);
        assert!(receive(&mut connection).starts_with("HTTP/1.1 200"));
    }
    let login = r#"{"name":"user1@auction.example","password":"secret"}"#;
    let head = "content-type: application/json\r\nhost: x\r\ncontent-length";
    send(&mut connection, &format!("POST /auction/login HTTP/1.1\r\n{head}: {}\r\n\r\n{login}", login.len()));
    let answer = receive(&mut connection);
    let token = answer.split("\"token\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let poll = format!(
        "GET /auction/bid/auction/1/item/1/count/7 HTTP/1.1\r\nhost: x\r\nAPI_TOKEN: {token}\r\n\r\n"
    );
    send(&mut connection, &poll);
    // Connections are served by several threads: the server itself shows that the poll waits.
    let mut other = TcpStream::connect(server.address).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        send(&mut other, METRICS);
        let figures = receive(&mut other);
        if figures.lines().any(|line| line == "auction_followers 1") {
            break;
        }
        assert!(Instant::now() < deadline, "nobody waits for the next bid: {figures}");
    }
    send(&mut other, &poll.replace("count/7", "count/0"));
    assert!(receive(&mut other).contains("\"sequence\":7"));
    server.stop.send(()).unwrap();
    let released = receive(&mut connection);
    assert!(released.starts_with("HTTP/1.1 503") && released.contains("stopping"), "{released}");
    server.thread.join().unwrap().unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "nobody listens any more");
}

#[test]
fn connections_beyond_the_limit_wait_for_a_free_place() {
    let server = run(1);
    let mut first = TcpStream::connect(server.address).unwrap();
    send(&mut first, HEALTH);
    receive(&mut first);
    let mut second = TcpStream::connect(server.address).unwrap();
    send(&mut second, HEALTH);
    second.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(second.read(&mut [0; 1]).is_err(), "served beyond the limit");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(receive(&mut second).starts_with("HTTP/1.1 200"));
    server.stop.send(()).unwrap();
    server.thread.join().unwrap().unwrap();
}

#[test]
fn a_node_with_another_store_of_pictures_serves_from_one_runtime() {
    let dir = tempfile::tempdir().unwrap();
    fill(&dir.path().join("data"));
    let images = PictureLocation::Url(format!("file://{}", dir.path().join("data/images").display()));
    let config = ServeConfig { images, threads: 2, ..config(dir.path(), 1) };
    assert!(!config.is_of_files());
    let server = run_with(config, dir);
    let mut first = TcpStream::connect(server.address).unwrap();
    send(&mut first, "GET /auction/image/11/full HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(receive(&mut first).ends_with("full 11"));
    let mut second = TcpStream::connect(server.address).unwrap();
    send(&mut second, HEALTH);
    drop(first);
    assert!(receive(&mut second).starts_with("HTTP/1.1 200"), "its place was free");
    server.stop.send(()).unwrap();
    server.thread.join().unwrap().unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "the address is still listened at");
}

#[test]
fn a_folder_without_a_fill_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = serve(config(dir.path(), 1), std::future::pending(), |_| panic!("not ready")).unwrap_err();
    assert!(matches!(error, ServeError::Start(StartError::NotFilled { .. })), "{error}");
}

#[test]
fn every_start_begins_with_the_pristine_data() {
    let dir = tempfile::tempdir().unwrap();
    fill(&dir.path().join("data"));
    for _ in 0..2 {
        let config = config(dir.path(), 1);
        serve(config, std::future::ready(()), |_| ()).unwrap();
        let db = Connection::open(dir.path().join("state/relational.db")).unwrap();
        let users: i64 = db.query_row("SELECT COUNT(*) FROM user", [], |row| row.get(0)).unwrap();
        assert_eq!(users, USERS + 1);
        db.execute("DELETE FROM user", []).unwrap();
    }
}

#[tokio::test]
async fn it_runs_on_what_the_fill_makes() {
    let dir = tempfile::tempdir().unwrap();
    let plan = crate::fill::FillPlan {
        dir: dir.path().join("data"),
        size: crate::sizes::find("nano").unwrap(),
        factors: crate::sizes::Factors::new(0.05, 0.01).unwrap(),
        seed: 1,
        threads: 1,
    };
    let filled = crate::fill::fill(&plan, &mut |_| ()).unwrap();
    let site = Site::on(dir).await;
    let name = barograph_data::names::user_name(7);
    let login = json!({ "name": name, "password": barograph_data::names::PASSWORD });
    let session = site.ask(Method::POST, "/auction/login", Some(login)).await.json();
    let token = session["token"].as_str().unwrap().to_owned();
    let guest = Guest { id: 7, token, router: site.router.clone() };
    assert_eq!(session["userId"], 7);
    let page = guest.get("/auction/live/auction?pageSize=5").await.json();
    let auction = page["items"][0]["id"].as_i64().unwrap();
    let item = guest.get(&format!("/auction/item/current/auction/{auction}")).await.json();
    let id = item["id"].as_i64().unwrap();
    assert_eq!(item["images"].as_array().unwrap().len(), 4);
    for size in ["thumbnail", "preview", "full"] {
        let href = item["images"][3]["href"].as_str().unwrap();
        let picture = guest.get(&format!("{href}?size={size}")).await;
        assert_eq!((picture.kind.as_str(), &picture.bytes[..2]), ("image/jpeg", &[0xff, 0xd8][..]));
    }
    let now = guest.poll(auction, id, 0).await.json();
    let (sequence, amount) = (now["sequence"].as_u64().unwrap(), now["amountCents"].as_i64().unwrap());
    assert!(sequence >= 2 && amount > item["startingBidCents"].as_i64().unwrap() - 1);
    guest.bid(auction, id, amount + 100).await;
    assert_eq!(guest.poll(auction, id, sequence).await.json()["bidderId"], 7);
    let report = site.check().await;
    assert_eq!((&report["ok"], &report["counts"]["users"]), (&json!(true), &json!(filled.marker.rows.users)));
}
