//! Uploads and pictures.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use barograph_auction_api::{AuctionId, ImageId, ItemId};
use barograph_auction_bus::{BusEvent, Recipient};
use barograph_store_images::Pictures;
use serde_json::json;
use tokio::time::{advance, resume, timeout};

use super::super::pictures::{LATE, LATE_PAUSE, WAITERS};
use super::*;
use crate::messages::Message;

/// The first bytes of a JPEG; the rest is not checked.
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00 the rest of a picture";
/// The first bytes of a PNG.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR the rest of a picture";
/// The first bytes of a WebP picture.
const WEBP: &[u8] = b"RIFF\x24\x00\x00\x00WEBPVP8 the rest of a picture";

/// A part of a form.
fn part(name: &str, kind: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!(
        "--limit\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"a.jpg\"\r\n\
         content-type: {kind}\r\n\r\n"
    );
    [head.as_bytes(), bytes, b"\r\n"].concat()
}

fn form(parts: &[Vec<u8>]) -> Vec<u8> {
    [&parts.concat()[..], b"--limit--\r\n"].concat()
}

async fn upload(guest: &Guest, item: i64, body: Vec<u8>) -> Reply {
    let path = format!("/auction/item/{item}/image");
    send(guest, &path, "multipart/form-data; boundary=limit", body).await
}

async fn send(guest: &Guest, path: &str, kind: &str, body: Vec<u8>) -> Reply {
    let request = Request::builder().method(Method::POST).uri(path).header(TOKEN_HEADER, &guest.token);
    ask(&guest.router, request.header("content-type", kind).body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn an_uploaded_picture_is_there_at_once() {
    let site = Site::start().await;
    let (seller, other) = (site.guest(20).await, site.guest(1).await);
    let before = other.get("/auction/item/8").await.json();
    assert_eq!(before["images"], json!([]));
    for (kind, picture) in [("image/jpeg", JPEG), ("image/png", PNG), ("image/webp", WEBP)] {
        let reply = upload(&seller, 8, form(&[part("image", kind, picture)])).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED, "{reply:?}");
        let accepted = reply.json();
        let href = accepted["href"].as_str().unwrap();
        let shown = other.get(&format!("{href}?size=full")).await;
        assert_eq!((shown.kind.as_str(), &shown.bytes[..]), (kind, picture));
        assert_eq!(other.get(&format!("{href}?size=preview")).await.code(404), "notFound");
        let public = site.ask(Method::GET, &format!("/auction/image/{}/full", accepted["id"]), None).await;
        assert_eq!((public.kind.as_str(), &public.bytes[..]), (kind, picture));
    }
    let images = other.get("/auction/item/8").await.json()["images"].as_array().unwrap().clone();
    assert_eq!(images.len(), 3);
    assert!(images.iter().all(|image| image["sizes"] == json!(["full"])));
    // Guests hold the router and with it the stores.
    drop((seller, other));
    let dir = site.stop().await;
    let stored = std::fs::read_dir(dir.path().join("uploads/full")).unwrap().count();
    assert!(stored > 0, "the queue is written before the end");
}

#[tokio::test]
async fn what_is_no_picture_is_refused() {
    let site = Site::start().await;
    let (seller, other) = (site.guest(20).await, site.guest(1).await);
    let good = form(&[part("image", "image/jpeg", JPEG)]);
    assert_eq!(upload(&other, 8, good.clone()).await.code(403), "forbidden");
    assert_eq!(upload(&seller, 99, good.clone()).await.code(404), "notFound");
    for (kind, bytes) in [
        ("image/jpeg", &b"no picture"[..]),
        ("image/jpeg", b""),
        ("text/plain", JPEG),
        ("application/octet-stream", JPEG),
        ("image/gif", b"GIF89a and so on"),
    ] {
        let reply = upload(&seller, 8, form(&[part("image", kind, bytes)])).await;
        assert_eq!(reply.code(406), "notAnImage", "{kind}");
    }
    let image = || part("image", "image/jpeg", JPEG);
    let note = || part("note", "text/plain", b"a word");
    for parts in
        [vec![part("picture", "image/jpeg", JPEG)], vec![note(), image()], vec![image(), note()], vec![]]
    {
        assert_eq!(upload(&seller, 8, form(&parts)).await.code(400), "badRequest");
    }
    assert_eq!(upload(&seller, 8, good[..good.len() - 20].to_vec()).await.code(400), "badRequest");
    assert_eq!(upload(&seller, 8, Vec::new()).await.code(400), "badRequest");
    let path = "/auction/item/8/image";
    for kind in ["application/json", "multipart/form-data", "multipart/mixed; boundary=limit", "image/jpeg"] {
        assert_eq!(send(&seller, path, kind, good.clone()).await.code(415), "notMultipart", "{kind}");
    }
    let large = [JPEG, &vec![0; 16 << 20][..]].concat();
    let reply = upload(&seller, 8, form(&[part("image", "image/jpeg", &large)])).await;
    assert_eq!(reply.code(413), "tooLarge");
    let most = [JPEG, &vec![0; (16 << 20) - 3000][..]].concat();
    let reply = upload(&seller, 8, form(&[part("image", "image/jpeg", &most)])).await;
    assert_eq!(reply.status, StatusCode::ACCEPTED, "{:?}", reply.status);
}

#[tokio::test]
async fn an_item_has_only_so_many_images() {
    let site = Site::start().await;
    let seller = site.guest(20).await;
    for _ in 0..barograph_auction_api::MAX_IMAGES {
        let reply = upload(&seller, 8, form(&[part("image", "image/jpeg", JPEG)])).await;
        assert_eq!(reply.status, StatusCode::ACCEPTED);
    }
    let reply = upload(&seller, 8, form(&[part("image", "image/jpeg", JPEG)])).await;
    assert_eq!(reply.code(409), "tooManyImages");
}

#[tokio::test]
async fn a_public_picture_is_kept_by_who_has_it() {
    let site = Site::start().await;
    let first = site.ask(Method::GET, "/auction/image/12/preview", None).await;
    assert_eq!((first.status, &first.bytes[..]), (StatusCode::OK, &b"preview 12"[..]));
    assert_eq!(first.headers["cache-control"], "public, max-age=31536000, immutable");
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    for known in [tag.clone(), format!("\"other\", W/{tag}")] {
        let request = Request::get("/auction/image/12/preview").header("if-none-match", known);
        let again = ask(&site.router, request.body(Body::empty()).unwrap()).await;
        assert_eq!((again.status, again.bytes.len()), (StatusCode::NOT_MODIFIED, 0));
        assert_eq!(again.headers["etag"], tag.as_str());
    }
    let request = Request::get("/auction/image/12/full").header("if-none-match", &tag);
    let other = ask(&site.router, request.body(Body::empty()).unwrap()).await;
    assert_eq!(other.status, StatusCode::OK, "another size is another picture");
    let none = site.ask(Method::GET, "/auction/image/77/full", None).await;
    assert_eq!(none.code(404), "notFound");
    assert!(!none.headers.contains_key("cache-control"), "that there is none may change");
    assert_eq!(site.ask(Method::GET, "/auction/image/12/huge", None).await.code(400), "badRequest");
    assert_eq!(site.ask(Method::GET, "/auction/image/x/full", None).await.code(400), "badRequest");
}

/// Nothing here takes a second, except on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn pages_of_an_auction_are_old_on_all_nodes_when_an_image_is_added() {
    let (site, (neighbour, mut heard)) = Site::beside().await;
    let (seller, guest) = (site.guest(20).await, site.guest(1).await);
    let images = async || {
        let page = guest.get("/auction/item/auction/1").await.json();
        page["items"][0]["images"].as_array().unwrap().len()
    };
    assert_eq!(images().await, 2);
    let row = ImageRow { id: 99, item_id: 1, number: 2, sizes: codes::image::FULL, created_ms: 0 };
    site.app.events.add_image(row).await.unwrap();
    assert_eq!(images().await, 2, "pages are kept");
    let changed = Message::ItemChanged { item: ItemId(1), auction: Some(AuctionId(1)) };
    neighbour.send(Recipient::All, changed.bytes()).unwrap();
    let told = async {
        while images().await != 3 {
            tokio::task::yield_now().await;
        }
        // The neighbour receives its own message too, then the one about the site's own upload.
        assert_eq!(upload(&seller, 1, form(&[part("image", "image/jpeg", JPEG)])).await.status.as_u16(), 202);
        for _ in 0..2 {
            loop {
                let Some(BusEvent::Message(said)) = heard.recv().await else { continue };
                if Message::read(&said.body).as_ref() == Some(&changed) {
                    break;
                }
            }
        }
    };
    timeout(PATIENCE, told).await.unwrap();
    assert_eq!(images().await, 4);
}

#[tokio::test(start_paused = true)]
async fn a_picture_in_the_write_queue_of_another_node_is_waited_for() {
    // The wait has a limit, which must not be reached while a busy machine writes the picture.
    let _hold = TimeHold::time();
    let (site, _neighbour) = Site::beside().await;
    let id = site.app.ids.next();
    let (router, path) = (site.router.clone(), format!("/auction/image/{id}/full"));
    let shown =
        tokio::spawn(async move { ask(&router, Request::get(path).body(Body::empty()).unwrap()).await });
    let deadline = std::time::Instant::now() + PATIENCE;
    while WAITERS.available_permits() == LATE {
        assert!(std::time::Instant::now() < deadline, "nobody waits for the picture");
        tokio::task::yield_now().await;
    }
    let images = config(site.dir.path(), 1).images;
    let other = Pictures::open(&images, Limits::default()).await.unwrap();
    other.put(ImageId(id), Bytes::from_static(JPEG)).unwrap();
    other.flush().await;
    advance(LATE_PAUSE).await;
    let shown = shown.await.unwrap();
    assert_eq!((shown.status, &shown.bytes[..]), (StatusCode::OK, JPEG));
    // A picture of a fill exists or not, regardless of other nodes.
    assert_eq!(site.ask(Method::GET, "/auction/image/77/full", None).await.code(404), "notFound");
    resume();
    let never = site.ask(Method::GET, &format!("/auction/image/{}/full", site.app.ids.next()), None).await;
    assert_eq!(never.code(404), "notFound");
}
