//! A user who registers, changes the name and leaves.

use crate::person::Person;
use crate::site::{Site, browsers};

#[tokio::test]
async fn an_account_is_made_changed_and_removed() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let ann = Person::open(&browsers, site.address).await;
    ann.sign_in("ann@auction.example", "wrong").await;
    ann.shows(".form-error", "Wrong name or password.").await;

    // A link to a page that needs a user leads there after the sign-in.
    ann.go("#/profile").await;
    ann.shows("h1", "Sign in").await;
    ann.click("main p a").await;
    ann.shows("h1", "Register").await;
    for (name, text) in
        [("name", "ann@auction.example"), ("firstName", "Ann"), ("lastName", "Other"), ("password", "secret")]
    {
        ann.fill(&format!("[name={name}]"), text).await;
    }
    ann.click("main button").await;
    ann.shows("h1", "Ann Other").await;

    ann.fill("[name=name]", "ann2@auction.example").await;
    ann.click("main button").await;
    ann.shows(".good", "Saved.").await;
    // The server ends the session without notice to the page.
    ann.run("return fetch('../logout', { headers: { API_TOKEN: JSON.parse(localStorage['auction.session']).token } })")
        .await;
    ann.go("#/history/attendance").await;
    ann.shows(".notice:not([hidden])", "Your session has ended. Sign in again to go on.").await;
    ann.sign_in("ann2@auction.example", "secret").await;
    ann.shows("h1", "History").await;

    ann.go("#/profile").await;
    ann.click("[name=sure]").await;
    ann.click(".danger").await;
    ann.shows("h1", "Register").await;
    ann.go("#/sign-in").await;
    ann.sign_in("ann2@auction.example", "secret").await;
    ann.shows(".form-error", "Wrong name or password.").await;
    ann.leave(&["401"]).await;
    site.stop();
}
