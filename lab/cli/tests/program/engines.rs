//! Things in container engines that run already, over the API that Docker and Podman share.
//!
//! An engine that a run starts for itself is not among them: it is removed with its content.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Error, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// Usual sockets of engines.
const USUAL: [&str; 2] = ["/var/run/docker.sock", "/run/podman/podman.sock"];

/// Variable for the socket of a user's engine, which Docker's programs and Barograph read.
const HOST: &str = "DOCKER_HOST";

/// Longest wait for each piece of an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// Lists of an engine: kind of thing, path of the request, and key of the names.
const LISTS: [(&str, &str, &str); 3] = [
    ("container", "/containers/json?all=1", "Names"),
    ("network", "/networks", "Name"),
    ("image", "/images/json?all=1", "RepoTags"),
];

/// Digits of an identifier that distinguish things.
const DIGITS: usize = 12;

/// Socket in the value of [`HOST`]. An engine at another address is assumed to be on another machine.
fn socket_in(host: &str) -> Option<PathBuf> {
    host.strip_prefix("unix://").filter(|path| path.starts_with('/')).map(PathBuf::from)
}

/// Engines that answer, each once.
#[expect(clippy::disallowed_methods, reason = "where the user's engine is, not a setting of the program")]
fn answering() -> Vec<PathBuf> {
    let given = std::env::var(HOST).ok().and_then(|host| socket_in(&host));
    let places = USUAL.map(PathBuf::from).into_iter().chain(given);
    // `/var/run` is often a link to `/run`.
    let sockets: BTreeSet<PathBuf> = places.filter_map(|place| fs::canonicalize(place).ok()).collect();
    sockets.into_iter().filter(|socket| ask(socket, "/version").is_ok()).collect()
}

fn ask(socket: &Path, what: &str) -> Result<Value> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    // In this version of HTTP an answer is a single piece and ends with the connection.
    write!(stream, "GET {what} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    body(&String::from_utf8_lossy(&answer))
}

/// Body of a successful answer.
fn body(answer: &str) -> Result<Value> {
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| Error::other("no answer of HTTP"))?;
    let status = head.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(serde_json::from_str(body)?),
        _ => Err(Error::other(format!("{status}: {body}"))),
    }
}

/// Things in a list, each with its kind, the beginning of its identifier and its names.
fn listed(kind: &str, key: &str, list: &Value) -> Result<Vec<String>> {
    let things = list.as_array().ok_or_else(|| Error::other(format!("no list, but {list}")))?;
    let told = things.iter().map(|thing| {
        let id = thing["Id"].as_str().ok_or_else(|| Error::other(format!("no identifier in {thing}")))?;
        let id = id.strip_prefix("sha256:").unwrap_or(id);
        let names = match &thing[key] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().into_iter().collect::<Vec<_>>(),
        };
        let names: String =
            names.iter().map(|name| format!(" {}", name.strip_prefix('/').unwrap_or(name))).collect();
        Ok(format!("{kind} {}{names}", id.get(..DIGITS).unwrap_or(id)))
    });
    told.collect()
}

/// Containers, networks and images of every engine that answers, with the engine's socket.
pub(crate) fn things() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for socket in answering() {
        for (kind, what, key) in LISTS {
            let things = ask(&socket, what).and_then(|list| listed(kind, key, &list));
            let things = things.unwrap_or_else(|why| panic!("{what} of {}: {why}", socket.display()));
            all.extend(things.into_iter().map(|thing| format!("{}: {thing}", socket.display())));
        }
    }
    all
}

/// Names of the compared engines, for messages.
pub(crate) fn compared() -> String {
    told(&answering())
}

fn told(engines: &[PathBuf]) -> String {
    if engines.is_empty() {
        return "no container engine runs already, so nothing of one".to_owned();
    }
    let places: Vec<String> = engines.iter().map(|socket| socket.display().to_string()).collect();
    format!("containers, networks and images of the engine at {}", places.join(" and at "))
}

#[test]
fn an_engine_of_the_user_is_at_a_socket() {
    let path = PathBuf::from("/run/user/1000/docker.sock");
    assert_eq!(socket_in("unix:///run/user/1000/docker.sock"), Some(path));
    for elsewhere in ["tcp://10.0.0.2:2375", "ssh://there", "unix://relative", "/run/docker.sock", ""] {
        assert_eq!(socket_in(elsewhere), None, "{elsewhere}");
    }
}

#[test]
fn an_answer_is_read_or_named() {
    let good = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[{\"Id\":\"a\"}]\n";
    assert_eq!(body(good).unwrap(), serde_json::json!([{ "Id": "a" }]));
    let bad = body("HTTP/1.0 500 Internal Server Error\r\n\r\n{\"message\":\"no\"}").unwrap_err();
    assert_eq!(bad.to_string(), "HTTP/1.0 500 Internal Server Error: {\"message\":\"no\"}");
    assert_eq!(body("").unwrap_err().to_string(), "no answer of HTTP");
    assert!(body("HTTP/1.0 200 OK\r\n\r\n[{").is_err(), "cut");
}

#[test]
fn things_are_told_by_kind_identifier_and_names() {
    let containers = serde_json::json!([
        { "Id": "0123456789abcdef", "Names": ["/bg-x1-app", "/other"], "State": "running" },
        { "Id": "fe", "Names": [] },
    ]);
    let told = listed("container", "Names", &containers).unwrap();
    assert_eq!(told, ["container 0123456789ab bg-x1-app other", "container fe"]);
    let networks = serde_json::json!([{ "Name": "bg-x1", "Id": "77" }]);
    assert_eq!(listed("network", "Name", &networks).unwrap(), ["network 77 bg-x1"]);
    let images = serde_json::json!([
        { "Id": "sha256:aaaabbbbccccdddd", "RepoTags": ["barograph/machine:of-x1"] },
        { "Id": "sha256:eeee", "RepoTags": null },
    ]);
    let told = listed("image", "RepoTags", &images).unwrap();
    assert_eq!(told, ["image aaaabbbbcccc barograph/machine:of-x1", "image eeee"]);
    assert!(listed("image", "RepoTags", &serde_json::json!({ "message": "no" })).is_err());
    assert!(listed("image", "RepoTags", &serde_json::json!([{ "RepoTags": [] }])).is_err());
}

#[test]
fn an_engine_is_asked_at_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("engine.sock");
    assert!(ask(&socket, "/version").is_err(), "nobody is there");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let engine = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut asked, mut byte) = (Vec::new(), [0]);
        while !asked.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            asked.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n[{\"Id\":\"77\",\"Name\":\"bridge\"}]").unwrap();
        String::from_utf8(asked).unwrap()
    });
    let answer = ask(&socket, "/networks").unwrap();
    assert_eq!(listed("network", "Name", &answer).unwrap(), ["network 77 bridge"]);
    assert_eq!(engine.join().unwrap(), "GET /networks HTTP/1.0\r\nHost: localhost\r\n\r\n");
}

#[test]
fn what_is_compared_is_said_also_where_it_is_nothing() {
    assert_eq!(told(&[]), "no container engine runs already, so nothing of one");
    let at = ["/run/docker.sock", "/run/podman/podman.sock"].map(PathBuf::from);
    let expected =
        "containers, networks and images of the engine at /run/docker.sock and at /run/podman/podman.sock";
    assert_eq!(told(&at), expected);
}
