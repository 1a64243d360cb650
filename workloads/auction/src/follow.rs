//! Following an auction: the item on sale, and news of its bidding by long polls or from a stream of events.
//!
//! Both ways perform the same two operations and see the same states. A follower over a stream opens it with
//! its first wait and keeps it while the items of the auction change; it is closed with the session. A stream
//! that ends, breaks or times out is a failed operation; the follower then looks at the current item and
//! opens another.

use std::rc::Rc;

use barograph_auction_api::{BidState, BidUpdate, ImageSize, TOKEN_HEADER};
use barograph_engine::OpContext;
use barograph_http::{Event, Fault, Method, Request};
use barograph_model::Outcome;

use crate::act::{OperationFailure, OperationResult, Pictures, expect, first_picture, read, refused};
use crate::state::FollowedAuction;
use crate::transport::Feed;
use crate::view::{BidView, ItemView};
use crate::{AuctionUser, Line};

#[cfg(test)]
mod tests;

/// Source of news of the bidding in followed auctions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BidUpdates {
    /// Successive long polls.
    Polled,
    /// One stream of Server-Sent Events per auction.
    Pushed,
}

/// Most known states in a row from a stream. Many may arrive while the follower looks at the current item:
/// some hundred a second in the most popular auction, for the seconds of a slow application. More are no
/// stream of news, and reading them would keep other users waiting.
const MOST_KNOWN_STATES: u32 = 10_000;

/// Event kind of a state of the bidding.
const BID: &str = "bid";
/// Event kind of the farewell.
const STOPPING: &str = "stopping";

/// A state of the bidding from a stream.
struct StreamState {
    /// Number of the listing within the auction: an item that went back to the list comes on sale in another
    /// round.
    round: i64,
    state: BidUpdate,
}

/// Parses an event; `None` for a kind unknown to this driver.
fn told(event: &Event<'_>) -> OperationResult<Option<StreamState>> {
    match event.name {
        BID => {}
        STOPPING => return Err(OperationFailure(Outcome::Refused)),
        _ => return Ok(None),
    }
    let wrong = OperationFailure(Outcome::WrongAnswer);
    let round = event.id.split_once('-').and_then(|(round, _)| round.parse().ok());
    match (round, serde_json::from_str(event.data)) {
        (Some(round), Ok(state)) => Ok(Some(StreamState { round, state })),
        _ => Err(wrong),
    }
}

impl FollowedAuction {
    /// Records a state from a stream. `None` if it is not news: the follower saw it, or a later one, when it
    /// looked at the item. A new listing is news, but only a look at the current item shows its contents. A
    /// look takes less time than an item is on sale, so no listing can have come and gone since the last
    /// received state.
    fn hear(&mut self, told: &StreamState) -> Option<BidUpdate> {
        let seen = &self.seen;
        let is_same =
            told.state.item_id == seen.item_id && self.round.is_none_or(|round| round == told.round);
        if !is_same {
            return Some(BidUpdate { state: BidState::ItemNotActive, ..*seen });
        }
        self.round = Some(told.round);
        (told.state.sequence > seen.sequence).then_some(told.state)
    }
}

impl<L: Line> AuctionUser<L> {
    /// The item on sale, the state of its bidding, its thumbnail.
    pub(crate) async fn look_at_item(
        &self,
        context: &mut OpContext,
        auction: i64,
    ) -> OperationResult<BidUpdate> {
        let item: ItemView =
            read(&self.get(context, format_args!("/auction/item/current/auction/{auction}")).await?)?;
        let path = format_args!("/auction/bid/auction/{auction}/item/{}/count/0", item.id);
        let seen: BidView = read(&self.get(context, path).await?)?;
        let thumbnail: Pictures =
            first_picture(item.id, &item.images, ImageSize::Thumbnail).into_iter().collect();
        drop(item);
        self.pictures(context, &thumbnail, ImageSize::Thumbnail).await?;
        Ok(seen)
    }

    pub(crate) async fn current_item(&self, context: &mut OpContext) -> OperationResult {
        let auction = i64::from(context.argument);
        // Put back only on success: without the item, the next event of the stream is meaningless, while the
        // first event of a new stream gives the state of the bidding.
        let feed = self.take_feed(auction);
        let seen = self.look_at_item(context, auction).await?;
        self.saw(auction, seen);
        self.with(|s| {
            if let Some(followed) = s.follow(auction) {
                followed.round = None;
            }
        });
        if let Some(feed) = feed {
            self.keep_feed(auction, feed);
        }
        Ok(())
    }

    /// The next state, by long poll.
    pub(crate) async fn poll_next_bid(&self, context: &mut OpContext) -> OperationResult {
        let (auction, seen) = self.followed_in(context)?;
        let path =
            format_args!("/auction/bid/auction/{auction}/item/{}/count/{}", seen.item_id, seen.sequence);
        context.sent();
        let sent = {
            let token = self.with(|s| Rc::clone(&s.token));
            let headers = &[(TOKEN_HEADER, &*token)];
            self.line.send(&Request { method: Method::GET, path, headers, body: None })
        };
        let answer = sent.await?;
        if answer.status == 408 {
            return Err(OperationFailure(Outcome::Expired));
        }
        expect(&answer, 200, context)?;
        let news: BidView = read(&answer)?;
        self.saw(auction, news);
        Ok(())
    }

    /// The next state, from the stream of the auction.
    pub(crate) async fn hear_next_bid(&self, context: &mut OpContext) -> OperationResult {
        let (auction, _) = self.followed_in(context)?;
        let mut feed = match self.take_feed(auction) {
            Some(feed) => feed,
            None => Box::pin(self.open_feed(context, auction)).await?,
        };
        for _ in 0..MOST_KNOWN_STATES {
            let event = feed.next().await?.ok_or(OperationFailure(Outcome::Broken))?;
            let Some(told) = told(&event)? else { continue };
            let news = self.with(|s| s.follow(auction).and_then(|followed| followed.hear(&told)));
            if let Some(news) = news {
                self.saw(auction, news);
                self.keep_feed(auction, feed);
                return Ok(());
            }
        }
        Err(OperationFailure(Outcome::WrongAnswer))
    }

    /// The auction of this follower, and its bidding as last seen.
    fn followed_in(&self, context: &mut OpContext) -> OperationResult<(i64, BidUpdate)> {
        let auction = i64::from(context.argument);
        let seen = self.with(|s| s.follow(auction).map(|f| f.seen));
        // The session ended while this follower was between two operations.
        seen.map(|seen| (auction, seen)).ok_or_else(|| {
            context.end();
            OperationFailure(Outcome::Cancelled)
        })
    }

    async fn open_feed(&self, context: &mut OpContext, auction: i64) -> OperationResult<L::Feed> {
        context.sent();
        let opening = {
            let token = self.with(|s| Rc::clone(&s.token));
            self.line.events(&Request {
                method: Method::GET,
                path: format_args!("/auction/bid/auction/{auction}/events"),
                headers: &[("accept", "text/event-stream"), (TOKEN_HEADER, &token)],
                body: None,
            })
        };
        match opening.await {
            Err(Fault::Status(status)) => Err(refused(status, context)),
            other => Ok(other?),
        }
    }

    /// Whether the auction's stream is open, between two waits on it.
    pub(crate) fn has_feed(&self, auction: i64) -> bool {
        self.feeds.borrow().iter().any(|(of, _)| *of == auction)
    }

    /// Takes the auction's stream out. It is closed if it is not put back.
    fn take_feed(&self, auction: i64) -> Option<L::Feed> {
        let mut feeds = self.feeds.borrow_mut();
        let at = feeds.iter().position(|(of, _)| *of == auction)?;
        Some(feeds.swap_remove(at).1)
    }

    fn keep_feed(&self, auction: i64, feed: L::Feed) {
        if self.with(|s| s.follow(auction).is_some()) {
            self.feeds.borrow_mut().push((auction, feed));
        }
    }
}
