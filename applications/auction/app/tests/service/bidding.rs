//! Users who follow auctions and bid.

use std::time::Duration;

use barograph_test_services::{self as services, Service};
use barograph_testkit::one_of_async;

use crate::person::Person;
use crate::site::{Site, browsers};

/// Time limit within which others see a bid. It takes some milliseconds, more on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Number of tries.
const TRIES: usize = 5;

/// Script that answers every stream like a server without streams.
const NO_STREAMS: &str = "const real = window.fetch;
window.fetch = (url, how) => String(url).endsWith('/events')
  ? Promise.resolve(new Response('{}', { status: 404 })) : real(url, how);";

const HAPROXY: &str = "
defaults
  mode http
  timeout connect 10s
  timeout client 90s
  timeout server 90s
frontend people
  bind 127.0.0.1:{port}
  default_backend application
backend application
  server only SERVER
";

/// The address of the first active auction.
async fn first_auction(person: &Person) -> String {
    let link = person.until("at('.tiles a') && at('.tiles a').hash").await;
    link.as_str().unwrap().to_owned()
}

async fn join(person: &Person, auction: &str) {
    person.go(auction).await;
    person.click("main .actions .main").await;
    person.until("at('.lot [data-line=live]') && at('.lot .quick:enabled')?.textContent").await;
}

/// One user bids the proposed amount, the other sees it. Returns the amount and the time between.
async fn raise(bidder: &Person, other: &Person) -> (String, Duration) {
    let button = bidder.text(".lot .quick:enabled").await;
    let amount = button.strip_prefix("Bid ").unwrap().to_owned();
    other
        .run(&format!(
            "window.seen = new Promise((resolve) => {{
               const look = () => at('.lot .high')?.textContent === '{amount}' && resolve(Date.now());
               new MutationObserver(look).observe(document, {{ subtree: true, childList: true, characterData: true }});
             }});"
        ))
        .await;
    let clicked = bidder.run("const now = Date.now(); at('.lot .quick').click(); return now;").await;
    // The driver itself waits for the promise.
    let seen = other.run("return window.seen").await;
    let between = seen.as_u64().unwrap().saturating_sub(clicked.as_u64().unwrap());
    bidder.shows(".lot .say", &format!("Your bid of {amount} leads.")).await;
    bidder.shows(".lot .who", "You lead").await;
    other.shows(".lot .who", "Somebody else leads").await;
    (amount, Duration::from_millis(between))
}

/// Both users raise once; the first sees that it was outbid, and both report the times. Others see a bid at
/// once in one of some tries: a busy machine only makes it later.
#[expect(clippy::print_stdout, reason = "the times are what one wants to know")]
async fn compete(first: &Person, second: &Person) -> String {
    one_of_async(TRIES, async || {
        let (_, there) = raise(first, second).await;
        let (amount, back) = raise(second, first).await;
        first.shows(".lot .say", &format!("You were outbid: somebody offers {amount}.")).await;
        println!("a click is seen in the other browser after {there:?} and {back:?}");
        if there.max(back) >= AT_ONCE {
            return Err(format!("bids are seen after {there:?} and {back:?}, and not within {AT_ONCE:?}"));
        }
        Ok(amount)
    })
    .await
}

async fn two(browsers: &Service, site: &Site) -> (Person, Person) {
    tokio::join!(Person::signed_in(browsers, site.address, 1), Person::signed_in(browsers, site.address, 2))
}

#[tokio::test]
async fn two_people_bid_against_each_other_and_see_the_sale() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let (ann, ben) = two(&browsers, &site).await;
    let auction = first_auction(&ann).await;
    tokio::join!(join(&ann, &auction), join(&ben, &auction));
    let item = ben.text(".lot .item").await;
    let price = compete(&ann, &ben).await;

    // A low bid is refused in the page, without a request to the server.
    ann.fill(".lot .bid input", "0.01").await;
    ann.keys(".lot .bid input", "\u{e007}").await;
    ann.shows(".lot .say", &format!("Offer more than {price}.")).await;

    let (lost, bought) = (format!("Sold to somebody else for {price}."), format!("Sold to you for {price}."));
    tokio::join!(ann.shows(".lot .say", &lost), ben.shows(".lot .say", &bought));
    ben.go("#/history/purchases").await;
    ben.shows("tbody tr:first-child td:nth-child(2)", &item).await;
    ben.shows("tbody tr:first-child td:nth-child(4)", &price).await;

    ann.click(".lot header button").await;
    ann.until("!at('.lot') && at('.empty')").await;
    ann.leave(&[]).await;
    ben.leave(&[]).await;
    site.stop();
}

#[tokio::test]
async fn people_without_streams_bid_all_the_same() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let (ann, ben) = two(&browsers, &site).await;
    let auction = first_auction(&ann).await;
    ann.run(NO_STREAMS).await;
    tokio::join!(join(&ann, &auction), join(&ben, &auction));
    compete(&ann, &ben).await;
    compete(&ben, &ann).await;
    ann.leave(&[]).await;
    ben.leave(&[]).await;
    site.stop();
}

#[tokio::test]
async fn a_lost_connection_is_shown_and_heals() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let proxy = services::haproxy(&HAPROXY.replace("SERVER", &site.address.to_string()), &[]);
    let Some(mut proxy) = services::or_skip(proxy) else { return };
    let through = ([127, 0, 0, 1], proxy.port()).into();
    let (ann, ben) =
        tokio::join!(Person::signed_in(&browsers, through, 1), Person::signed_in(&browsers, site.address, 2));
    let auction = first_auction(&ann).await;
    tokio::join!(join(&ann, &auction), join(&ben, &auction));

    proxy.kill();
    ann.until("at('.lot [data-line=lost]') && !at('#link').hidden").await;
    let button = ben.text(".lot .quick:enabled").await;
    ben.click(".lot .quick").await;
    ben.shows(".lot .who", "You lead").await;

    proxy.restart();
    ann.until("at('.lot [data-line=live]') && at('#link').hidden").await;
    ann.shows(".lot .high", button.strip_prefix("Bid ").unwrap()).await;
    compete(&ann, &ben).await;
    ann.leave(&[
        "ERR_CONNECTION_REFUSED",
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
        "ERR_CONNECTION_RESET",
        "ERR_EMPTY_RESPONSE",
        // A picture was being loaded.
        "ERR_SOCKET_NOT_CONNECTED",
        "ERR_CONTENT_LENGTH_MISMATCH",
    ])
    .await;
    ben.leave(&[]).await;
    site.stop();
}
