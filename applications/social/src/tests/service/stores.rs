//! Databases and caches: answers are those of the embedded store.

use barograph_data::{Stream, Streams};
use barograph_test_services::{self as services, Service};
use rand::RngExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::FileKind;
use crate::made::{EventText, PersonText, tag_name};
use crate::tests::rig::{Answer, Rig, form};

/// Seed of the requests.
const SEED: u64 = 20_281_128;

/// Requests of a run.
const REQUESTS: u32 = 150;

/// Hexadecimal digits of the name of new files, which is random.
const RANDOM_NAME: usize = 32;

/// An answer without the random names of new files.
fn shown(Answer { status, body, .. }: &Answer) -> String {
    let mut parts = body.split("/files/");
    let mut text = format!("{status} {}", parts.next().unwrap_or_default());
    for part in parts {
        let name = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        text.push_str("/files/");
        text.push_str(if name == RANDOM_NAME { part.get(RANDOM_NAME..).unwrap() } else { part });
    }
    text
}

/// One request of a visitor.
async fn request(rig: &Rig, cookie: &mut String, rng: &mut Stream) -> Answer {
    let tag = tag_name(rng.random_range(0..25));
    match rng.random_range(0..12_u32) {
        0 | 1 => {
            rig.get(&format!("/?day={}&page={}", rng.random_range(0..300), rng.random_range(0..3)), "").await
        }
        2 | 3 => rig.get(&format!("/tags?tag={tag}"), "").await,
        4 | 5 => rig.get(&format!("/events/{}", rng.random_range(1..90)), cookie).await,
        6 => rig.get(&format!("/people/{}", rng.random_range(1..110)), cookie).await,
        7 | 8 => {
            // Most events are attended twice.
            let path = format!("/events/{}/attend", rng.random_range(70..80));
            rig.post(&path, ("text/plain", b""), cookie).await
        }
        9 => {
            *cookie = rig.login(rng.random_range(1..100)).await;
            rig.get("/tags", cookie).await
        }
        10 => {
            let tags = [tag, format!("new{}", rng.random_range(0..3)), "Upper".to_owned()];
            let (kind, body) = form(&EventText::made(&tags, rng).fields(), &FileKind::OF_EVENT);
            rig.post("/events", (&kind, &body), cookie).await
        }
        _ => {
            // Names differ in the sizes of their letters and in signs at their ends, and some are taken.
            let name = ["Mia", "mia", "mia ", "m\u{ef}a", "'; --", "mia\\"][rng.random_range(0..6)];
            let mut text = PersonText::made(name.to_owned(), rng);
            text.summary.push_str(" <&> \u{1f600} \\' \" %");
            let (kind, body) = form(&text.fields(), &FileKind::OF_PERSON);
            rig.post("/people", (&kind, &body), cookie).await
        }
    }
}

/// The answers to all requests, and the state after them.
async fn run(rig: &Rig) -> Vec<String> {
    let (mut cookie, mut rng) = (String::new(), Streams::new(SEED).stream("requests", 0));
    let mut answers = Vec::new();
    for number in 0..REQUESTS {
        let answer = request(rig, &mut cookie, &mut rng).await;
        assert!(answer.status < 500, "request {number}: {}", answer.body);
        answers.push(shown(&answer));
    }
    for path in ["/", "/tags", "/data/counts", "/data/people?after=0", "/data/events?after=0"] {
        answers.push(shown(&rig.get(path, "").await));
    }
    for event in 60..90 {
        answers.push(shown(&rig.get(&format!("/events/{event}"), "").await));
    }
    answers
}

/// Asserts that a site answers as the embedded one, also after a return to the loaded state.
async fn same(what: &str, rig: &Rig, expected: &[String]) {
    for round in 0..2 {
        let found = run(rig).await;
        for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "{what}, round {round}, request {number}");
        }
        rig.fill().await;
    }
}

/// An answer of a cache to a question in words.
async fn asked(cache: &Service, question: &str, end: &str) -> String {
    let address = cache.url().split_once("://").unwrap().1.to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(question.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    while !String::from_utf8_lossy(&text).contains(end) {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "{text:?}");
    }
    String::from_utf8(text).unwrap()
}

/// The number behind a word.
fn number(text: &str, word: &str) -> u64 {
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix(word)).unwrap_or_else(|| panic!("{text}"));
    line.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_the_same_on_every_store_and_through_every_cache() {
    let expected = run(&Rig::filled().await).await;
    for status in ["200", "201", "404", "409"] {
        assert!(expected.iter().any(|answer| answer.starts_with(status)), "no answer with {status}");
    }
    let postgres = services::or_skip(services::postgres());
    let mariadb = services::or_skip(services::mariadb());
    let memcached = services::or_skip(services::product("memcached", &[]));
    let redis = services::or_skip(services::product("redis", &[("cache", "yes")]));
    let url = |service: &Option<Service>| service.as_ref().map(|service| service.url().to_owned());
    if let Some(cache) = &memcached {
        let rig = Rig::with(|options| options.cache = url(&memcached)).await;
        same("SQLite and memcached", &rig, &expected).await;
        let statistics = asked(cache, "stats\r\n", "END\r\n").await;
        assert!(number(&statistics, "STAT get_hits") > u64::from(REQUESTS), "{statistics}");
    }
    if postgres.is_some() {
        let rig =
            Rig::with(|options| (options.database, options.cache) = (url(&postgres), url(&memcached))).await;
        same("PostgreSQL and memcached", &rig, &expected).await;
    }
    if mariadb.is_some() {
        let rig = Rig::with(|options| (options.database, options.cache) = (url(&mariadb), url(&redis))).await;
        same("MariaDB and Redis", &rig, &expected).await;
    }
    if let Some(cache) = redis.as_ref().filter(|_| mariadb.is_some()) {
        let statistics = asked(cache, "INFO stats\r\n", "keyspace_misses").await;
        assert!(number(&statistics, "keyspace_hits:") > u64::from(REQUESTS), "{statistics}");
    }
}

/// Visitors who do the same at the same time: one of them attends, and all post events with the same new tags.
async fn crowd(rig: &Rig) {
    let visitor = |number: u64| async move {
        let mut rng = Streams::new(SEED).stream("crowd", number);
        let cookie = rig.login(number + 1).await;
        let twice = tokio::join!(
            rig.post("/events/1/attend", ("text/plain", b""), &cookie),
            rig.post("/events/1/attend", ("text/plain", b""), &cookie)
        );
        assert!(matches!((twice.0.status, twice.1.status), (200..=201, 200..=201)), "{}", twice.0.body);
        for round in 0..3 {
            let tags = [format!("z{round}"), format!("a{round}"), tag_name(round)];
            let (kind, body) = form(&EventText::made(&tags, &mut rng).fields(), &FileKind::OF_EVENT);
            let added = rig.post("/events", (&kind, &body), &cookie).await;
            assert_eq!(added.status, 201, "{}", added.body);
        }
    };
    futures::future::join_all((0..8).map(visitor)).await;
    let counts = rig.get("/data/counts", "").await.body;
    let (events, tags) = (format!("\"events\":{},", 75 + 8 * 3), format!("\"tags\":{},", 25 + 6));
    assert!(counts.contains(&events) && counts.contains(&tags), "{counts}");
    assert!(counts.contains("\"defects\":[]"), "{counts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_the_same_time_leave_no_defects() {
    crowd(&Rig::filled().await).await;
    for service in [services::postgres(), services::mariadb()] {
        let Some(database) = services::or_skip(service) else { continue };
        let url = database.url().to_owned();
        crowd(&Rig::with(|options| options.database = Some(url)).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_goes_on_after_a_restart_of_its_database() {
    for service in [services::postgres(), services::mariadb()] {
        let Some(mut database) = services::or_skip(service) else { continue };
        let url = database.url().to_owned();
        let rig = Rig::with(|options| options.database = Some(url)).await;
        let page = rig.get("/events/1", "").await.body;
        database.kill();
        assert_eq!(rig.get("/events/1", "").await.status, 500);
        database.restart();
        assert_eq!(rig.get("/events/1", "").await.body, page);
    }
}
