//! A node that is alone holds more connections than fit into one table of open files, and its threads share
//! stores, pictures and wakes nevertheless.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use barograph_auction::fill::{FillPlan, fill};
use barograph_auction::sizes::{self, Factors};
use barograph_auction::{Limits, PictureLocation, Role, ServeConfig, Stores, serve};
use barograph_data::names;
use barograph_reactor::own_open_files;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Limit of files in a table of this process.
const FILES: u64 = 400;
/// Configured connections: more than enough, as they are dealt out by chance.
const ROOM_FOR: usize = 900;
/// Clients, each with a table of its own.
const CLIENTS: usize = 6;
/// Connections of a client.
const EACH: usize = 100;

/// Longer than any step of the test; only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(60);

struct Connection(TcpStream);

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        assert!(self.status < 300, "{} {}", self.head, String::from_utf8_lossy(&self.body));
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Connection {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection(stream)
    }

    fn send(&mut self, verb: &str, path: &str, (token, kind, body): (&str, &str, &[u8])) {
        let length = body.len();
        let head = format!(
            "{verb} /auction/{path} HTTP/1.1\r\nhost: x\r\nAPI_TOKEN: {token}\r\ncontent-type: {kind}\r\ncontent-length: \
             {length}\r\n\r\n"
        );
        self.0.write_all(&[head.as_bytes(), body].concat()).unwrap();
    }

    fn receive(&mut self) -> Answer {
        let (mut text, mut buffer) = (Vec::new(), [0; 16 * 1024]);
        loop {
            let read = self.0.read(&mut buffer).unwrap();
            assert!(read > 0, "closed in mid-answer: {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&buffer[..read]);
            let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&text[..end]).into_owned();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if text.len() < end + 4 + length.map_or(0, |length| length.parse::<usize>().unwrap()) {
                continue;
            }
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            return Answer { status, head, body: text.split_off(end + 4) };
        }
    }

    fn get(&mut self, token: &str, path: &str) -> Answer {
        self.send("GET", path, (token, "text/plain", b""));
        self.receive()
    }

    fn post(&mut self, token: &str, path: &str, body: &Value) -> Answer {
        self.send("POST", path, (token, "application/json", body.to_string().as_bytes()));
        self.receive()
    }
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<()>,
    _dir: TempDir,
}

fn start() -> Server {
    let dir = tempfile::tempdir().unwrap();
    let (data, state) = (dir.path().join("data"), dir.path().join("state"));
    let plan = FillPlan {
        dir: data.clone(),
        size: sizes::find("nano").unwrap(),
        factors: Factors::new(0.01, 0.02).unwrap(),
        seed: 1,
        threads: 2,
    };
    fill(&plan, &mut |_| {}).unwrap();
    let config = ServeConfig {
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        node: "node".to_owned(),
        role: Role::All,
        images: PictureLocation::Files { read: data.join("images"), write: Some(dir.path().join("uploads")) },
        stores: Stores::Embedded { data_dir: data, state_dir: state },
        image_limits: Limits::default(),
        peers: None,
        threads: 1,
        room_for: ROOM_FOR,
        max_connections: usize::MAX,
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let (tell, told) = mpsc::sync_channel(1);
    let end = async { drop(stopped.await) };
    let thread = std::thread::spawn(move || serve(config, end, |at| tell.send(at).unwrap()).unwrap());
    Server { address: told.recv_timeout(PATIENCE).unwrap(), stop, thread, _dir: dir }
}

/// Logs a user in, which reads and writes the stores.
fn log_in(connection: &mut Connection, user: u32) -> (i64, String) {
    let login = json!({ "name": names::user_name(user), "password": names::PASSWORD });
    let session = connection.post("", "login", &login).json();
    (session["userId"].as_i64().unwrap(), session["token"].as_str().unwrap().to_owned())
}

/// Reads pictures from files.
fn look_at_pictures(connection: &mut Connection, token: &str, item: &Value) {
    for size in ["thumbnail", "preview", "full"] {
        let href = item["images"][0]["href"].as_str().unwrap().replacen("/auction/", "", 1);
        let picture = connection.get(token, &format!("{href}?size={size}"));
        assert_eq!((picture.status, &picture.body[..2]), (200, &[0xff, 0xd8][..]), "{}", picture.head);
    }
}

/// Adds an item with a picture, and reads the picture back.
fn upload(connection: &mut Connection, token: &str) {
    let item = json!({
        "condition": "good", "manufacturer": "Maker", "shortDescription": "Oak", "longDescription": "Long", "originMs": 0,
        "startingBidCents": 100,
    });
    let item = connection.post(token, "item", &item).json()["id"].as_i64().unwrap();
    let picture = [&[0xff, 0xd8, 0xff, 0xe0][..], &[7; 50_000]].concat();
    let head = b"--limit\r\ncontent-disposition: form-data; name=\"image\"; filename=\"a.jpg\"\r\ncontent-type: image/jpeg\r\n\r\n";
    let form = [&head[..], &picture, b"\r\n--limit--\r\n"].concat();
    connection.send(
        "POST",
        &format!("item/{item}/image"),
        (token, "multipart/form-data; boundary=limit", &form),
    );
    let answer = connection.receive().json();
    let href = answer["href"].as_str().unwrap().replacen("/auction/", "", 1);
    assert_eq!(connection.get(token, &format!("{href}?size=full")).body, picture);
}

/// All connections of a client, open until `release` is dropped.
fn client(number: u32, address: SocketAddr, (open, release): (SyncSender<()>, Receiver<()>)) {
    own_open_files().unwrap();
    let mut connections: Vec<Connection> = (0..EACH).map(|_| Connection::to(address)).collect();
    let (user, token) = log_in(&mut connections[0], 1 + number);
    for (at, connection) in connections.iter_mut().enumerate() {
        assert_eq!(connection.get(&token, &format!("user/{user}")).json()["id"], user);
        let page = connection.get(&token, "live/auction?pageSize=5").json();
        let auction = page["items"][at % 4]["id"].as_i64().unwrap();
        let item = connection.get(&token, &format!("item/current/auction/{auction}")).json();
        look_at_pictures(connection, &token, &item);
    }
    open.send(()).unwrap();
    let _ = release.recv();
}

#[test]
fn more_connections_than_a_table_has_room_for_are_served() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), maximum }).unwrap();
    let server = start();
    assert!(TcpListener::bind(server.address).is_err(), "another program could listen there too");
    let (tell, told) = mpsc::sync_channel(CLIENTS);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (hold, held) = mpsc::sync_channel(0);
            let (address, talk) = (server.address, (tell.clone(), held));
            (hold, std::thread::spawn(move || client(number as u32, address, talk)))
        })
        .collect();
    for _ in 0..CLIENTS {
        told.recv_timeout(PATIENCE).unwrap();
    }
    let mut connection = Connection::to(server.address);
    let figures = String::from_utf8(connection.get("", "metrics").body).unwrap();
    let open = figures.lines().find_map(|line| line.strip_prefix("auction_connections "));
    assert_eq!(open, Some((CLIENTS * EACH + 1).to_string().as_str()), "{figures}");
    for (hold, client) in clients {
        drop(hold);
        client.join().unwrap();
    }

    let (user, token) = log_in(&mut connection, 1);
    let auction =
        connection.get(&token, "live/auction?pageSize=1").json()["items"][0]["id"].as_i64().unwrap();
    let item =
        connection.get(&token, &format!("item/current/auction/{auction}")).json()["id"].as_i64().unwrap();
    let poll = |count: &Value| format!("bid/auction/{auction}/item/{item}/count/{count}");
    let now = connection.get(&token, &poll(&json!(0))).json();
    // Enough of them that every thread has some: the bid is decided on one thread and wakes all.
    let mut followers: Vec<Connection> = (0..64).map(|_| Connection::to(server.address)).collect();
    for follower in &mut followers {
        follower.send("GET", &poll(&now["sequence"]), (&token, "text/plain", b""));
    }
    let bid = json!({
        "userId": user, "auctionId": auction, "itemId": item, "amountCents": now["amountCents"].as_i64().unwrap() + 100,
    });
    assert_eq!(connection.post(&token, "bid", &bid).status, 202);
    for follower in &mut followers {
        assert_eq!(follower.receive().json()["bidderId"], user);
    }
    upload(&mut connection, &token);
    assert_eq!(connection.get(&token, "check").json()["ok"], true);

    server.stop.send(()).unwrap();
    server.thread.join().unwrap();
    assert!(TcpStream::connect(server.address).is_err(), "the address is still listened at");
}
