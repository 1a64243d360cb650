//! Chromium for tests of pages: opens them, waits for what they show, collects complaints.
//!
//! A browser is a session of the driver that [`barograph_test_services::browsers`] starts, and ends with it.

use std::path::Path;
use std::time::{Duration, Instant};

use barograph_test_services::{BROWSER_FLAGS, Service};
use serde_json::{Value, json};
use thirtyfour::prelude::*;

/// Longest wait for a condition. Sales take a minute, and machines may be busy.
const PATIENCE: Duration = Duration::from_secs(150);

/// Chromium's error for connections given up because an address of the machine has appeared or disappeared,
/// loopback included. Tests that create network namespaces and virtual machines beside a browser provoke it,
/// and a script whose connection is given up leaves its page empty.
const NETWORK_CHANGED: &str = "net::ERR_NETWORK_CHANGED";

/// The driver's error for a script whose page is gone, which comes before the time for scripts is up.
const SCRIPT_LOST: &str = "script timeout";

/// Attempts to load a page without an address coming or going meanwhile.
const LOADS: usize = 20;

/// Waits in the page until `CONDITION` is truthy, and returns its value. Pictures arrive without a change of the page.
const UNTIL: &str = r"
const done = arguments[arguments.length - 1];
const at = (css) => document.querySelector(css);
const look = () => {
  let found = null;
  try {
    found = CONDITION;
  } catch { /* an element of it is not there yet */ }
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

/// State of a page, for the message of a failed wait.
const PAGE: &str = r"
return {
  text: document.body.innerText,
  at: location.href,
  state: document.readyState,
  loaded: performance.getEntriesByType('resource').map((e) => `${e.name} ${e.responseStatus} ${e.duration}`),
};
";

/// A browser with a profile of its own. It ends with the service that started it.
pub struct Browser(WebDriver);

impl Browser {
    /// Opens a page and waits until it and its scripts are loaded.
    ///
    /// # Panics
    /// If the browser does not start or the page does not load.
    pub async fn open(browsers: &Service, url: &str) -> Browser {
        // Required by the client of the driver, though nothing here is encrypted; another test may have
        // installed it.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let mut wishes = DesiredCapabilities::chrome();
        for flag in BROWSER_FLAGS.iter().chain(&["--window-size=1280,1250"]) {
            wishes.add_arg(flag).unwrap();
        }
        wishes.set("goog:loggingPrefs", json!({ "browser": "ALL" })).unwrap();
        let driver = WebDriver::new(browsers.url(), wishes).await.unwrap();
        driver.set_script_timeout(PATIENCE).await.unwrap();
        let browser = Browser(driver);
        for _ in 0..LOADS {
            if browser.loads(url).await {
                return browser;
            }
        }
        panic!("{url} was not loaded in {LOADS} attempts, each time because of {NETWORK_CHANGED}");
    }

    /// Whether the page was loaded without a connection given up for a change of addresses.
    async fn loads(&self, url: &str) -> bool {
        match self.0.goto(url).await {
            Err(why) if why.to_string().contains(NETWORK_CHANGED) => return false,
            other => other.unwrap(),
        }
        let log = self.0.browser_log().await.unwrap();
        !log.iter().any(|entry| entry.message.contains(NETWORK_CHANGED))
    }

    /// Goes to another address, like a link.
    ///
    /// # Panics
    /// If the browser refuses.
    pub async fn go(&self, url: &str) {
        self.0.goto(url).await.unwrap();
    }

    /// Runs a script in the page, in which `at(css)` finds an element, and returns its value.
    ///
    /// # Panics
    /// If the script throws.
    pub async fn run(&self, script: &str) -> Value {
        let script = format!("const at = (css) => document.querySelector(css);\n{script}");
        self.0.execute(script, Vec::new()).await.unwrap().json().clone()
    }

    /// Waits until an expression, in which `at(css)` finds an element, is truthy, and returns its value.
    ///
    /// # Panics
    /// If it does not become truthy in time; the message shows the page and the browser's log.
    pub async fn until(&self, condition: &str) -> Value {
        let (begun, script) = (Instant::now(), UNTIL.replace("CONDITION", condition));
        loop {
            let why = match self.0.execute_async(script.as_str(), Vec::new()).await {
                Ok(found) => return found.json().clone(),
                Err(why) => why,
            };
            // The page that was watched may have been replaced by the next one.
            if begun.elapsed() < PATIENCE && why.to_string().contains(SCRIPT_LOST) {
                continue;
            }
            let page = self.run(PAGE).await;
            let log = self.0.browser_log().await;
            panic!(
                "`{condition}` did not come true ({why}) on this page: {page:#}\nlog of the browser: {log:#?}"
            );
        }
    }

    /// Waits until an element has this text.
    ///
    /// # Panics
    /// Those of [`Browser::until`].
    pub async fn shows(&self, css: &str, text: &str) {
        self.until(&format!("at({}) && at({0}).textContent.trim() === {}", json!(css), json!(text))).await;
    }

    /// Waits for an element.
    ///
    /// # Panics
    /// Those of [`Browser::until`].
    pub async fn find(&self, css: &str) -> WebElement {
        self.until(&format!("!!at({})", json!(css))).await;
        self.0.find(By::Css(css)).await.unwrap()
    }

    /// Writes a screenshot of the page.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub async fn screenshot(&self, file: &Path) {
        self.0.screenshot(file).await.unwrap();
    }

    /// Asserts that the browser logged only errors provoked by the test or its neighbours.
    ///
    /// # Panics
    /// If there are others.
    pub async fn assert_no_complaints(&self, provoked: &[&str]) {
        let log = self.0.browser_log().await.unwrap();
        let known =
            |message: &str| message.contains(NETWORK_CHANGED) || provoked.iter().any(|p| message.contains(p));
        let complaints: Vec<&String> = log.iter().map(|entry| &entry.message).filter(|m| !known(m)).collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The service ends the browser. The driver would request it, and block for the answer.
        let _ = self.0.clone().leak();
    }
}
