//! A site over connections, and its client.

use std::fmt::Write as _;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::made::{PASSWORD, user_name};
use crate::{FileKind, FileMaker, FillOrder, Site, SiteOptions, serve};

/// A site with data for one user, and a client.
pub(super) struct Rig {
    pub(super) socket: String,
    _folder: TempDir,
}

/// An answer.
pub(super) struct Answer {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Rig {
    /// A site on a folder alone.
    pub(super) async fn filled() -> Self {
        Rig::with(|_| {}).await
    }

    /// A site with other options.
    pub(super) async fn with(change: impl FnOnce(&mut SiteOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = SiteOptions::embedded(folder.path().to_owned(), 4);
        change(&mut options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(listener, Site::open(&options).unwrap(), std::future::pending()));
        let rig = Rig { socket, _folder: folder };
        rig.fill().await;
        rig
    }

    /// Fills the site, or brings it back to the loaded state.
    pub(super) async fn fill(&self) {
        let order = FillOrder { users: 1, people_each: 100, seed: 1, file_scale: 0.02 };
        let body = serde_json::to_string(&order).unwrap();
        for step in 0..order.size().steps() {
            let answer = self
                .post(&format!("/data/fill?step={step}"), ("application/json", body.as_bytes()), "")
                .await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }

    async fn ask(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.socket).await.unwrap();
        let head = format!("{head}host: h\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(super) async fn get(&self, path: &str, fields: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{fields}"), b"").await
    }

    pub(super) async fn post(&self, path: &str, (media_type, body): (&str, &[u8]), fields: &str) -> Answer {
        self.ask(&format!("POST {path} HTTP/1.1\r\ncontent-type: {media_type}\r\n{fields}"), body).await
    }

    /// The field with the cookie of a person.
    pub(super) async fn login(&self, number: u64) -> String {
        let body = format!("name={}&password={PASSWORD}", user_name(number));
        let answer = self.post("/login", ("application/x-www-form-urlencoded", body.as_bytes()), "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        format!("cookie: {}\r\n", answer.field("set-cookie").unwrap().split(';').next().unwrap())
    }
}

impl Rig {
    /// The first event that a visitor does not attend yet.
    pub(super) async fn event_to_attend(&self, cookie: &str) -> u64 {
        for event in 1.. {
            let page = self.get(&format!("/events/{event}"), cookie).await;
            assert_eq!(page.status, 200, "the visitor attends all events");
            if page.body.contains("/attend\"") {
                return event;
            }
        }
        unreachable!("events end")
    }
}

/// A multipart body of texts and files.
pub(super) fn form(fields: &[(&str, &str)], kinds: &[FileKind]) -> (String, Vec<u8>) {
    let (maker, mut body, mut file) = (FileMaker::new(1, 0.02), Vec::new(), Vec::new());
    for (name, value) in fields {
        let mut part = String::new();
        write!(part, "--x\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
        body.extend_from_slice(part.as_bytes());
    }
    for kind in kinds {
        maker.make(*kind, 1, &mut file);
        let head = format!(
            "--x\r\ncontent-disposition: form-data; name=\"{0}\"; filename=\"{0}\"\r\n\r\n",
            kind.field()
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(&file);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--x--\r\n");
    ("multipart/form-data; boundary=x".to_owned(), body)
}
