//! The profiles: limits, mix, transitions, choosers and pace as data, and figures derived from them.
//!
//! There are two, `official2` and `official2-push`. They differ only in the followers' source of news, and so
//! in the requests of an operation.

use barograph_model::{
    Behaviour, BehaviourId, Behaviours, ChooserId, DerivedFigures, Distribution, Nanos, NextOp, OpId, Pace,
    Profile, QosRule, Share, Vector,
};

use crate::BidUpdates;
use crate::ops::*;

/// The asynchronous behaviour that follows one auction.
pub const FOLLOW: BehaviourId = BehaviourId(1);

/// Most auctions followed by a user.
pub const MAX_FOLLOWED: usize = 2;

/// After looking for auctions: 0 if none is running, 1 with room to join one, 2 otherwise.
pub const AFTER_LOOKING: ChooserId = ChooserId(0);
/// Whether there is a bid to place: 0 yes, 1 no.
pub const BID_OR_NOT: ChooserId = ChooserId(1);
/// Whether the followed item is still open: 0 yes, 1 no.
pub const STILL_OPEN: ChooserId = ChooserId(2);
/// Answer to [`STILL_OPEN`]: wait for the next bid.
pub(crate) const WAIT_ON: usize = 0;
/// Answer to [`STILL_OPEN`]: look at the current item.
pub(crate) const LOOK_AGAIN: usize = 1;
/// Whether there are items to look at: 0 yes, 1 no, because the look at their auction failed.
pub const HAS_ITEMS: ChooserId = ChooserId(3);
/// Whether there is a picture to look at: 0 yes, 1 no, because the look at its item failed.
pub const HAS_PICTURE: ChooserId = ChooserId(4);

/// Time from start to start of a user's main behaviour.
const CYCLE: Distribution = Distribution::TruncatedNormal {
    mean: Nanos::from_millis(5_000),
    sd: Nanos::from_millis(1_250),
    min: Nanos::from_millis(2_500),
    max: Nanos::from_millis(7_500),
};

/// Mean of [`CYCLE`] in seconds; its range is symmetric, so truncation does not move it.
const CYCLE_MEAN_S: f64 = 5.0;

/// One line of the published table: limit in seconds (0: response time not judged), mix and tolerance in
/// percent, and the mean requests of the operation.
struct Row(OpId, u64, f64, f64, f64);

/// Judged quantile of response times.
const QUANTILE: Share = Share::percent(99.0);

/// Allowed share of failed operations.
const FAILURES: Share = Share::percent(0.5);

/// The published table. Requests: an item page has five thumbnails, an item four previews of its own; looking
/// for auctions takes two requests the first of 4.67 times a session.
const TABLE: [Row; 20] = [
    Row(HOME_PAGE, 2, 2.35, 20.0, 1.0),
    Row(REGISTER, 2, 0.0, 0.0, 1.0),
    Row(LOGIN, 3, 2.35, 20.0, 1.0),
    Row(GET_ACTIVE_AUCTIONS, 2, 10.95, 10.0, 5.67 / 4.67),
    Row(GET_AUCTION_DETAIL, 2, 3.90, 20.0, 7.0),
    Row(GET_USER_PROFILE, 2, 2.35, 20.0, 1.0),
    Row(UPDATE_USER_PROFILE, 2, 0.0, 0.0, 1.0),
    Row(JOIN_AUCTION, 4, 4.69, 20.0, 5.0),
    Row(GET_CURRENT_ITEM, 3, 5.23, 10.0, 3.0),
    Row(GET_NEXT_BID, 0, 46.43, 10.0, 1.0),
    Row(PLACE_BID, 2, 2.20, 20.0, 1.0),
    Row(LEAVE_AUCTION, 2, 0.0, 0.0, 1.0),
    Row(GET_BID_HISTORY, 2, 2.35, 20.0, 1.0),
    Row(GET_ATTENDANCE_HISTORY, 2, 2.36, 20.0, 1.0),
    Row(GET_PURCHASE_HISTORY, 2, 2.35, 20.0, 6.0),
    Row(GET_ITEM_DETAIL, 2, 3.91, 20.0, 5.0),
    Row(GET_IMAGE_FOR_ITEM, 5, 3.91, 20.0, 1.0),
    Row(ADD_ITEM, 2, 2.35, 20.0, 1.0),
    Row(ADD_IMAGE_FOR_ITEM, 5, 0.0, 0.0, 1.0),
    Row(LOGOUT, 3, 2.35, 20.0, 1.0),
];

/// All profiles, the default first.
const PROFILES: [(&str, BidUpdates); 2] =
    [("official2", BidUpdates::Polled), ("official2-push", BidUpdates::Pushed)];

/// The names of all profiles, the default first.
#[must_use]
pub fn names() -> Vec<&'static str> {
    PROFILES.iter().map(|(name, _)| *name).collect()
}

fn find(name: &str) -> Option<(&'static str, BidUpdates)> {
    PROFILES.into_iter().find(|(known, _)| *known == name)
}

/// The source of news in the profile of this name.
#[must_use]
pub fn news(name: &str) -> Option<BidUpdates> {
    find(name).map(|(_, news)| news)
}

/// The profile of this name.
#[must_use]
pub fn profile(name: &str) -> Option<Profile> {
    find(name).map(|(name, news)| Profile::usual(name, &operations(), Some(derived(news))))
}

/// The usual rules, by operation index.
#[must_use]
pub fn operations() -> Vec<QosRule> {
    let rule = |Row(op, limit, mix, tolerance, _): &Row| QosRule {
        op: *op,
        quantile: QUANTILE,
        limit: (*limit > 0).then(|| Nanos::from_secs(*limit)),
        // The profile never performs the operations without a share.
        judged: *mix > 0.0,
        mix: Share::percent(*mix),
        mix_tolerance: Share::percent(*tolerance),
        failures: FAILURES,
    };
    TABLE.iter().map(rule).collect()
}

/// Figures implied by the mix and the cycle time. The two operations of the follow behaviour have no cycle of
/// their own, so all the others together come once per cycle and user.
fn derived(news: BidUpdates) -> DerivedFigures {
    let all: f64 = TABLE.iter().map(|row| row.2).sum();
    let follow = TABLE[GET_NEXT_BID.index()].2 + TABLE[GET_CURRENT_ITEM.index()].2;
    let main = all - follow;
    let requests: f64 = TABLE.iter().map(|row| row.2 * requests(row, news)).sum();
    let logins = TABLE[LOGIN.index()].2;
    DerivedFigures {
        ops_per_user_s: all / main / CYCLE_MEAN_S,
        requests_per_op: requests / all,
        session_s: main / logins * CYCLE_MEAN_S,
    }
}

/// Mean requests of the operation of this row. A stream is requested once per joined auction, by the first
/// wait of its follower; later waits send no request.
fn requests(row: &Row, news: BidUpdates) -> f64 {
    match news {
        BidUpdates::Pushed if row.0 == GET_NEXT_BID => TABLE[JOIN_AUCTION.index()].2 / row.2,
        BidUpdates::Polled | BidUpdates::Pushed => row.4,
    }
}

/// The behaviours of both profiles: the main one and the follower.
#[must_use]
pub fn behaviours() -> Behaviours {
    let list = vec![
        Behaviour {
            name: "main",
            first: HOME_PAGE,
            next: table(&main_transitions()),
            pace: Pace::Cycle(CYCLE),
        },
        Behaviour {
            name: "follow auction",
            first: GET_CURRENT_ITEM,
            next: table(&follow_transitions()),
            pace: Pace::AtOnce,
        },
    ];
    Behaviours::new(list).expect("every operation these tables reach has a successor: tested")
}

fn table(entries: &[(OpId, NextOp)]) -> Vec<Option<NextOp>> {
    let mut next = vec![None; ALL.len()];
    for (op, then) in entries {
        next[op.index()] = Some(then.clone());
    }
    next
}

/// Default transition of a user.
fn other() -> NextOp {
    let p = Share::percent;
    let shares = vec![
        (GET_ACTIVE_AUCTIONS, p(20.0)),
        (GET_AUCTION_DETAIL, p(20.0)),
        (GET_BID_HISTORY, p(12.0)),
        (GET_ATTENDANCE_HISTORY, p(12.0)),
        (GET_PURCHASE_HISTORY, p(12.0)),
        (ADD_ITEM, p(12.0)),
        (LOGOUT, p(12.0)),
    ];
    NextOp::Vector(Vector::new(shares).expect("the published shares sum to 1"))
}

fn main_transitions() -> Vec<(OpId, NextOp)> {
    let bid = || NextOp::Choose { chooser: BID_OR_NOT, branches: vec![NextOp::Op(PLACE_BID), other()] };
    let look = NextOp::Choose {
        chooser: AFTER_LOOKING,
        branches: vec![NextOp::Op(LOGOUT), NextOp::Op(JOIN_AUCTION), other()],
    };
    vec![
        (HOME_PAGE, NextOp::Op(LOGIN)),
        (LOGIN, NextOp::Op(GET_USER_PROFILE)),
        (GET_USER_PROFILE, NextOp::Op(GET_ACTIVE_AUCTIONS)),
        (GET_ACTIVE_AUCTIONS, look),
        (JOIN_AUCTION, NextOp::Op(GET_ACTIVE_AUCTIONS)),
        // A failed look leads where a good one would lead in the end: an operation without its subject would
        // be a second failure that never reached the application.
        (
            GET_AUCTION_DETAIL,
            NextOp::Choose { chooser: HAS_ITEMS, branches: vec![NextOp::Op(GET_ITEM_DETAIL), bid()] },
        ),
        (
            GET_ITEM_DETAIL,
            NextOp::Choose { chooser: HAS_PICTURE, branches: vec![NextOp::Op(GET_IMAGE_FOR_ITEM), bid()] },
        ),
        (GET_IMAGE_FOR_ITEM, bid()),
        (GET_BID_HISTORY, bid()),
        (GET_ATTENDANCE_HISTORY, bid()),
        (GET_PURCHASE_HISTORY, bid()),
        (ADD_ITEM, bid()),
        (PLACE_BID, other()),
        (LOGOUT, NextOp::EndSession { first: HOME_PAGE }),
    ]
}

fn follow_transitions() -> Vec<(OpId, NextOp)> {
    let watch = NextOp::Choose {
        chooser: STILL_OPEN,
        branches: vec![NextOp::Op(GET_NEXT_BID), NextOp::Op(GET_CURRENT_ITEM)],
    };
    vec![(GET_CURRENT_ITEM, NextOp::Op(GET_NEXT_BID)), (GET_NEXT_BID, watch)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derived_figures_are_the_published_ones() {
        let d = profile("official2").unwrap().derived.unwrap();
        assert!((d.ops_per_user_s - 0.413).abs() < 0.001, "{d:?}");
        assert!((d.session_s - 103.0).abs() < 0.5, "{d:?}");
        // Published 1.86 counts five previews of an item; here an item has four pictures of its own.
        assert!((d.requests_per_op - 1.86).abs() < 0.05, "{d:?}");
        assert!(profile("official3").is_none());
        let pushed = profile("official2-push").unwrap();
        let p = pushed.derived.unwrap();
        assert_eq!((p.ops_per_user_s, p.session_s), (d.ops_per_user_s, d.session_s));
        // One request per follower instead of one per state.
        assert!((d.requests_per_op - p.requests_per_op - (46.43 - 4.69) / 100.03).abs() < 1e-9, "{p:?}");
        assert_eq!((pushed.name, pushed.rules), ("official2-push", profile("official2").unwrap().rules));
    }

    #[test]
    fn behaviours_and_rules_fit_the_operations() {
        assert_eq!(behaviours().all().len(), 2);
        for (i, rule) in operations().iter().enumerate() {
            assert_eq!(rule.op.index(), i);
        }
        let sum: f64 = operations().iter().map(|r| r.mix.get()).sum();
        assert!((sum - 1.0003).abs() < 1e-9, "the published mix sums to 100.03 %, found {sum}");
    }
}
