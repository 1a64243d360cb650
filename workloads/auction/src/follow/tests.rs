//! Both ways of following on one scripted auction: the states seen by a follower, and its reaction to a
//! failing stream.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use barograph_auction_api::{AuctionId, BidState, BidUpdate, ItemId, UserId as Account};
use barograph_engine::{OpContext, User};
use barograph_http::{Answer, Event, Fault, Request};
use barograph_model::{OpId, Outcome, UserId};
use futures::FutureExt;
use proptest::prelude::*;

use crate::ops::{GET_CURRENT_ITEM, GET_NEXT_BID};
use crate::profile::{LOOK_AGAIN, STILL_OPEN, WAIT_ON};
use crate::state::FollowedAuction;
use crate::{AuctionUser, BidUpdates, Feed, Line};

/// The auction followed in all tests.
const AUCTION: i64 = 1;

/// An auction with a known course.
#[derive(Default)]
struct AuctionScript {
    /// Rounds and states, in their order.
    states: Vec<(i64, BidUpdate)>,
    /// Index of the present state.
    at: Cell<usize>,
    /// Progress of the bidding during each request; none once they are used up.
    lags: RefCell<VecDeque<usize>>,
    /// Failures of the next streams.
    failures: RefCell<VecDeque<Failure>>,
    opened: Cell<u32>,
}

/// Failure of a stream.
#[derive(Clone, Copy, Debug)]
enum Failure {
    /// It is not opened, but answered with this status.
    Status(u16),
    /// Its first event is this one: name, identifier and data.
    Event(&'static str, &'static str, &'static str),
    Ends,
    Breaks,
}

impl AuctionScript {
    /// Lets time pass, though no item ends meanwhile: an item is on sale for a minute at least, the engine's
    /// limit of any operation.
    fn get_on(&self) {
        let lag = self.lags.borrow_mut().pop_front().unwrap_or(0);
        let ends = |at: usize| self.states.get(at + 1).is_none_or(|s| is_over(&s.1));
        for _ in 0..lag {
            self.at.set(self.at.get() + usize::from(!ends(self.at.get())));
        }
    }

    fn now(&self) -> (i64, BidUpdate) {
        self.states[self.at.get()]
    }

    /// Moves to the next state; false at the end.
    fn happens(&self) -> bool {
        let is_more = self.at.get() + 1 < self.states.len();
        self.at.set(self.at.get() + usize::from(is_more));
        is_more
    }

    /// The answer to a poll; `None` if it waits for ever. The end of an item stays known until the next one
    /// ends.
    fn poll(&self, item: i64, count: u32) -> Option<BidUpdate> {
        loop {
            let (_, now) = self.now();
            let is_on_sale = now.item_id.0 == item && !is_over(&now);
            if is_on_sale && (count == 0 || now.sequence > count) {
                return Some(now);
            }
            if is_on_sale && now.sequence == count {
                if !self.happens() {
                    return None;
                }
                continue;
            }
            let ended = self.states[..=self.at.get()].iter().rev().map(|s| s.1);
            let over = { ended }.find(is_over);
            let over = over.filter(|s| s.item_id.0 == item && s.sequence > count);
            let gone =
                BidUpdate { item_id: ItemId(item), sequence: count, state: BidState::ItemNotActive, ..now };
            return Some(over.unwrap_or(gone));
        }
    }

    fn answer(&self, path: &str) -> Option<Answer> {
        self.get_on();
        let parts: Vec<&str> = path.split(['/', '?']).skip(2).collect();
        let body = match &parts[..] {
            ["item", "current", ..] => {
                // Between two items it waits for the next.
                while is_over(&self.now().1) {
                    if !self.happens() {
                        return None;
                    }
                }
                format!(r#"{{"id":{},"state":"active","images":[]}}"#, self.now().1.item_id.0)
            }
            ["bid", "auction", _, "item", item, "count", count] => {
                let news = self.poll(item.parse().unwrap(), count.parse().unwrap())?;
                serde_json::to_string(&news).unwrap()
            }
            other => panic!("a follower asks for {other:?}"),
        };
        Some(Answer::made(200, body.into_bytes()))
    }
}

impl Line for Rc<AuctionScript> {
    type Feed = Script;

    fn send(&self, request: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
        let path = request.path.to_string();
        async move {
            match self.answer(&path) {
                Some(answer) => Ok(answer),
                None => std::future::pending().await,
            }
        }
    }

    fn events(&self, request: &Request<'_>) -> impl Future<Output = Result<Script, Fault>> + use<'_> {
        assert_eq!(request.path.to_string(), "/auction/bid/auction/1/events");
        assert!(request.headers.contains(&("accept", "text/event-stream")));
        async move {
            self.get_on();
            self.opened.set(self.opened.get() + 1);
            let failure = self.failures.borrow_mut().pop_front();
            match failure {
                Some(Failure::Status(status)) => Err(Fault::Status(status)),
                failure => Ok(Script {
                    course: Rc::clone(self),
                    next: self.at.get(),
                    failure,
                    id: String::new(),
                    data: String::new(),
                }),
            }
        }
    }

    fn rest(&self) {}
}

/// A stream of the auction's events.
struct Script {
    course: Rc<AuctionScript>,
    next: usize,
    failure: Option<Failure>,
    id: String,
    data: String,
}

impl Feed for Script {
    async fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
        match self.failure {
            Some(Failure::Event(name, id, data)) => return Ok(Some(Event { name, id, data })),
            Some(Failure::Ends) => return Ok(None),
            Some(_) => return Err(Fault::Broken(std::io::ErrorKind::ConnectionReset.into())),
            None => {}
        }
        let Some((round, state)) = self.course.states.get(self.next) else {
            return std::future::pending().await;
        };
        self.course.at.set(self.course.at.get().max(self.next));
        self.next += 1;
        (self.id, self.data) = (format!("{round}-{}", state.sequence), serde_json::to_string(state).unwrap());
        Ok(Some(Event { name: "bid", id: &self.id, data: &self.data }))
    }
}

fn is_over(state: &BidUpdate) -> bool {
    matches!(state.state, BidState::Sold | BidState::NotSold)
}

fn state(item: i64, sequence: u32, state: BidState) -> BidUpdate {
    let (auction_id, item_id, bidder_id) = (AuctionId(AUCTION), ItemId(item), Account(7));
    BidUpdate { auction_id, item_id, bidder_id, amount_cents: 100 * i64::from(sequence), sequence, state }
}

/// A course of listings: the item, its bids, and whether it is sold. The last one stays on sale.
fn course(listings: &[(i64, u32, bool)]) -> AuctionScript {
    let mut states = Vec::new();
    for (round, (item, bids, sold)) in (1..).zip(listings) {
        let mut listing: Vec<BidUpdate> = (1..=bids + 1).map(|n| state(*item, n, BidState::Open)).collect();
        listing.push(state(*item, bids + 2, BidState::LastCall));
        let end = if *sold { BidState::Sold } else { BidState::NotSold };
        listing.push(state(*item, bids + 3, end));
        states.extend(listing.into_iter().map(|s| (round, s)));
    }
    states.pop();
    AuctionScript { states, ..AuctionScript::default() }
}

/// A user who follows the auction and has seen its beginning.
fn follower(course: &Rc<AuctionScript>, news: BidUpdates) -> (AuctionUser<Rc<AuctionScript>>, OpContext) {
    let user = AuctionUser::new(Rc::clone(course), UserId(0), 1, news);
    let seen = course.states[0].1;
    user.with(|s| s.followed.push(FollowedAuction { auction: AUCTION, seen, round: None }));
    let mut context = OpContext::for_test();
    context.argument = 1;
    (user, context)
}

fn act(user: &AuctionUser<Rc<AuctionScript>>, op: OpId, context: &mut OpContext) -> Option<Outcome> {
    user.act(op, context).now_or_never()
}

/// Every state seen by a follower until the end, without repetitions.
fn watch(course: AuctionScript, news: BidUpdates) -> Vec<BidUpdate> {
    let course = Rc::new(course);
    let (user, mut context) = follower(&course, news);
    let mut seen = vec![course.states[0].1];
    let mut op = GET_NEXT_BID;
    while let Some(outcome) = act(&user, op, &mut context) {
        assert_eq!(outcome, Outcome::Good);
        let now = user.with(|s| s.followed[0].seen);
        if now.state != BidState::ItemNotActive && seen.last() != Some(&now) {
            seen.push(now);
        }
        let waits = op == GET_CURRENT_ITEM || user.choose(STILL_OPEN, &mut context) == WAIT_ON;
        op = if waits { GET_NEXT_BID } else { GET_CURRENT_ITEM };
    }
    assert!(news == BidUpdates::Polled || course.opened.get() == 1, "one stream serves all items");
    seen
}

fn is_within(part: &[BidUpdate], all: &[(i64, BidUpdate)]) -> bool {
    let mut rest = all.iter();
    part.iter().all(|state| rest.any(|(_, other)| other == state))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_see_every_state_in_its_order(
        listings in prop::collection::vec((10i64..13, 0u32..5, any::<bool>()), 1..8),
    ) {
        let all: Vec<BidUpdate> = course(&listings).states.iter().map(|s| s.1).collect();
        prop_assert_eq!(&watch(course(&listings), BidUpdates::Polled), &all);
        prop_assert_eq!(&watch(course(&listings), BidUpdates::Pushed), &all);
    }

    #[test]
    fn a_follower_that_is_slow_sees_states_in_order_and_the_last_of_all(
        listings in prop::collection::vec((10i64..13, 0u32..5, any::<bool>()), 1..8),
        lags in prop::collection::vec(0usize..6, 0..40),
    ) {
        for news in [BidUpdates::Polled, BidUpdates::Pushed] {
            let slow = AuctionScript { lags: RefCell::new(lags.iter().copied().collect()), ..course(&listings) };
            let all = slow.states.clone();
            let seen = watch(slow, news);
            prop_assert!(is_within(&seen, &all), "{news:?}: {seen:?}");
            prop_assert_eq!(seen.last(), all.last().map(|s| &s.1), "{:?}", news);
        }
    }
}

#[test]
fn a_stream_that_fails_is_an_outcome_and_another_is_opened_after_a_look_at_the_item() {
    for (failure, expected) in [
        (Failure::Ends, Outcome::Broken),
        (Failure::Breaks, Outcome::Broken),
        (Failure::Event("stopping", "", "{}"), Outcome::Refused),
        (Failure::Event("bid", "1-2", "{}"), Outcome::WrongAnswer),
        (Failure::Event("bid", "later", r#"{"auctionId":1}"#), Outcome::WrongAnswer),
        // Only an event kind of a newer application, without end.
        (Failure::Event("weather", "", "fine"), Outcome::WrongAnswer),
        (Failure::Status(503), Outcome::Refused),
        (Failure::Status(410), Outcome::Refused),
        (Failure::Status(408), Outcome::Refused),
    ] {
        let failures = RefCell::new(VecDeque::from([failure]));
        let course = Rc::new(AuctionScript { failures, ..course(&[(10, 3, true)]) });
        let (user, mut context) = follower(&course, BidUpdates::Pushed);
        assert_eq!(act(&user, GET_NEXT_BID, &mut context), Some(expected), "{failure:?}");
        assert_eq!(user.choose(STILL_OPEN, &mut context), LOOK_AGAIN, "{failure:?}");
        assert_eq!(act(&user, GET_CURRENT_ITEM, &mut context), Some(Outcome::Good));
        assert_eq!(act(&user, GET_NEXT_BID, &mut context), Some(Outcome::Good));
        assert_eq!(user.choose(STILL_OPEN, &mut context), WAIT_ON);
        assert_eq!((user.with(|s| s.followed[0].seen.sequence), course.opened.get()), (2, 2), "{failure:?}");
    }
}

#[test]
fn a_wait_that_is_given_up_closes_the_stream() {
    let course = Rc::new(course(&[(10, 0, true)]));
    let (user, mut context) = follower(&course, BidUpdates::Pushed);
    assert_eq!(act(&user, GET_NEXT_BID, &mut context), Some(Outcome::Good));
    assert_eq!(user.choose(STILL_OPEN, &mut context), WAIT_ON);
    // Nothing comes after the last call here, until the engine's time limit.
    assert_eq!(act(&user, GET_NEXT_BID, &mut context), None);
    assert_eq!(user.choose(STILL_OPEN, &mut context), LOOK_AGAIN);
    assert_eq!(Rc::strong_count(&course), 2, "the user and this test hold it, no stream does");
}

#[test]
fn the_end_of_the_session_closes_every_stream() {
    let course = Rc::new(course(&[(10, 3, true)]));
    let (user, mut context) = follower(&course, BidUpdates::Pushed);
    assert_eq!(act(&user, GET_NEXT_BID, &mut context), Some(Outcome::Good));
    assert_eq!(Rc::strong_count(&course), 3);
    user.end_session();
    assert_eq!(Rc::strong_count(&course), 2);
    assert_eq!(
        act(&user, GET_NEXT_BID, &mut context),
        Some(Outcome::Cancelled),
        "a follower of the old session ends"
    );
}
