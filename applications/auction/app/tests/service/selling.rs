//! A user who sells an item and finds it again.

use std::path::PathBuf;

use crate::person::Person;
use crate::site::{Site, browsers, data};

/// A picture of the fill, as good as any other.
fn photo() -> PathBuf {
    let folder = data().join("images/full/0");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    files.min().expect("items that are on sale have pictures in full size")
}

#[tokio::test]
async fn an_item_with_a_photo_is_added_found_and_changed() {
    let Some(browsers) = browsers() else { return };
    let site = Site::start();
    let ann = Person::signed_in(&browsers, site.address, 1).await;

    ann.go("#/sell").await;
    ann.click("main button").await;
    ann.until("at('#f-shortDescription-e').textContent").await;
    ann.fill("[name=shortDescription]", "A teapot of blue zaffre").await;
    ann.fill("[name=longDescription]", "Holds four cups.").await;
    ann.fill("[name=manufacturer]", "A potter").await;
    ann.run("at('[name=originMs]').value = '1900-05-06'").await;
    ann.fill("[name=startingBidCents]", "12.5").await;
    ann.keys("[name=photo]", photo().to_str().unwrap()).await;
    ann.until("!at('canvas').hidden").await;
    ann.click("main button").await;

    // On the page of the seller, with its picture.
    ann.shows("h1", "What you sell").await;
    ann.shows(".row strong", "A teapot of blue zaffre").await;
    ann.until("at('.row img') && at('.row img').naturalWidth").await;

    ann.go("#/search").await;
    ann.fill("[name=text]", "blue zaff").await;
    ann.keys("[name=text]", "\u{e007}").await;
    ann.shows("main [role=status]", "1 match").await;
    ann.shows(".row strong", "A teapot of blue zaffre").await;

    ann.click(".row").await;
    ann.shows(".long", "Holds four cups.").await;
    ann.shows(".high", "$12.50").await;
    ann.click("main .actions a").await;
    ann.fill("[name=longDescription]", "Holds five cups.").await;
    ann.click("main button").await;
    ann.shows(".long", "Holds five cups.").await;
    ann.until("at('.stage img').naturalWidth").await;

    ann.click("#sign-out").await;
    ann.shows("h1", "Sign in").await;
    ann.go("#/profile").await;
    ann.shows("h1", "Sign in").await;
    assert_eq!(ann.run("return localStorage.getItem('auction.session')").await, "null");
    ann.leave(&[]).await;
    site.stop();
}
