//! The site over connections.

mod rig;
mod service;

use rig::{Rig, form};

use crate::FileKind;
use crate::made::{EventText, PersonText, tag_name, user_name};

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

#[tokio::test]
async fn a_fill_of_the_same_data_brings_the_loaded_state_back() {
    let rig = Rig::filled().await;
    let cookie = rig.login(7).await;
    let path = format!("/events/{}", rig.event_to_attend(&cookie).await);
    let (home, event) = (rig.get("/", "").await.body, rig.get(&path, "").await.body);
    let counts = rig.get("/data/counts", "").await.body;
    let mut rng = barograph_data::Streams::new(1).stream("test", 2);
    let mut text = EventText::made(&["fresh".to_owned(), tag_name(1)], &mut rng);
    text.day = "0".to_owned();
    let (kind, body) = form(&text.fields(), &FileKind::OF_EVENT);
    let added = rig.post("/events", (&kind, &body), &cookie).await;
    assert_eq!(added.status, 201, "{}", added.body);
    assert_eq!(rig.post(&format!("{path}/attend"), (&kind, b""), &cookie).await.status, 201);
    let page = rig.get("/events/76", "").await.body;
    let picture = page.split("src=\"").find(|part| part.starts_with("/files/")).unwrap();
    let picture = picture.split('"').next().unwrap();
    assert_eq!(rig.get(picture, "").await.status, 200);
    assert_ne!(rig.get("/data/counts", "").await.body, counts);
    rig.fill().await;
    assert_eq!(rig.get("/data/counts", "").await.body, counts);
    assert_eq!((rig.get("/", "").await.body, rig.get(&path, "").await.body), (home, event));
    assert_eq!((rig.get("/events/76", "").await.status, rig.get(picture, "").await.status), (404, 404));
    // New rows have the numbers that they had after the fill.
    assert_eq!(rig.post("/events", (&kind, &body), &cookie).await.field("location"), Some("/events/76"));
}
