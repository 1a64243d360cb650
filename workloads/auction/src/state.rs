//! What one user remembers during a session. Its main behaviour and its followers share it.

use std::cell::RefCell;
use std::rc::Rc;

use barograph_auction_api::{BidState, BidUpdate, Cents};
use barograph_engine::{Turn, User};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use smallvec::SmallVec;

use crate::Line;

/// One simulated user of the auction application.
pub struct AuctionUser<L> {
    pub(crate) line: L,
    pub(crate) id: UserId,
    /// Users the data admits.
    pub(crate) max_users: u32,
    pub(crate) session: RefCell<Session>,
}

/// Everything that ends with the session.
#[derive(Default)]
pub(crate) struct Session {
    /// Sent with every request; empty when not signed in.
    pub(crate) token: Rc<str>,
    /// The account.
    pub(crate) account: i64,
    pub(crate) credit_cents: Cents,
    /// How many auctions are running, once it was asked.
    pub(crate) running_auctions: Option<u64>,
    /// The page of running auctions last looked at.
    pub(crate) page: SmallVec<[i64; 5]>,
    /// The auction to join next.
    pub(crate) candidate: Option<i64>,
    /// The items of the auction last looked at, with their pictures that exist in full size.
    pub(crate) items: SmallVec<[i64; 5]>,
    /// The picture to look at in full size: item and picture.
    pub(crate) picture: Option<(i64, i64)>,
    /// The auction to bid in next.
    pub(crate) bid_in: Option<i64>,
    pub(crate) followed: SmallVec<[Followed; 2]>,
}

/// One auction a user follows, with the state of its current item as last seen.
#[derive(Clone, Copy)]
pub(crate) struct Followed {
    pub(crate) auction: i64,
    pub(crate) seen: BidUpdate,
}

impl Followed {
    pub(crate) fn open(&self) -> bool {
        matches!(self.seen.state, BidState::Open | BidState::LastCall)
    }
}

impl<L: Line> AuctionUser<L> {
    pub(crate) fn new(line: L, id: UserId, max_users: u32) -> Self {
        AuctionUser { line, id, max_users, session: RefCell::default() }
    }

    /// The auctions followed, changed or read; never held across a wait.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Session) -> T) -> T {
        f(&mut self.session.borrow_mut())
    }

    /// Takes note of a bid state.
    pub(crate) fn saw(&self, auction: i64, seen: BidUpdate) {
        self.with(|s| {
            let Some(followed) = s.followed.iter_mut().find(|f| f.auction == auction) else { return };
            let news = (followed.seen.item_id, followed.seen.sequence) != (seen.item_id, seen.sequence);
            followed.seen = seen;
            if news && seen.state == BidState::Sold && seen.bidder_id.0 == s.account {
                s.credit_cents -= seen.amount_cents;
            }
        });
    }
}

impl<L: Line> User for AuctionUser<L> {
    async fn act(&self, op: OpId, turn: &mut Turn) -> Outcome {
        self.perform(op, turn).await
    }

    fn choose(&self, chooser: ChooserId, turn: &mut Turn) -> usize {
        self.with(|session| crate::choose::choose(chooser, session, turn))
    }

    fn end_session(&self) {
        *self.session.borrow_mut() = Session::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::GET_NEXT_BID;
    use barograph_http::{Answer, Fault, Request};

    struct Nowhere;

    impl Line for Nowhere {
        fn send(&self, _: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
            std::future::pending()
        }
        fn rest(&self) {}
    }

    #[test]
    fn a_waiting_user_is_small() {
        let user = AuctionUser::new(Nowhere, UserId(0), 1);
        let waiting = std::mem::size_of_val(&user.perform(GET_NEXT_BID, &mut Turn::for_test()));
        assert!(waiting <= 512, "a long poll holds {waiting} bytes beside its connection's");
        assert!(std::mem::size_of_val(&user) <= 512, "a user is {} bytes", std::mem::size_of_val(&user));
    }
}
