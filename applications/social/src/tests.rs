//! The site over connections.

use std::fmt::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::made::{EventText, PASSWORD, PersonText, tag_name, user_name};
use crate::{FileKind, FileMaker, FillOrder, Site, SiteOptions, serve};

/// A site with data for one user, and a client.
struct Rig {
    socket: String,
    _folder: tempfile::TempDir,
}

/// An answer.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Rig {
    async fn filled() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = SiteOptions { folder: folder.path().to_owned(), geocoder: None, readers: 2 };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(listener, Site::open(&options).unwrap(), std::future::pending()));
        let rig = Rig { socket, _folder: folder };
        let order = FillOrder { users: 1, people_each: 100, seed: 1, file_scale: 0.02 };
        let body = serde_json::to_string(&order).unwrap();
        for step in 0..order.size().steps() {
            let answer =
                rig.post(&format!("/data/fill?step={step}"), ("application/json", body.as_bytes()), "").await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
        rig
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

    async fn get(&self, path: &str, fields: &str) -> Answer {
        self.ask(&format!("GET {path} HTTP/1.1\r\n{fields}"), b"").await
    }

    async fn post(&self, path: &str, (media_type, body): (&str, &[u8]), fields: &str) -> Answer {
        self.ask(&format!("POST {path} HTTP/1.1\r\ncontent-type: {media_type}\r\n{fields}"), body).await
    }

    /// The field with the cookie of a person.
    async fn login(&self, number: u64) -> String {
        let body = format!("name={}&password={PASSWORD}", user_name(number));
        let answer = self.post("/login", ("application/x-www-form-urlencoded", body.as_bytes()), "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        format!("cookie: {}\r\n", answer.field("set-cookie").unwrap().split(';').next().unwrap())
    }
}

/// A multipart body of texts and files.
fn form(fields: &[(&str, &str)], kinds: &[FileKind]) -> (String, Vec<u8>) {
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

#[tokio::test]
async fn pages_have_their_contents() {
    let rig = Rig::filled().await;
    let home = rig.get("/", "").await;
    assert_eq!((home.status, home.body.matches("-small.jpg").count()), (200, 10));
    assert_eq!(home.body.matches("/tags?tag=").count(), 25, "all tags of a small site");
    let event = rig.get("/events/3", "").await;
    assert!(
        event.body.contains("src=\"/files/e3.jpg\"") && event.body.contains("Attendees ("),
        "{}",
        event.body
    );
    assert!(event.body.contains("Log in</a> to attend"));
    let tag = rig.get(&format!("/tags?tag={}", tag_name(3)), "").await;
    assert!(tag.body.contains("href=\"/events/"), "{}", tag.body);
    let person = rig.get("/people/3", "").await;
    assert!(
        person.body.contains("src=\"/files/p3.jpg\"") && person.body.contains("Friends ("),
        "{}",
        person.body
    );
    for path in ["/events/999", "/people/0", "/files/none.jpg", "/files/..%2fsocial.db", "/static/none", "/x"]
    {
        assert_eq!(rig.get(path, "").await.status, 404, "{path}");
    }
    let counts = rig.get("/data/counts", "").await.body;
    assert!(
        counts.contains("\"people\":100,")
            && counts.contains("\"events\":75,")
            && counts.contains("\"defects\":[]"),
        "{counts}"
    );
}

#[tokio::test]
async fn files_are_sent_once() {
    let rig = Rig::filled().await;
    for path in ["/static/site.css", "/files/e1.jpg"] {
        let first = rig.get(path, "").await;
        let tag = first.field("etag").unwrap().to_owned();
        assert_eq!(first.status, 200);
        let again = rig.get(path, &format!("if-none-match: {tag}\r\n")).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
        assert_eq!(rig.get(path, "if-none-match: \"other\"\r\n").await.status, 200);
    }
}

#[tokio::test]
async fn people_join_and_their_forms_are_checked() {
    let rig = Rig::filled().await;
    let mut rng = barograph_data::Streams::new(1).stream("test", 0);
    let text = PersonText::made("newcomer".to_owned(), &mut rng);
    let (kind, body) = form(&text.fields(), &FileKind::OF_PERSON);
    assert_eq!(rig.get("/people/free?name=newcomer", "").await.body, "free");
    let added = rig.post("/people", (&kind, &body), "").await;
    assert_eq!((added.status, added.field("location")), (201, Some("/people/101")), "{}", added.body);
    assert_eq!(rig.get("/people/free?name=newcomer", "").await.body, "taken");
    assert_eq!(rig.post("/people", (&kind, &body), "").await.status, 409);
    assert_eq!(rig.get("/people/101", "").await.status, 200);
    let listed = rig.get("/data/people?after=100", "").await.body;
    assert_eq!(listed, "[{\"id\":101,\"name\":\"newcomer\",\"files\":[13430,5758]}]");
    let (_, without_picture) = form(&text.fields(), &FileKind::OF_PERSON[1..]);
    let (_, without_name) = form(&text.fields()[1..], &FileKind::OF_PERSON);
    for (body, reason) in [
        (&without_picture[..], "the file `picture` is missing"),
        (&without_name, "the field `name` has from 1 to 64"),
        (&body[..500], ""),
        (b"nothing", ""),
    ] {
        let refused = rig.post("/people", (&kind, body), "").await;
        assert!(
            refused.status == 400 && refused.body.contains(reason),
            "{} {}",
            refused.status,
            refused.body
        );
    }
}

#[tokio::test]
async fn visitors_who_are_logged_in_post_and_attend() {
    let rig = Rig::filled().await;
    let mut rng = barograph_data::Streams::new(1).stream("test", 1);
    let mut text = EventText::made(&[tag_name(1), "fresh".to_owned(), tag_name(1)], &mut rng);
    text.title = "<b>Tea</b>".to_owned();
    let (kind, body) = form(&text.fields(), &FileKind::OF_EVENT);
    for cookie in ["", "cookie: social=7.0123\r\n"] {
        assert_eq!(rig.post("/events", (&kind, &body), cookie).await.status, 403);
        assert_eq!(rig.post("/events/1/attend", (&kind, b""), cookie).await.status, 403);
    }
    let cookie = rig.login(7).await;
    let added = rig.post("/events", (&kind, &body), &cookie).await;
    assert_eq!((added.status, added.field("location")), (201, Some("/events/76")), "{}", added.body);
    let page = rig.get("/events/76", &cookie).await.body;
    assert!(page.contains("&lt;b&gt;Tea&lt;/b&gt;") && page.contains("/tags?tag=fresh"), "{page}");
    assert!(rig.get("/tags?tag=fresh", "").await.body.contains("href=\"/events/76\""));
    assert!(page.contains("action=\"/events/76/attend\""));
    assert_eq!(rig.post("/events/76/attend", (&kind, b""), &cookie).await.status, 201);
    assert_eq!(rig.post("/events/76/attend", (&kind, b""), &cookie).await.status, 200, "once only");
    assert!(rig.get("/events/76", &cookie).await.body.contains("You attend this event."));
    assert_eq!(rig.post("/events/999/attend", (&kind, b""), &cookie).await.status, 404);
    text.tags = "a b c d e f g h".to_owned();
    let (_, body) = form(&text.fields(), &FileKind::OF_EVENT);
    assert_eq!(rig.post("/events", (&kind, &body), &cookie).await.status, 400, "eight tags");
    let counts = rig.get("/data/counts", "").await.body;
    assert!(
        counts.contains("\"events\":76,")
            && counts.contains("\"tags\":26,")
            && counts.contains("\"defects\":[]"),
        "{counts}"
    );
}

#[tokio::test]
async fn a_wrong_login_is_refused() {
    let rig = Rig::filled().await;
    let kind = "application/x-www-form-urlencoded";
    for body in
        [format!("name={}&password=x", user_name(1)), "name=x".to_owned(), "%".to_owned(), String::new()]
    {
        let answer = rig.post("/login", (kind, body.as_bytes()), "").await;
        assert_eq!((answer.status, answer.field("set-cookie")), (400, None), "{body}");
    }
}
