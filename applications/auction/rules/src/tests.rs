//! Tests of each rule, then properties over random histories.

use std::collections::HashMap;

use barograph_auction_api::{AuctionId, BidState, Cents, ItemId, Millis, UserId};
use proptest::prelude::*;

use super::*;

const RICH: Cents = 100_000_000;

fn items(count: i64) -> Vec<Listing> {
    (1..=count).map(|i| Listing { item: ItemId(i), starting_bid: 1000 * i }).collect()
}

fn offer(item: i64, bidder: i64, amount: Cents) -> Offer {
    Offer { item: ItemId(item), bidder: UserId(bidder), amount }
}

struct Run {
    auction: LiveAuction,
    purse: Purses,
    events: Vec<Event>,
}

impl Run {
    fn new(count: i64) -> Self {
        Run {
            auction: LiveAuction::new(AuctionId(1), items(count)),
            purse: Purses::new(RICH),
            events: vec![],
        }
    }

    fn advance(&mut self, now: Millis) -> Vec<(Millis, EventKind, u32)> {
        self.events.clear();
        self.auction.advance(now, &mut self.purse, &mut self.events);
        self.events.iter().map(|e| (e.at_ms, e.kind, e.bidding.sequence)).collect()
    }

    fn bid(&mut self, now: Millis, offer: Offer) -> BidResult {
        self.auction.bid(now, offer, &mut self.purse, &mut self.events)
    }
}

#[test]
fn nothing_advances_before_somebody_watches() {
    let mut run = Run::new(2);
    assert_eq!(run.auction.next_deadline(), None);
    assert_eq!(run.advance(1_000_000), vec![]);
    run.auction.wake(1_000_000);
    run.auction.wake(1_020_000);
    assert_eq!(run.auction.next_deadline(), Some(1_030_000));
}

#[test]
fn idle_then_last_call_then_sold_then_the_next_item() {
    let mut run = Run::new(2);
    assert_eq!(run.bid(100, offer(1, 7, 1001)), BidResult::Accepted);
    assert_eq!(run.advance(30_099), vec![]);
    assert_eq!(run.advance(30_100), vec![(30_100, EventKind::LastCall, 3)]);
    assert_eq!(run.auction.current().unwrap().state, BidState::LastCall);
    let sold = run.advance(60_105);
    assert_eq!(sold, vec![(60_100, EventKind::Sold, 4), (60_100, EventKind::ItemStarted, 1)]);
    assert_eq!(run.purse.credit(UserId(7)), RICH - 1001);
    let next = run.auction.current().unwrap();
    assert_eq!((next.item, next.amount, next.bidder, next.state), (ItemId(2), 2000, UNSOLD, BidState::Open));
    assert_eq!(run.auction.next_deadline(), Some(90_100));
}

#[test]
fn a_bid_in_the_last_call_reopens_and_both_timers_start_over() {
    let mut run = Run::new(1);
    run.bid(0, offer(1, 7, 1001));
    run.advance(30_000);
    assert_eq!(run.bid(59_999, offer(1, 8, 1002)), BidResult::Accepted);
    assert_eq!(run.auction.current().unwrap().state, BidState::Open);
    assert_eq!(run.advance(89_998), vec![]);
    assert_eq!(run.advance(89_999), vec![(89_999, EventKind::LastCall, 5)]);
    assert_eq!(run.advance(119_999)[0], (119_999, EventKind::Sold, 6));
    assert_eq!(run.purse.credit(UserId(7)), RICH);
    assert_eq!(run.purse.credit(UserId(8)), RICH - 1002);
}

#[test]
fn an_offer_must_be_higher_for_the_current_item_and_payable() {
    let mut run = Run::new(2);
    run.purse.learn(UserId(9), 1500);
    assert_eq!(run.bid(0, offer(1, 7, 1000)), BidResult::NotHigher);
    assert_eq!(run.bid(0, offer(2, 7, 9000)), BidResult::NotCurrent);
    assert_eq!(run.bid(0, offer(1, 9, 1501)), BidResult::NoCredit);
    assert_eq!(run.bid(0, offer(1, 9, 1500)), BidResult::Accepted);
    assert_eq!(run.bid(0, offer(1, 7, 1500)), BidResult::NotHigher);
    assert_eq!(run.events.len(), 1);
    assert_eq!(run.bid(60_000, offer(1, 7, 2000)), BidResult::NotCurrent, "sold in the same moment");
}

#[test]
fn a_winner_who_cannot_pay_any_more_does_not_get_the_item() {
    let mut run = Run::new(2);
    run.purse.learn(UserId(9), 1500);
    run.bid(0, offer(1, 9, 1500));
    run.purse.pay(UserId(9), 1);
    let events = run.advance(60_000);
    assert_eq!(events[1], (60_000, EventKind::NotSold, 4));
    assert_eq!(run.purse.credit(UserId(9)), 1499);
}

#[test]
fn items_without_bids_come_again_and_an_empty_list_is_filled_again() {
    let mut run = Run::new(2);
    run.auction.wake(0);
    let mut started = Vec::new();
    for minute in 1..=4 {
        run.advance(minute * 60_000);
        let current = *run.auction.current().unwrap();
        started.push(current.item.0);
        run.bid(minute * 60_000, offer(current.item.0, 7, current.amount + 1));
    }
    assert_eq!(started, [2, 1, 1, 2], "1 unsold goes behind 2; both sold: all are listed again");
}

#[test]
fn a_resumed_auction_goes_on_where_it_stood() {
    let bidding =
        Bidding { item: ItemId(2), bidder: UserId(5), amount: 7777, sequence: 40, state: BidState::Open };
    let mut run = Run { auction: LiveAuction::resume(AuctionId(1), items(3), bidding), ..Run::new(1) };
    run.auction.wake(0);
    let events = run.advance(60_000);
    assert_eq!(events[0].2, 41);
    assert_eq!(events[1], (60_000, EventKind::Sold, 42));
    assert_eq!(run.auction.current().unwrap().item, ItemId(3));
}

#[test]
fn an_auction_without_items_stays_quiet() {
    let mut run = Run::new(0);
    run.auction.wake(0);
    assert_eq!(run.auction.next_deadline(), None);
    assert_eq!(run.bid(0, offer(1, 7, 5)), BidResult::NotCurrent);
}

#[derive(Clone, Debug)]
struct Step {
    wait: Millis,
    bidder: i64,
    raise: Cents,
    stale_item: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let wait = prop_oneof![0..2_000i64, 20_000..40_000i64, 55_000..200_000i64];
    (wait, 1..6i64, -20..400i64, proptest::bool::weighted(0.1))
        .prop_map(|(wait, bidder, raise, stale_item)| Step { wait, bidder, raise, stale_item })
}

/// Checks events against the rules.
fn check(events: &[Event], first: Bidding, credit: Cents) {
    let mut bidding = first;
    let mut last_change: Millis = 0;
    let mut paid: HashMap<UserId, Cents> = HashMap::new();
    for event in events {
        let now = event.bidding;
        if event.kind == EventKind::ItemStarted {
            assert!(matches!(bidding.state, BidState::Sold | BidState::NotSold));
            assert_eq!((now.sequence, now.bidder), (1, UNSOLD));
        } else {
            assert_eq!(now.item, bidding.item);
            assert_eq!(now.sequence, bidding.sequence + 1, "no gap");
        }
        match event.kind {
            EventKind::NewHighBid => {
                assert!(now.amount > bidding.amount, "strictly increasing");
                assert!(matches!(bidding.state, BidState::Open | BidState::LastCall));
                assert!(event.at_ms - last_change < IDLE_MS || bidding.bidder == UNSOLD);
            }
            EventKind::LastCall | EventKind::Sold | EventKind::NotSold => {
                assert_eq!((now.amount, now.bidder), (bidding.amount, bidding.bidder));
                assert_eq!(event.at_ms - last_change, IDLE_MS, "each timer runs its whole time");
            }
            EventKind::ItemStarted => {}
        }
        if event.kind == EventKind::Sold {
            *paid.entry(now.bidder).or_default() += now.amount;
        }
        last_change = event.at_ms;
        bidding = now;
    }
    assert!(paid.values().all(|p| *p <= credit), "nobody pays more than there is");
}

proptest! {
    #[test]
    fn every_history_keeps_the_rules(steps in proptest::collection::vec(step(), 1..200), count in 1..5i64) {
        let credit = 60_000;
        let mut run = Run { purse: Purses::new(credit), ..Run::new(count) };
        let first = *run.auction.current().unwrap();
        let mut now = 0;
        let mut accepted = 0;
        run.auction.wake(0);
        for step in &steps {
            now += step.wait;
            run.auction.advance(now, &mut run.purse, &mut run.events);
            let current = *run.auction.current().expect("never dry");
            let item = if step.stale_item { current.item.0 + 100 } else { current.item.0 };
            let result = run.bid(now, offer(item, step.bidder, current.amount + step.raise));
            prop_assert_eq!(result == BidResult::NotCurrent, step.stale_item);
            prop_assert!(result != BidResult::Accepted || step.raise > 0);
            accepted += usize::from(result == BidResult::Accepted);
        }
        check(&run.events, first, credit);
        let high = run.events.iter().filter(|e| e.kind == EventKind::NewHighBid).count();
        prop_assert_eq!(high, accepted);
        prop_assert!(run.auction.next_deadline().is_some_and(|d| d > now && d <= now + IDLE_MS));
    }
}
