//! What nodes tell each other over the bus. Nothing of it need arrive: states are announced again, and what counts is in
//! the stores.

use barograph_auction_api::{AuctionId, BidState, BidUpdate, Cents, ItemId, UserId};
use barograph_auction_rules::Bidding;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A message between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(crate) enum Message {
    /// To an auction's owner: somebody bids.
    Bid(Bid),
    /// To an auction's owner: somebody watches.
    Wake {
        /// The auction.
        auction: AuctionId,
    },
    /// To all: the state of the bidding, after a change or as a reminder.
    State {
        /// Counts the listings of the auction.
        round: i64,
        /// The bidding.
        bidding: BidUpdate,
    },
    /// To all: a node owns these auctions, each under its fence.
    Owned {
        /// The node.
        node: String,
        /// The auctions.
        auctions: Vec<(AuctionId, i64)>,
    },
    /// To all: tell me your states, I may have missed some.
    Ask {
        /// Who asks.
        node: String,
    },
    /// To all: look at the register, something has changed in it.
    Look,
    /// To all: something that should have been said could not be; forget what may have changed.
    Forget,
    /// To all: this session is over.
    SessionEnded {
        /// Its token as 32 hexadecimal digits.
        token: String,
    },
    /// To all: an item, or its images, have changed.
    ItemChanged {
        /// The item.
        item: ItemId,
        /// The auction that lists it, whose pages show what it was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auction: Option<AuctionId>,
    },
}

/// A bid on its way to the owner of its auction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bid {
    /// In which auction.
    pub(crate) auction: AuctionId,
    /// For which item.
    pub(crate) item: ItemId,
    /// Who bids.
    pub(crate) bidder: UserId,
    /// How much, in cents.
    pub(crate) amount: Cents,
    /// The bidder's credit as the store has it, in cents.
    pub(crate) credit: Cents,
    /// Whether a node that thought it knew the owner has sent it on already: it is not sent on twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) sent_on: bool,
}

impl Message {
    /// As bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("numbers, names and lists serialise"))
    }

    /// From bytes; `None` for what no node of this version says.
    pub(crate) fn read(bytes: &[u8]) -> Option<Message> {
        serde_json::from_slice(bytes).ok()
    }
}

/// A state on the wire as the rules have it.
pub(crate) fn bidding(update: &BidUpdate) -> Bidding {
    Bidding {
        item: update.item_id,
        bidder: update.bidder_id,
        amount: update.amount_cents,
        sequence: update.sequence,
        state: update.state,
    }
}

/// Whether a change to this state changes what is served of the item itself: it came on sale, or its bidding ended.
pub(crate) fn moves_item(bidding: &Bidding) -> bool {
    bidding.sequence == 1 || matches!(bidding.state, BidState::Sold | BidState::NotSold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_back() {
        let bid = Bid {
            auction: AuctionId(1),
            item: ItemId(2),
            bidder: UserId(3),
            amount: 400,
            credit: 500,
            sent_on: false,
        };
        let all = [
            Message::Bid(bid),
            Message::Bid(Bid { sent_on: true, ..bid }),
            Message::Owned { node: "a".to_owned(), auctions: vec![(AuctionId(1), 7)] },
            Message::Look,
            Message::ItemChanged { item: ItemId(1), auction: None },
            Message::ItemChanged { item: ItemId(1), auction: Some(AuctionId(2)) },
        ];
        for message in all {
            assert_eq!(Message::read(&message.bytes()), Some(message));
        }
        assert_eq!(Message::read(b"{\"is\":\"unheardOf\"}"), None);
    }
}
