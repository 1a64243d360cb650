//! Malformed requests to any resource are refused with a 4xx of the contract.

use axum::http::{Method, Request};

use super::*;

async fn send(site: &Site, token: &str, kind: &str, path: &str, body: Vec<u8>) -> Reply {
    let request = Request::builder().method(Method::POST).uri(path).header(TOKEN_HEADER, token);
    ask(&site.router, request.header("content-type", kind).body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn bodies_that_are_none_are_refused() {
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let json = "application/json";
    let deep = [vec![b'['; 30_000], vec![b']'; 30_000]].concat();
    for path in ["/auction/login", "/auction/bid", "/auction/item", "/auction/user", "/auction/live/auction"]
    {
        for body in [&b"{"[..], b"", b"\xff\xfe\x00", b"null", b"[true]", b"{\"userId\":\"x\"}", &deep] {
            let reply = send(&site, &guest.token, json, path, body.to_vec()).await;
            assert_eq!(reply.code(400), "badRequest", "{path}");
        }
        let plain = send(&site, &guest.token, "text/plain", path, b"{}".to_vec()).await;
        assert_eq!(plain.code(415), "notJson");
        let large = send(&site, &guest.token, json, path, vec![b' '; 65 * 1024]).await;
        assert_eq!(large.code(413), "tooLarge");
    }
}

#[tokio::test]
async fn paths_queries_and_tokens_that_are_none_are_refused() {
    let site = Site::start().await;
    let guest = site.guest(1).await;
    for path in [
        "/auction/user/abc",
        "/auction/auction/99999999999999999999",
        "/auction/bid/auction/1/item/1/count/-1",
        "/auction/live/auction?pageSize=0",
        "/auction/live/auction?pageSize=101",
        "/auction/live/auction?page=-1",
        "/auction/item/user/1/purchased?fromDate=yesterday",
        "/auction/item/1/image/11",
    ] {
        assert_eq!(guest.get(path).await.code(400), "badRequest", "{path}");
    }
    assert_eq!(guest.get("/auction/nothing/here").await.code(404), "notFound");
    assert_eq!(guest.get("/elsewhere").await.code(404), "notFound");
    assert_eq!(guest.get("/auction/auction/-1").await.code(404), "notFound");
    for token in ["", "x", "00000000-0000-0000-0000-000000000000", "' OR 1=1 --"] {
        let request = request(Method::GET, "/auction/user/1", Some(token), None);
        assert_eq!(ask(&site.router, request).await.code(401), "unauthorized", "{token}");
    }
}
