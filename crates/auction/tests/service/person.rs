//! Somebody with a browser.

use std::net::SocketAddr;
use std::time::Duration;

use barograph_data::names;
use barograph_test_services::{BROWSER_FLAGS, Service};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

/// The longest wait for anything. A sale takes a minute, and machines may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(150);

/// The first screen is there within this, also where a dozen other programs want the processors.
const COMES_UP: Duration = Duration::from_secs(40);

/// Waits in the page for `CONDITION` to be something, and gives it. Pictures arrive without a change of the page.
const UNTIL: &str = r"
const done = arguments[arguments.length - 1];
const at = (css) => document.querySelector(css);
const look = () => {
  let found = null;
  try {
    found = CONDITION;
  } catch { /* what it speaks of is not there yet */ }
  if (!found) return;
  watcher.disconnect();
  document.removeEventListener('load', look, true);
  done(found);
};
const watcher = new MutationObserver(look);
watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
document.addEventListener('load', look, true);
look();
";

/// What there is to know of a page that is not as it should be.
const PAGE: &str = r"
return {
  text: document.body.innerText,
  at: location.href,
  state: document.readyState,
  loaded: performance.getEntriesByType('resource').map((e) => `${e.name} ${e.responseStatus} ${e.duration}`),
};
";

/// A browser and its user. Its processes end with the service that started them.
pub(crate) struct Person {
    driver: WebDriver,
    base: String,
}

impl Person {
    /// Opens the application in a browser of its own.
    pub(crate) async fn open(browsers: &Service, site: SocketAddr) -> Person {
        // The client of the driver wants one named, though nothing here is encrypted; another test may have named it.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let mut wishes = DesiredCapabilities::chrome();
        for flag in BROWSER_FLAGS {
            wishes.add_arg(flag).unwrap();
        }
        wishes.set("goog:loggingPrefs", json!({ "browser": "ALL" })).unwrap();
        let driver = WebDriver::new(browsers.url(), wishes).await.unwrap();
        let base = format!("http://{site}/auction/ui/");
        driver.goto(&base).await.unwrap();
        let person = Person { driver, base };
        person.comes_up().await;
        person
    }

    /// Waits until the first screen is there. On a machine that does much else the page stays empty now and then, and no reason
    /// for that is known: what there is to know of it is told, and it is loaded again.
    #[expect(clippy::print_stdout, reason = "a test tells what is not as it should be")]
    async fn comes_up(&self) {
        self.driver.set_script_timeout(COMES_UP).await.unwrap();
        let script = UNTIL.replace("CONDITION", "at('h1')");
        if let Err(why) = self.driver.execute_async(script, Vec::new()).await {
            println!("the page stayed empty ({why}): {:#}", self.run(PAGE).await);
            self.driver.refresh().await.unwrap();
        }
        self.driver.set_script_timeout(PATIENCE).await.unwrap();
    }

    /// Opens the application and signs in as a user of the fill.
    pub(crate) async fn signed_in(browsers: &Service, site: SocketAddr, user: u32) -> Person {
        let person = Person::open(browsers, site).await;
        person.sign_in(&names::user_name(user), names::PASSWORD).await;
        person.shows("h1", "Active auctions").await;
        person
    }

    pub(crate) async fn sign_in(&self, name: &str, password: &str) {
        self.shows("h1", "Sign in").await;
        self.fill("[name=name]", name).await;
        self.fill("[name=password]", password).await;
        self.click("main button").await;
    }

    /// Goes to a place in the application as a link would.
    pub(crate) async fn go(&self, hash: &str) {
        self.driver.goto(format!("{}{hash}", self.base)).await.unwrap();
    }

    /// Runs a script in the page, in which `at` finds an element.
    pub(crate) async fn run(&self, script: &str) -> Value {
        let script = format!("const at = (css) => document.querySelector(css);\n{script}");
        self.driver.execute(script, Vec::new()).await.unwrap().json().clone()
    }

    /// Waits until an expression, in which `at` finds an element, is something, and gives it.
    pub(crate) async fn until(&self, condition: &str) -> Value {
        let script = UNTIL.replace("CONDITION", condition);
        match self.driver.execute_async(script, Vec::new()).await {
            Ok(found) => found.json().clone(),
            Err(why) => {
                let page = self.run(PAGE).await;
                let log = self.driver.browser_log().await;
                panic!(
                    "`{condition}` did not come true ({why}) on this page: {page:#}\nthe browser said: {log:#?}"
                );
            }
        }
    }

    /// Waits until an element has this text.
    pub(crate) async fn shows(&self, css: &str, text: &str) {
        self.until(&format!("at({}) && at({0}).textContent.trim() === {}", json!(css), json!(text))).await;
    }

    pub(crate) async fn text(&self, css: &str) -> String {
        let found = self.until(&format!("at({}) && at({0}).textContent", json!(css))).await;
        found.as_str().unwrap().to_owned()
    }

    async fn find(&self, css: &str) -> WebElement {
        self.until(&format!("!!at({})", json!(css))).await;
        self.driver.find(By::Css(css)).await.unwrap()
    }

    pub(crate) async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    /// Replaces what stands in a field.
    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Chooses a file, or presses keys.
    pub(crate) async fn keys(&self, css: &str, keys: &str) {
        self.find(css).await.send_keys(keys).await.unwrap();
    }

    /// Closes the browser. It must not have complained, save about answers that the test provoked.
    pub(crate) async fn leave(self, provoked: &[&str]) {
        let log = self.driver.browser_log().await.unwrap();
        let complaints: Vec<String> = log.iter().map(|entry| format!("{entry:?}")).collect();
        let surprises: Vec<&String> =
            complaints.iter().filter(|c| !provoked.iter().any(|known| c.contains(known))).collect();
        assert!(surprises.is_empty(), "{surprises:#?}");
        let elsewhere = format!(
            "return performance.getEntries().map((e) => e.name).filter((n) => n.includes('://') && !n.startsWith({}))",
            json!(self.base.trim_end_matches("auction/ui/"))
        );
        assert_eq!(self.run(&elsewhere).await, json!([]));
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // The service ends the browser. The driver would ask it to, and block until it answers.
        let _ = self.driver.clone().leak();
    }
}
