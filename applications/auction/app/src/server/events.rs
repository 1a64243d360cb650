//! The bidding of an auction as server-sent events, pushed instead of polled.
//!
//! A stream belongs to the task of its connection: a change wakes it once, and the text of the event is made
//! once for all followers. A follower that reads slowly misses intermediate states, never the end of an
//! item's bidding nor the latest state; nothing is queued for it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use barograph_auction_api::AuctionId;
use bytes::Bytes;
use futures::stream;
use tokio::sync::watch::Receiver;
use tokio::time::timeout;

use super::bids::{wake, watch};
use super::error::ApiError;
use super::extract::{Caller, PathParts};
use crate::app::App;
use crate::channels::{ChannelState, FollowGuard, StateNumber};

/// Longest silence of a stream: proxies drop silent connections, often after a minute.
const SILENCE: Duration = Duration::from_secs(15);

/// A comment line, without content.
const STILL_THERE: Bytes = Bytes::from_static(b": no change\n\n");

/// The last event of a stream that the node ends.
const STOPPING: Bytes = Bytes::from_static(b"event: stopping\ndata: {}\n\n");

/// Id of the last event seen, sent by a browser that reconnects.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Makes nginx pass events on without buffering.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");

/// `GET /bid/auction/{auctionId}/events`
pub(crate) async fn follow(
    State(app): State<Arc<App>>,
    _: Caller,
    PathParts(id): PathParts<i64>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = AuctionId(id);
    let channel = watch(&app, id).await?;
    wake(&app, id, &channel)?;
    let seen = headers.get(LAST_EVENT).and_then(|value| seen(value.to_str().ok()?));
    let watch = channel.subscribe();
    if watch.borrow().is_stopping() {
        return Err(ApiError::stopping());
    }
    // A client that has missed nothing, or that sends an impossible id, gets the present state as well.
    let seen = seen.filter(|seen| watch.borrow().unseen(Some(*seen)).next().is_some());
    let follower = Follower { watch, seen, next: None, state: Flow::On, _following: app.channels.follow() };
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.event().await?;
        Some((Ok::<_, std::convert::Infallible>(event), follower))
    });
    let mut response = Response::new(Body::from_stream(events));
    for (name, value) in [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store"), (NO_BUFFER, "no")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Parses an event's id, `ROUND-SEQUENCE`.
fn seen(id: &str) -> Option<StateNumber> {
    let (round, sequence) = id.trim().split_once('-')?;
    Some((round.parse().ok()?, sequence.parse().ok()?))
}

/// Whether a stream continues.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Over,
}

/// A follower of an auction.
struct Follower {
    watch: Receiver<ChannelState>,
    /// The last state sent; `None` before the first.
    seen: Option<StateNumber>,
    /// An event that follows directly on the last one.
    next: Option<(StateNumber, Bytes)>,
    state: Flow,
    _following: FollowGuard,
}

impl Follower {
    /// Returns the next event; `None` after the last.
    async fn event(&mut self) -> Option<Bytes> {
        if self.state == Flow::Over {
            return None;
        }
        if let Some((seen, event)) = self.next.take() {
            self.seen = Some(seen);
            return Some(event);
        }
        loop {
            match timeout(SILENCE, self.watch.changed()).await {
                Err(_) => return Some(STILL_THERE),
                Ok(Err(_)) => return self.stop(),
                Ok(Ok(())) => {}
            }
            let mut unseen = {
                let now = self.watch.borrow_and_update();
                if now.is_stopping() {
                    drop(now);
                    return self.stop();
                }
                now.unseen(self.seen)
            };
            // A repeated state is not sent.
            let Some((seen, event)) = unseen.next() else { continue };
            (self.seen, self.next) = (Some(seen), unseen.next());
            return Some(event);
        }
    }

    fn stop(&mut self) -> Option<Bytes> {
        self.state = Flow::Over;
        Some(STOPPING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_events_are_read() {
        assert_eq!(seen("12-7"), Some((12, 7)));
        assert_eq!(seen(" 12-7 "), Some((12, 7)));
        for none in ["", "12", "-", "a-b", "1-99999999999", "1-2-3"] {
            assert_eq!(seen(none), None, "{none}");
        }
    }
}
