//! The operations, in the order of their published numbers.

use barograph_model::{OpId, OpSpec};

/// Fetches the start page.
pub const HOME_PAGE: OpId = OpId(0);
/// Creates an account; in no mix.
pub const REGISTER: OpId = OpId(1);
/// Signs in and keeps the token.
pub const LOGIN: OpId = OpId(2);
/// Looks for running auctions.
pub const GET_ACTIVE_AUCTIONS: OpId = OpId(3);
/// Looks at an auction and its first items.
pub const GET_AUCTION_DETAIL: OpId = OpId(4);
/// Looks at the user's own profile.
pub const GET_USER_PROFILE: OpId = OpId(5);
/// Changes the user's own profile; in no mix of this profile.
pub const UPDATE_USER_PROFILE: OpId = OpId(6);
/// Joins an auction and begins to follow it.
pub const JOIN_AUCTION: OpId = OpId(7);
/// Looks at the item on sale in a followed auction.
pub const GET_CURRENT_ITEM: OpId = OpId(8);
/// Waits for the next bid in a followed auction.
pub const GET_NEXT_BID: OpId = OpId(9);
/// Bids.
pub const PLACE_BID: OpId = OpId(10);
/// Leaves an auction; in no mix of this profile.
pub const LEAVE_AUCTION: OpId = OpId(11);
/// Looks at the user's own bids.
pub const GET_BID_HISTORY: OpId = OpId(12);
/// Looks at the auctions the user attended.
pub const GET_ATTENDANCE_HISTORY: OpId = OpId(13);
/// Looks at the user's purchases.
pub const GET_PURCHASE_HISTORY: OpId = OpId(14);
/// Looks at an item and its pictures.
pub const GET_ITEM_DETAIL: OpId = OpId(15);
/// Looks at a picture in full size.
pub const GET_IMAGE_FOR_ITEM: OpId = OpId(16);
/// Offers an item.
pub const ADD_ITEM: OpId = OpId(17);
/// Uploads a picture; in no mix of this profile.
pub const ADD_IMAGE_FOR_ITEM: OpId = OpId(18);
/// Signs out.
pub const LOGOUT: OpId = OpId(19);

/// All operations, by [`OpId`].
pub const ALL: [OpSpec; 20] = [
    op("HomePage", "fetch the start page"),
    op("Register", "create an account"),
    op("Login", "sign in and keep the token"),
    op("GetActiveAuctions", "look for running auctions"),
    op("GetAuctionDetail", "look at an auction and its first items with thumbnails"),
    op("GetUserProfile", "look at one's own profile"),
    op("UpdateUserProfile", "change one's own profile"),
    op("JoinAuction", "join an auction and begin to follow it"),
    op("GetCurrentItem", "see what is on sale in a followed auction"),
    op("GetNextBid", "wait for the next bid in a followed auction"),
    op("PlaceBid", "bid"),
    op("LeaveAuction", "leave an auction"),
    op("GetBidHistory", "look at one's own bids"),
    op("GetAttendanceHistory", "look at the auctions one attended"),
    op("GetPurchaseHistory", "look at what one bought, with thumbnails"),
    op("GetItemDetail", "look at an item and its previews"),
    op("GetImageForItem", "look at a picture in full size"),
    op("AddItem", "offer an item"),
    op("AddImageForItem", "upload a picture"),
    op("Logout", "sign out"),
];

const fn op(name: &'static str, about: &'static str) -> OpSpec {
    OpSpec { name, about }
}
