//! Loading by COPY.

use std::fmt::Write as _;
use std::pin::pin;

use barograph_auction_store::{EventBatch, Loading, StoreError, StoreFuture};
use bytes::Bytes;
use futures::SinkExt;

use super::link::{Link, bulk, failed, write};
use super::{schema, text};
use crate::documents::{AttendanceDocument, BidDocument, ImageDocument};

/// Bytes of text gathered before they are sent: large enough that the number of messages costs nothing.
const PIECE_BYTES: usize = 256 * 1024;

/// A store being loaded.
pub(crate) struct Load {
    link: Link,
}

impl Load {
    pub(crate) async fn start(url: &str) -> Result<Self, StoreError> {
        let link = Link::new(url, 1)?;
        let lease = link.lease(write("be loaded")).await?;
        lease.batch(bulk(write("empty itself")), schema::EMPTY).await?;
        lease.give_back();
        Ok(Self { link })
    }

    async fn take(&self, batch: EventBatch) -> Result<(), StoreError> {
        let bids = batch.bids.iter().map(|row| {
            let keys = [row.bidder_id, row.bid_ms, row.id, row.auction_id];
            Ok((keys, text(&BidDocument::of(row))?))
        });
        self.copy("COPY auction_events.bid (bidder, ms, id, auction, doc) FROM STDIN", bids).await?;
        let attendance = batch.attendance.iter().map(|row| {
            let keys = [row.user_id, row.record_ms, row.id, row.auction_id];
            Ok((keys, text(&AttendanceDocument::of(row))?))
        });
        self.copy("COPY auction_events.attendance (user_id, ms, id, auction, doc) FROM STDIN", attendance)
            .await?;
        let images = batch
            .images
            .iter()
            .map(|row| Ok(([row.item_id, row.number, row.id], text(&ImageDocument::of(row))?)));
        self.copy("COPY auction_events.image (item, number, id, doc) FROM STDIN", images).await
    }

    /// Sends rows of numbers and a document in the text form of COPY.
    async fn copy<const KEYS: usize>(
        &self,
        sql: &str,
        rows: impl ExactSizeIterator<Item = Result<([i64; KEYS], String), StoreError>> + Send,
    ) -> Result<(), StoreError> {
        if rows.len() == 0 {
            return Ok(());
        }
        let deed = bulk(write("take rows"));
        let lease = self.link.lease(deed).await?;
        let sent = async {
            let sink = lease.client().copy_in(sql).await.map_err(|error| failed(deed, error))?;
            let mut sink = pin!(sink);
            let mut piece = String::with_capacity(PIECE_BYTES * 2);
            for row in rows {
                let (keys, document) = row?;
                push_line(&mut piece, &keys, &document);
                if piece.len() >= PIECE_BYTES {
                    let full = Bytes::from(std::mem::take(&mut piece).into_bytes());
                    sink.send(full).await.map_err(|error| failed(deed, error))?;
                }
            }
            sink.send(Bytes::from(piece.into_bytes())).await.map_err(|error| failed(deed, error))?;
            sink.as_mut().finish().await.map_err(|error| failed(deed, error))
        };
        deed.within(sent).await?;
        lease.give_back();
        Ok(())
    }

    async fn complete(&self, stamp: &str) -> Result<(), StoreError> {
        let lease = self.link.lease(write("finish the loading")).await?;
        for statement in schema::FINISH {
            lease.batch(bulk(write("finish the loading")), statement).await?;
        }
        lease.execute(write("remember what was loaded"), schema::STAMP, &[&stamp]).await?;
        lease.give_back();
        Ok(())
    }
}

/// Appends one line of COPY's text form. JSON texts hold no line breaks and no tabs, but backslashes, which
/// are escaped for COPY.
fn push_line(out: &mut String, keys: &[i64], document: &str) {
    for key in keys {
        write!(out, "{key}\t").expect("writing to a string does not fail");
    }
    for part in document.split_inclusive('\\') {
        out.push_str(part);
        if part.ends_with('\\') {
            out.push('\\');
        }
    }
    out.push('\n');
}

impl Loading<EventBatch> for Load {
    fn add(&mut self, batch: EventBatch) -> StoreFuture<'_, ()> {
        Box::pin(self.take(batch))
    }

    fn finish<'a>(self: Box<Self>, stamp: &'a str) -> StoreFuture<'a, ()>
    where
        Self: 'a,
    {
        Box::pin(async move { self.complete(stamp).await })
    }
}
