//! Bodies: whole, in pieces, slow, with trailers, broken, endless.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::HeaderMap;
use hyper::header::HeaderValue;

use super::feed::Feed;

/// Body of any answer; its error cuts it short on purpose.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Most pieces between their producer and the connection.
const PIECES_UNDER_WAY: usize = 4;

/// The first `count` bytes of an endless text in which every byte follows from its position.
pub(super) fn known_bytes(count: usize) -> Vec<u8> {
    // 251 is prime: a lost or doubled piece of any size shows.
    (0..count).map(|i| (i % 251) as u8).collect()
}

pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// A body sent by a task piece by piece. A client that disconnects ends it at the next piece.
fn sent_by<F: Future<Output = Option<()>> + Send + 'static>(
    send: impl FnOnce(Sender<Bytes, io::Error>) -> F,
) -> Body {
    let (sender, body) = Channel::new(PIECES_UNDER_WAY);
    tokio::spawn(send(sender));
    body.boxed_unsync()
}

async fn piece(sender: &mut Sender<Bytes, io::Error>, bytes: impl Into<Bytes>) -> Option<()> {
    sender.send_data(bytes.into()).await.ok()
}

/// Known bytes in pieces of `size`, with a pause between two.
pub(super) fn pieces(count: usize, size: usize, pause: Duration) -> Body {
    sent_by(move |mut sender| async move {
        for (i, bytes) in known_bytes(count).chunks(size.max(1)).enumerate() {
            if i > 0 && !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            piece(&mut sender, bytes.to_vec()).await?;
        }
        Some(())
    })
}

/// Two pieces and a trailer.
pub(super) fn with_trailers() -> Body {
    sent_by(|mut sender| async move {
        piece(&mut sender, "with ").await?;
        piece(&mut sender, "trailers").await?;
        let trailers = HeaderMap::from_iter([("x-end".parse().ok()?, HeaderValue::from_static("yes"))]);
        sender.send_trailers(trailers).await.ok()
    })
}

/// Ten bytes, then a break.
pub(super) fn broken() -> Body {
    sent_by(|mut sender| async move {
        piece(&mut sender, known_bytes(10)).await?;
        // The bytes must be on their way before the break, which would otherwise overtake them.
        tokio::task::yield_now().await;
        sender.abort(io::Error::other("broken on purpose"));
        Some(())
    })
}

/// Server-Sent Events that count from 0, with a pause between two, then the end.
pub(super) fn ticks(count: u64, pause: Duration) -> Body {
    sent_by(move |mut sender| async move {
        piece(&mut sender, ": ticks\n\n").await?;
        for n in 0..count {
            if n > 0 && !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            piece(&mut sender, format!("id: {n}\nevent: tick\ndata: {{\"n\":{n}}}\n\n")).await?;
        }
        Some(())
    })
}

/// Server-Sent Events of everything published after number `after`, until the client disconnects.
pub(super) fn news(feed: Arc<Feed>, mut after: usize) -> Body {
    sent_by(move |mut sender| async move {
        piece(&mut sender, ": news\n\n").await?;
        loop {
            let (n, text) = feed.next(after).await;
            after = n;
            let data: String = text.split('\n').map(|line| format!("data: {line}\n")).collect();
            piece(&mut sender, format!("id: {n}\n{data}\n")).await?;
        }
    })
}
