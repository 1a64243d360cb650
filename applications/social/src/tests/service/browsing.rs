//! The pages in a real browser: what people do with mouse and keyboard, and what assistive technology needs.

use std::fs;
use std::ops::Deref;

use barograph_test_browser::Browser;
use barograph_test_services::{self as services, Service};
use serde_json::json;

use crate::made::{PASSWORD, tag_name, user_name};
use crate::tests::rig::Rig;
use crate::{FileKind, FileMaker};

/// The key that sends a form.
const ENTER: &str = "\u{e007}";

/// What a page lacks for assistive technology, as a list of words.
const LACKING: &str = r"
const lacking = [];
const all = (css) => [...document.querySelectorAll(css)];
const named = (e) => (e.getAttribute('aria-label') || e.textContent).trim();
if (!document.documentElement.lang) lacking.push('language');
if (!document.title) lacking.push('title');
if (all('h1').length !== 1) lacking.push('one h1');
if (all('main').length !== 1) lacking.push('one main');
if (!at('meta[name=viewport]')) lacking.push('viewport');
for (const img of all('img')) if (!img.hasAttribute('alt')) lacking.push(`alt of ${img.src}`);
for (const field of all('input, textarea')) {
  if (![...(field.labels || [])].some(named)) lacking.push(`label of ${field.name}`);
}
for (const link of all('a, button')) if (!named(link)) lacking.push(`name of ${link.outerHTML}`);
for (const nav of all('nav')) if (!nav.getAttribute('aria-label')) lacking.push('label of a nav');
const ids = all('[id]').map((e) => e.id);
if (new Set(ids).size !== ids.length) lacking.push('unique ids');
return lacking;
";

/// A browser on the site.
struct Person {
    browser: Browser,
    base: String,
}

impl Deref for Person {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}

impl Person {
    async fn open(browsers: &Service, rig: &Rig) -> Person {
        let base = format!("http://{}", rig.socket);
        Person { browser: Browser::open(browsers, &base).await, base }
    }

    async fn visit(&self, path: &str) {
        self.go(&format!("{}{path}", self.base)).await;
    }

    async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    /// Types a text into a field.
    async fn keys(&self, css: &str, keys: &str) {
        self.find(css).await.send_keys(keys).await.unwrap();
    }

    async fn log_in(&self, number: u64) {
        self.click("a[href='/login']").await;
        self.keys("[name=name]", &user_name(number)).await;
        self.keys("[name=password]", &format!("{PASSWORD}{ENTER}")).await;
        self.shows("h1", "Welcome").await;
    }

    /// Asserts that a page has what assistive technology needs.
    async fn is_accessible(&self, path: &str) {
        self.visit(path).await;
        assert_eq!(self.run(LACKING).await, json!([]), "{path}");
    }
}

/// The driver of browsers; `None` after a line that names what is missing.
fn browsers() -> Option<Service> {
    services::or_skip(services::browsers())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_can_be_read_and_used_by_everyone() {
    let Some(browsers) = browsers() else { return };
    let rig = Rig::filled().await;
    let ann = Person::open(&browsers, &rig).await;
    let search = format!("/tags?tag={}", tag_name(3));
    for path in ["/", "/tags", &search, "/events/3", "/people/3", "/login", "/people/new"] {
        ann.is_accessible(path).await;
    }
    // The first key of a page reaches the link past the navigation, which shows itself.
    ann.visit("/").await;
    ann.keys("body", "\t").await;
    ann.until("document.activeElement === at('.skip') && at('.skip').getBoundingClientRect().left >= 0")
        .await;
    // Contrast of text on its ground, as the formula of WCAG has it.
    let contrast = r"
        const light = (css, which) => {
          const [r, g, b] = getComputedStyle(at(css))[which].match(/\d+/g).map((v) => v / 255)
            .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = light('body', 'backgroundColor');
        return ['body', 'main a'].map((css) => (ground + 0.05) / (light(css, 'color') + 0.05)).filter((c) => c < 4.5)";
    assert_eq!(ann.run(contrast).await, json!([]));
    ann.log_in(7).await;
    for path in ["/events/new", "/events/3", "/"] {
        ann.is_accessible(path).await;
    }
    // On a page that is missing, too.
    ann.is_accessible("/events/999").await;
    ann.shows("[role=alert]", "Nothing is here.").await;
    ann.assert_no_complaints(&["404"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_looks_logs_in_attends_and_posts() {
    let Some(browsers) = browsers() else { return };
    let rig = Rig::filled().await;
    let ann = Person::open(&browsers, &rig).await;
    // Every thumbnail of the list is a picture.
    let whole = "[...document.querySelectorAll('.events img')].filter((i) => i.naturalWidth).length === 10";
    ann.until(whole).await;
    ann.click(".cloud a").await;
    ann.until("at('h1').textContent.startsWith('Events with the tag')").await;
    ann.click(".events a").await;
    ann.until("at('.picture').naturalWidth && at('.map img').style.left").await;
    ann.shows("main p a[href='/login']", "Log in").await;
    ann.log_in(7).await;
    let event = rig.event_to_attend(&rig.login(7).await).await;
    ann.visit(&format!("/events/{event}")).await;
    ann.click("form button").await;
    ann.until("at('[role=status]')").await;
    ann.click("main a").await;
    ann.until("document.body.textContent.includes('You attend this event.')").await;

    let (maker, mut bytes, folder) = (FileMaker::new(1, 0.02), Vec::new(), tempfile::tempdir().unwrap());
    let mut file = |kind, name: &str| {
        maker.make(kind, 4_242, &mut bytes);
        let path = folder.path().join(name);
        fs::write(&path, &bytes).unwrap();
        path.display().to_string()
    };
    let (picture, document) = (file(FileKind::EventPicture, "tea.jpg"), file(FileKind::Document, "tea.pdf"));
    ann.click("a[href='/events/new']").await;
    for (name, text) in [
        ("title", "Tea <with> milk"),
        ("summary", "Short"),
        ("description", "Long"),
        ("phone", "+49 1"),
        ("street", "High Street 1"),
        ("city", "Town"),
        ("zip", "12345"),
        ("country", "Land"),
        ("day", "3"),
        ("tags", "tea milk"),
    ] {
        ann.keys(&format!("[name={name}]"), text).await;
    }
    ann.shows("[name=description] + output", "996 characters left").await;
    ann.keys("[name=picture]", &picture).await;
    ann.keys("[name=document]", &document).await;
    // The page makes the thumbnail from the picture.
    ann.until("at('[name=thumbnail]').files.length === 1 && at('[name=thumbnail]').files[0].size > 100")
        .await;
    ann.click("main form button").await;
    ann.shows("h1", "Posted").await;
    ann.click("main a").await;
    ann.shows("h1", "Tea <with> milk").await;
    ann.until("at('.picture').naturalWidth").await;
    ann.visit("/tags?tag=milk").await;
    ann.until("at('.events img').naturalWidth && at('.events img').naturalWidth <= 100").await;
    ann.click("a[href='/logout']").await;
    ann.shows("h1", "Logged out").await;
    ann.until("!at(\"a[href='/events/new']\")").await;
    ann.assert_no_complaints(&[]).await;
}
