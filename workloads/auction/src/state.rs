//! Memory of one user during a session, shared by its main behaviour and its followers.

use std::cell::RefCell;
use std::rc::Rc;

use barograph_auction_api::{BidState, BidUpdate, Cents};
use barograph_engine::{OpContext, User};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use smallvec::SmallVec;

use crate::profile::{LOOK_AGAIN, MAX_FOLLOWED, STILL_OPEN};
use crate::{BidUpdates, Line};

/// One simulated user of the auction application.
pub struct AuctionUser<L: Line> {
    pub(crate) line: L,
    pub(crate) id: UserId,
    /// Number of users in the data.
    pub(crate) max_users: u32,
    pub(crate) news: BidUpdates,
    pub(crate) session: RefCell<Session>,
    /// The open streams by auction, if news are pushed. A follower takes its own out while it waits on it.
    pub(crate) feeds: RefCell<Feeds<L::Feed>>,
}

/// Streams by auction.
pub(crate) type Feeds<F> = SmallVec<[(i64, F); MAX_FOLLOWED]>;

/// State that ends with the session.
#[derive(Default)]
pub(crate) struct Session {
    /// Token of every request; empty before the sign-in.
    pub(crate) token: Rc<str>,
    /// The account.
    pub(crate) account: i64,
    pub(crate) credit_cents: Cents,
    /// Number of running auctions, once known.
    pub(crate) running_auctions: Option<u64>,
    /// The page of running auctions seen last.
    pub(crate) page: SmallVec<[i64; 5]>,
    /// The auction to join next.
    pub(crate) candidate: Option<i64>,
    /// The items of the auction seen last, with their pictures that exist in full size.
    pub(crate) items: SmallVec<[i64; 5]>,
    /// The picture to look at in full size: item and picture.
    pub(crate) picture: Option<(i64, i64)>,
    /// The auction to bid in next.
    pub(crate) bid_in: Option<i64>,
    pub(crate) followed: SmallVec<[FollowedAuction; 2]>,
}

/// A followed auction, with the state of its current item as last seen.
#[derive(Clone, Copy)]
pub(crate) struct FollowedAuction {
    pub(crate) auction: i64,
    pub(crate) seen: BidUpdate,
    /// The round of the listing seen last, once known from a stream.
    pub(crate) round: Option<i64>,
}

impl Session {
    /// The auction of this number, if it is followed.
    pub(crate) fn follow(&mut self, auction: i64) -> Option<&mut FollowedAuction> {
        self.followed.iter_mut().find(|f| f.auction == auction)
    }
}

impl FollowedAuction {
    pub(crate) fn open(&self) -> bool {
        matches!(self.seen.state, BidState::Open | BidState::LastCall)
    }
}

impl<L: Line> AuctionUser<L> {
    pub(crate) fn new(line: L, id: UserId, max_users: u32, news: BidUpdates) -> Self {
        let (session, feeds) = (RefCell::default(), RefCell::default());
        AuctionUser { line, id, max_users, news, session, feeds }
    }

    /// Reads or changes the session; never held across a wait.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Session) -> T) -> T {
        f(&mut self.session.borrow_mut())
    }

    /// Records a bid state.
    pub(crate) fn saw(&self, auction: i64, seen: BidUpdate) {
        self.with(|s| {
            let Some(followed) = s.follow(auction) else { return };
            let news = (followed.seen.item_id, followed.seen.sequence) != (seen.item_id, seen.sequence);
            followed.seen = seen;
            if news && seen.state == BidState::Sold && seen.bidder_id.0 == s.account {
                s.credit_cents -= seen.amount_cents;
            }
        });
    }
}

impl<L: Line> User for AuctionUser<L> {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        self.perform(op, context).await
    }

    fn choose(&self, chooser: ChooserId, context: &mut OpContext) -> usize {
        let lost = self.news == BidUpdates::Pushed && !self.has_feed(i64::from(context.argument));
        if chooser == STILL_OPEN && lost {
            // The state seen last may be old: the follower looks again before it waits.
            return LOOK_AGAIN;
        }
        self.with(|session| crate::choose::choose(chooser, session, context))
    }

    fn end_session(&self) {
        *self.session.borrow_mut() = Session::default();
        self.feeds.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::GET_NEXT_BID;
    use crate::transport::Feed;
    use barograph_http::{Answer, Event, Fault, Request};

    struct Nowhere;

    impl Feed for Box<Nowhere> {
        async fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
            std::future::pending().await
        }
    }

    impl Line for Nowhere {
        type Feed = Box<Nowhere>;

        fn events(&self, _: &Request<'_>) -> impl Future<Output = Result<Box<Nowhere>, Fault>> + use<'_> {
            std::future::pending()
        }
        fn send(&self, _: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
            std::future::pending()
        }
        fn rest(&self) {}
    }

    #[test]
    fn a_waiting_user_is_small() {
        for news in [BidUpdates::Polled, BidUpdates::Pushed] {
            let user = AuctionUser::new(Nowhere, UserId(0), 1, news);
            let waiting = std::mem::size_of_val(&user.perform(GET_NEXT_BID, &mut OpContext::for_test()));
            assert!(waiting <= 512, "a wait for the next bid holds {waiting} bytes beside its connection's");
            assert!(std::mem::size_of_val(&user) <= 512, "a user is {} bytes", std::mem::size_of_val(&user));
        }
    }
}
