//! WebSockets.

use barograph_http::{Connections, Fault, Message, Method, Options, Protocol, Request, Tls, WebSocket};
use barograph_testkit::{Authority, ListenOptions, Site, SiteProtocols};

use super::{failed, on_worker, user};

async fn open(connections: &Connections, path: &str) -> Result<WebSocket, Fault> {
    let path = format_args!("{path}");
    connections
        .websocket(&Request { method: Method::GET, path, headers: &[("x-token", "t")], body: None })
        .await
}

async fn talk(connections: &Connections) {
    let mut socket = open(connections, "/ws").await.unwrap();
    assert_eq!(socket.head().status, 101);
    let long = "ü".repeat(100_000);
    for text in ["hello", "", long.as_str()] {
        socket.send_text(text).await.unwrap();
        assert_eq!(socket.receive().await.unwrap(), Message::Text(text.to_owned()));
    }
    let bytes = Site::bytes(70_000);
    socket.send_binary(&bytes).await.unwrap();
    assert_eq!(socket.receive().await.unwrap(), Message::Binary(bytes));
    // The server pings, and reports when it has its answer.
    socket.send_text("!ping").await.unwrap();
    assert_eq!(socket.receive().await.unwrap(), Message::Text("ponged".to_owned()));
    socket.close().await.unwrap();
    assert!(matches!(failed(socket.receive().await), Fault::Broken(_)));
    assert!(matches!(failed(socket.send_text("late").await), Fault::Broken(_)));
}

#[test]
fn texts_bytes_and_pings_over_every_way() {
    let authority = Authority::new().unwrap();
    let plain = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let door = ListenOptions::v4().tls(authority.server().unwrap()).offering(&["h2", "http/1.1"]);
    let secured = Site::start(door, SiteProtocols::Either).unwrap();
    for site in [&plain, &secured] {
        for protocol in [Protocol::Http1, Protocol::Auto] {
            let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
            on_worker(async {
                talk(&user(&site.url("/"), &Options { protocol, tls, ..Options::default() })).await;
            });
        }
    }
}

#[test]
fn messages_of_the_server_come_in_order_and_then_its_goodbye() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &Options::default());
        let mut socket = open(&connections, "/ws/events/4/1").await.unwrap();
        let mut found = Vec::new();
        let end = loop {
            match socket.receive().await.unwrap() {
                Message::Text(text) => found.push(text),
                other => break other,
            }
        };
        assert_eq!(found.len(), 4);
        assert!(found.windows(2).all(|two| two[0] < two[1]), "{found:?}");
        assert!(matches!(end, Message::Closed { code: Some(1000), .. }), "{end:?}");
        let mut socket = open(&connections, "/ws").await.unwrap();
        socket.send_text("!close").await.unwrap();
        let goodbye = Message::Closed { code: Some(1001), reason: "bye".to_owned() };
        assert_eq!(socket.receive().await.unwrap(), goodbye);
    });
}

#[test]
fn a_cut_a_refusal_and_too_much_are_told_apart() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &Options { body_limit: 1_000, ..Options::default() });
        let mut socket = open(&connections, "/ws").await.unwrap();
        socket.send_text("!cut").await.unwrap();
        assert!(matches!(failed(socket.receive().await), Fault::Broken(_)));
        assert!(matches!(failed(open(&connections, "/status/403").await), Fault::Status(403)));
        let mut socket = open(&connections, "/ws").await.unwrap();
        socket.send_text(&"x".repeat(1_001)).await.unwrap();
        assert!(matches!(failed(socket.receive().await), Fault::TooLarge { limit: 1_000 }));
    });
}

#[test]
fn a_wait_that_is_dropped_loses_no_message() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    on_worker(async {
        let connections = user(&site.url("/"), &Options::default());
        let mut socket = open(&connections, "/ws/feed").await.unwrap();
        for n in 0..20 {
            assert!(futures::poll!(std::pin::pin!(socket.receive())).is_pending());
            site.publish(&n.to_string());
            assert_eq!(socket.receive().await.unwrap(), Message::Text(n.to_string()));
        }
    });
}
