//! A user of the application, with a browser.

use std::net::SocketAddr;
use std::ops::Deref;

use barograph_data::names;
use barograph_test_browser::Browser;
use barograph_test_services::Service;
use serde_json::json;

/// A browser on the application, and its user.
pub(crate) struct Person {
    browser: Browser,
    base: String,
}

impl Person {
    /// Opens the application in a browser of its own.
    pub(crate) async fn open(browsers: &Service, site: SocketAddr) -> Person {
        let base = format!("http://{site}/auction/ui/");
        Person { browser: Browser::open(browsers, &base).await, base }
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

    /// Follows a link within the application.
    pub(crate) async fn go(&self, hash: &str) {
        self.browser.go(&format!("{}{hash}", self.base)).await;
    }

    pub(crate) async fn text(&self, css: &str) -> String {
        let found = self.until(&format!("at({}) && at({0}).textContent", json!(css))).await;
        found.as_str().unwrap().to_owned()
    }

    pub(crate) async fn click(&self, css: &str) {
        self.find(css).await.click().await.unwrap();
    }

    /// Replaces the content of a field.
    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Chooses a file, or presses keys.
    pub(crate) async fn keys(&self, css: &str, keys: &str) {
        self.find(css).await.send_keys(keys).await.unwrap();
    }

    /// Closes the browser. Asserts that it reported only errors that the test provoked, and loaded only from
    /// the server.
    pub(crate) async fn leave(self, provoked: &[&str]) {
        self.assert_no_complaints(provoked).await;
        let elsewhere = format!(
            "return performance.getEntries().map((e) => e.name).filter((n) => n.includes('://') && !n.startsWith({}))",
            json!(self.base.trim_end_matches("auction/ui/"))
        );
        assert_eq!(self.run(&elsewhere).await, json!([]));
    }
}

impl Deref for Person {
    type Target = Browser;

    fn deref(&self) -> &Browser {
        &self.browser
    }
}
