//! Bids as server-sent events.

use std::time::Duration;

use axum::body::BodyDataStream;
use axum::http::StatusCode;
use barograph_auction_api::BidUpdate;
use futures::StreamExt;
use tokio::time::advance;

use super::*;

/// A stream of events, read one by one.
struct Stream(BodyDataStream);

impl Stream {
    async fn open(guest: &Guest, auction: i64, last: Option<&str>) -> Stream {
        let path = format!("/auction/bid/auction/{auction}/events");
        let mut request = request(Method::GET, &path, Some(&guest.token), None);
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        let response = guest.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Stream(response.into_body().into_data_stream())
    }

    /// The next piece of text; `None` at the end.
    async fn text(&mut self) -> Option<String> {
        let piece = self.0.next().await?.unwrap();
        Some(String::from_utf8(piece.to_vec()).unwrap())
    }

    /// The next bid: its id and the state.
    async fn bid(&mut self) -> (String, BidUpdate) {
        let text = self.text().await.unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        let [event, id, data, "", ""] = lines[..] else { panic!("{text:?}") };
        assert_eq!(event, "event: bid");
        let update = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        (id.strip_prefix("id: ").unwrap().to_owned(), update)
    }

    /// Id and amount of the next bid.
    async fn amount(&mut self) -> (String, i64) {
        let (id, update) = self.bid().await;
        (id, update.amount_cents)
    }
}

const IDLE: Duration = Duration::from_millis(30_000);

#[tokio::test(start_paused = true)]
async fn a_follower_is_told_the_state_at_once_and_every_change() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let (one, two) = (site.guest(1).await, site.guest(2).await);
    let mut stream = Stream::open(&one, 1, None).await;
    assert_eq!(stream.amount().await, ("1-7".to_owned(), 20_000));
    for (id, amount) in [("1-8", 20_100), ("1-9", 20_200)] {
        two.bid(1, 1, amount).await;
        assert_eq!(stream.amount().await, (id.to_owned(), amount));
    }
    let polled = one.poll(1, 1, 0).await;
    let mut again = Stream::open(&one, 1, None).await;
    assert_eq!(serde_json::to_vec(&again.bid().await.1).unwrap(), polled.bytes, "the same text as a poll's");
    assert_eq!(site.app.channels.counts().followers, 2);
    drop((stream, again));
    assert_eq!(site.app.channels.counts().followers, 0);
    assert_eq!(one.get("/auction/bid/auction/3/events").await.code(410), "auctionComplete");
    assert_eq!(one.get("/auction/bid/auction/4/events").await.code(410), "auctionNotTracked");
    assert_eq!(one.get("/auction/bid/auction/9/events").await.code(404), "notFound");
    let anybody = site.ask(Method::GET, "/auction/bid/auction/1/events", None).await;
    assert_eq!(anybody.code(401), "unauthorized");
}

#[tokio::test(start_paused = true)]
async fn following_is_watching_and_a_sale_is_told_before_the_next_item() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let mut stream = Stream::open(&guest, 1, None).await;
    stream.bid().await;
    settle().await;
    let state = async |stream: &mut Stream| {
        loop {
            let text = stream.text().await.unwrap();
            // A silent time may end between two changes.
            if !text.starts_with(':') {
                let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap().to_owned();
                let update: Value = serde_json::from_str(&data).unwrap();
                return format!("{} {} {}", update["itemId"], update["sequence"], update["state"]);
            }
        }
    };
    advance(IDLE).await;
    assert_eq!(state(&mut stream).await, "1 8 \"lastCall\"");
    settle().await;
    advance(IDLE).await;
    assert_eq!(state(&mut stream).await, "1 9 \"sold\"");
    assert_eq!(state(&mut stream).await, "2 1 \"open\"");
    // A client that reconnects receives the sale that it missed.
    let mut late = Stream::open(&guest, 1, Some("1-8")).await;
    assert_eq!(state(&mut late).await, "1 9 \"sold\"");
    assert_eq!(state(&mut late).await, "2 1 \"open\"");
    for last in ["2-1", "9-9", "nonsense"] {
        let mut again = Stream::open(&guest, 1, Some(last)).await;
        assert_eq!(state(&mut again).await, "2 1 \"open\"", "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_every_15_s_that_it_is_there_and_ends_with_the_node() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let mut stream = Stream::open(&guest, 2, None).await;
    stream.bid().await;
    let mut next = tokio::spawn(async move {
        let text = stream.text().await;
        (text, stream)
    });
    settle().await;
    advance(Duration::from_millis(14_990)).await;
    settle().await;
    assert!(!next.is_finished());
    advance(Duration::from_millis(20)).await;
    let (text, mut stream) = (&mut next).await.unwrap();
    assert_eq!(text.as_deref(), Some(": no change\n\n"));
    site.app.channels.stop();
    assert_eq!(stream.text().await.as_deref(), Some("event: stopping\ndata: {}\n\n"));
    assert_eq!(stream.text().await, None);
}

#[tokio::test(start_paused = true)]
async fn many_followers_are_told_the_same() {
    let _hold = TimeHold::time();
    let site = Site::start().await;
    let guest = site.guest(1).await;
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut stream = Stream::open(&guest, 1, None).await;
        stream.bid().await;
        streams.push(stream);
    }
    guest.bid(1, 1, 20_500).await;
    for stream in &mut streams {
        assert_eq!(stream.amount().await, ("1-8".to_owned(), 20_500));
    }
}
