//! Server-Sent Events, long polls and WebSockets of the site.

use barograph_testkit::{Authority, ListenOptions, Site, SiteProtocols};
use futures::{SinkExt, StreamExt};
use http_body_util::BodyExt;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::{Error, protocol::frame::coding::CloseCode};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::client::{Client, Stream, block_on, plain, tls};

fn site() -> Site {
    Site::start(ListenOptions::v4(), SiteProtocols::Either).unwrap()
}

#[test]
fn events_come_in_order_and_end() {
    let site = site();
    block_on(async {
        for client in [
            Client::http1(plain(site.address()).await).await.unwrap(),
            Client::http2(plain(site.address()).await).await.unwrap(),
        ] {
            let got = client.get("/events/2/1").await.unwrap();
            assert_eq!(got.header("content-type"), Some("text/event-stream"));
            assert_eq!(
                got.text(),
                ": ticks\n\nid: 0\nevent: tick\ndata: {\"n\":0}\n\nid: 1\nevent: tick\ndata: {\"n\":1}\n\n"
            );
        }
    });
}

#[test]
fn a_feed_gives_what_is_published_while_it_is_open() {
    let site = site();
    site.publish("before");
    block_on(async {
        let client = Client::http1(plain(site.address()).await).await.unwrap();
        let mut body = client.send(client.request("GET", "/feed")).await.unwrap().into_body();
        assert_eq!((site.publish("two\nlines"), site.publish("last")), (2, 3));
        let wanted = ": news\n\nid: 2\ndata: two\ndata: lines\n\nid: 3\ndata: last\n\n";
        let mut text = String::new();
        while text.len() < wanted.len() {
            let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
            text.push_str(std::str::from_utf8(&frame).unwrap());
        }
        assert_eq!(text, wanted);
    });
}

#[test]
fn a_poll_gives_the_next_news_or_says_that_there_is_none() {
    let site = site();
    block_on(async {
        let client = Client::http1(plain(site.address()).await).await.unwrap();
        assert_eq!(client.get("/poll/1").await.unwrap().status, 204);
        site.publish("say \"hi\"\\\n");
        let got = client.get("/poll/20000?x=y&after=0").await.unwrap();
        assert_eq!(
            (got.text(), got.header("content-type")),
            (r#"{"n":1,"text":"say \"hi\"\\\n"}"#, Some("application/json"))
        );
        assert_eq!(client.get("/poll/1").await.unwrap().status, 204, "old news is no news");
    });
}

async fn websocket(stream: Stream, path: &str) -> WebSocketStream<Stream> {
    client_async(format!("ws://localhost{path}"), stream).await.unwrap().0
}

#[test]
fn a_websocket_echoes_pings_closes_and_breaks() {
    let authority = Authority::new().unwrap();
    let covered =
        Site::start(ListenOptions::unix().tls(authority.server().unwrap()), SiteProtocols::Http1).unwrap();
    let clear = site();
    block_on(async {
        let streams =
            [plain(clear.address()).await, tls(covered.address(), &authority, &[]).await.unwrap().0];
        for stream in streams {
            let mut socket = websocket(stream, "/ws").await;
            for message in [Message::text("hello"), Message::binary(Site::bytes(100_000))] {
                socket.send(message.clone()).await.unwrap();
                assert_eq!(socket.next().await.unwrap().unwrap(), message);
            }
            socket.send("!ping".into()).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::Ping("are you there".into()));
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("ponged"));
            socket.send(Message::Ping("you?".into())).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("you?".into()));
            socket.send("!close".into()).await.unwrap();
            let Some(Ok(Message::Close(Some(frame)))) = socket.next().await else { panic!("no close") };
            assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Away, "bye"));
            assert!(socket.next().await.is_none());
        }
        let mut socket = websocket(plain(clear.address()).await, "/ws").await;
        socket.send("!cut".into()).await.unwrap();
        assert!(matches!(socket.next().await, Some(Err(Error::Protocol(_) | Error::Io(_)))));
    });
}

#[test]
fn a_websocket_brings_counted_messages_and_news() {
    let site = site();
    block_on(async {
        let mut socket = websocket(plain(site.address()).await, "/ws/events/3/1").await;
        for n in 0..3 {
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(format!("{{\"n\":{n}}}")));
        }
        let Some(Ok(Message::Close(Some(frame)))) = socket.next().await else { panic!("no close") };
        assert_eq!(frame.code, CloseCode::Normal);

        let mut socket = websocket(plain(site.address()).await, "/ws/feed").await;
        site.publish("one");
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("one"));
        socket.send(Message::Ping("x".into())).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::Pong("x".into()));
        let other = Client::http1(plain(site.address()).await).await.unwrap();
        assert_eq!(other.get("/ws").await.unwrap().status, 400, "a plain GET is no beginning of a WebSocket");
    });
}
