//! Messages between nodes over the bus. Any of them may be lost: states are announced again, and all lasting
//! data are in the stores.

use barograph_auction_api::{AuctionId, BidState, BidUpdate, Cents, ItemId, UserId};
use barograph_auction_rules::Bidding;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A message between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub(crate) enum Message {
    /// To an auction's owner: a bid.
    Bid(Bid),
    /// To an auction's owner: the auction has a follower.
    Wake {
        /// The auction.
        auction: AuctionId,
    },
    /// To all: the state of the bidding, after a change or as a reminder.
    State {
        /// Number of the listing within the auction.
        round: i64,
        /// The bidding.
        bidding: BidUpdate,
    },
    /// To all: ownership of auctions, each with its fence.
    Owned {
        /// The node.
        node: String,
        /// The auctions.
        auctions: Vec<(AuctionId, i64)>,
    },
    /// To all: a request for their states, after a possible loss of messages.
    Ask {
        /// The requesting node.
        node: String,
    },
    /// To all: the register has changed.
    Look,
    /// To all: a message could not be sent; drop everything that may have changed.
    Forget,
    /// To all: a session has ended.
    SessionEnded {
        /// Its token as 32 hexadecimal digits.
        token: String,
    },
    /// To all: an item or its images have changed.
    ItemChanged {
        /// The item.
        item: ItemId,
        /// The auction that lists it, whose pages are outdated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        auction: Option<AuctionId>,
    },
}

/// A bid on its way to the owner of its auction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bid {
    /// The auction.
    pub(crate) auction: AuctionId,
    /// The item.
    pub(crate) item: ItemId,
    /// The bidder.
    pub(crate) bidder: UserId,
    /// The amount, in cents.
    pub(crate) amount: Cents,
    /// The bidder's credit as the store has it, in cents.
    pub(crate) credit: Cents,
    /// Whether another node has forwarded it already: it is not forwarded twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) sent_on: bool,
}

impl Message {
    /// Encodes the message.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).expect("numbers, names and lists serialise"))
    }

    /// Decodes a message; `None` if no node of this version sends such bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Message> {
        serde_json::from_slice(bytes).ok()
    }
}

/// Converts a state from the wire to the rules.
pub(crate) fn bidding(update: &BidUpdate) -> Bidding {
    Bidding {
        item: update.item_id,
        bidder: update.bidder_id,
        amount: update.amount_cents,
        sequence: update.sequence,
        state: update.state,
    }
}

/// Whether a change to this state changes the item as served: it came on sale, or its bidding ended.
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
