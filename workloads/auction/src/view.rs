//! The parts of the application's answers that a user reads; the rest is skipped.

use barograph_auction_api::{BidUpdate, Cents, ImageSize, ItemState};
use serde::Deserialize;
use smallvec::SmallVec;

/// One page of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageView<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total_records: u64,
}

/// An auction in a list.
#[derive(Deserialize)]
pub(crate) struct AuctionView {
    pub(crate) id: i64,
}

/// A picture.
#[derive(Deserialize)]
pub(crate) struct ImageView {
    pub(crate) id: i64,
    pub(crate) sizes: SmallVec<[ImageSize; 3]>,
}

impl ImageView {
    pub(crate) fn has(&self, size: ImageSize) -> bool {
        self.sizes.contains(&size)
    }
}

/// An item.
#[derive(Deserialize)]
pub(crate) struct ItemView {
    pub(crate) id: i64,
    #[serde(rename = "state")]
    pub(crate) _state: ItemState,
    pub(crate) images: Vec<ImageView>,
}

/// A purchase.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PurchaseView {
    pub(crate) item_id: i64,
    pub(crate) images: Vec<ImageView>,
}

/// The answer to a sign-in.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoginView {
    pub(crate) user_id: i64,
    pub(crate) token: String,
    pub(crate) credit_cents: Cents,
}

/// The state of the bidding, read whole.
pub(crate) type BidView = BidUpdate;
