//! Attendance: joining once, leaving, the history.

use std::borrow::Cow;
use std::collections::BTreeSet;

use barograph_auction_api::{AttendanceRecord, AttendanceState, AuctionId, UserId};

use super::data::{BETWEEN, ONGOING, UNTOUCHED};
use super::{ALL, event_data, in_pages};
use crate::{AttendanceRow, CLOCK_START_MS, Events, PageWindow, codes};

/// A time within the run.
const NOW: i64 = CLOCK_START_MS + 30_000;

fn visit(id: i64, user_id: i64, auction_id: i64) -> AttendanceRow {
    AttendanceRow {
        id,
        user_id,
        record_ms: NOW + id,
        auction_id,
        auction_name: Cow::Borrowed("Lamps & 'Chairs'"),
        state: codes::attendance::ATTENDING,
    }
}

fn as_shown(row: &AttendanceRow) -> AttendanceRecord {
    AttendanceRecord {
        id: row.id,
        user_id: UserId(row.user_id),
        auction_id: AuctionId(row.auction_id),
        auction_name: row.auction_name.to_string(),
        record_ms: row.record_ms,
        state: match row.state {
            codes::attendance::ATTENDING => AttendanceState::Attending,
            codes::attendance::LEFT => AttendanceState::Left,
            _ => AttendanceState::AuctionComplete,
        },
    }
}

async fn states<S: Events + ?Sized>(store: &S, user: i64) -> Vec<(i64, AttendanceState)> {
    let page = store.user_attendance(UserId(user), ALL).await.unwrap();
    assert_eq!(page.total_records as usize, page.items.len());
    page.items.iter().map(|a| (a.id, a.state)).collect()
}

pub(super) async fn joining<S: Events + ?Sized>(store: &S) {
    let first = visit(1_001, 5, ONGOING);
    assert_eq!(store.join(first.clone()).await.unwrap(), as_shown(&first));
    assert_eq!(store.join(visit(1_002, 5, ONGOING)).await.unwrap(), as_shown(&first), "attends already");
    assert_eq!(store.join(first.clone()).await.unwrap(), as_shown(&first), "the same again");
    let other = visit(1_003, 5, UNTOUCHED);
    assert_eq!(store.join(other.clone()).await.unwrap(), as_shown(&other), "another auction");
    let someone = visit(1_004, 6, ONGOING);
    assert_eq!(store.join(someone.clone()).await.unwrap(), as_shown(&someone), "another user");
    let loaded = store.join(visit(1_005, 4, ONGOING)).await.unwrap();
    assert_eq!(loaded.id, 50, "user 4 attends by a loaded record");
    let shown = store.user_attendance(UserId(5), ALL).await.unwrap();
    assert_eq!(shown.items, [as_shown(&other), as_shown(&first)], "latest first");
    assert_eq!(store.double_attendance().await.unwrap(), []);
}

pub(super) async fn leaving<S: Events + ?Sized>(store: &S) {
    use AttendanceState::{Attending, Left};
    assert_eq!(store.leave(UserId(5), None).await.unwrap(), 0);
    assert_eq!(store.leave(UserId(5), Some(AuctionId(ONGOING))).await.unwrap(), 0);
    for (id, auction) in [(1_001, ONGOING), (1_002, UNTOUCHED), (1_003, BETWEEN)] {
        store.join(visit(id, 5, auction)).await.unwrap();
    }
    store.join(visit(1_004, 6, ONGOING)).await.unwrap();
    assert_eq!(store.leave(UserId(5), Some(AuctionId(ONGOING))).await.unwrap(), 1);
    assert_eq!(store.leave(UserId(5), Some(AuctionId(ONGOING))).await.unwrap(), 0, "has left already");
    assert_eq!(states(store, 5).await, [(1_003, Attending), (1_002, Attending), (1_001, Left)]);
    let back = store.join(visit(1_005, 5, ONGOING)).await.unwrap();
    assert_eq!((back.id, back.state), (1_005, Attending), "coming back is a new record");
    assert_eq!(store.leave(UserId(5), None).await.unwrap(), 3);
    assert_eq!(states(store, 5).await, [(1_005, Left), (1_003, Left), (1_002, Left), (1_001, Left)]);
    assert_eq!(states(store, 6).await, [(1_004, Attending)], "others stay");
    assert_eq!(store.leave(UserId(4), None).await.unwrap(), 1, "a loaded record can be left");
    assert_eq!(states(store, 4).await, [(50, Left)]);
    let complete = states(store, 2).await;
    assert_eq!(store.leave(UserId(2), None).await.unwrap(), 0);
    assert_eq!(states(store, 2).await, complete, "what is over stays as it was");
}

pub(super) async fn histories<S: Events + ?Sized>(store: &S) {
    let mut loaded: Vec<AttendanceRow> = event_data().into_iter().flat_map(|b| b.attendance).collect();
    loaded.retain(|a| a.user_id == 2);
    loaded.sort_by_key(|a| (-a.record_ms, -a.id));
    let expected: Vec<AttendanceRecord> = loaded.iter().map(as_shown).collect();
    for size in [1, 3, 7, 50] {
        let listed = in_pages(size, async |w| store.user_attendance(UserId(2), w).await).await;
        assert_eq!(listed, expected, "latest first, in pages of {size}");
    }
    let new = visit(1_001, 2, ONGOING);
    store.join(new.clone()).await.unwrap();
    let first = store.user_attendance(UserId(2), PageWindow { page: 0, size: 2 }).await.unwrap();
    assert_eq!(first.items, [as_shown(&new), expected[0].clone()]);
    assert_eq!(first.total_records, 8);
    assert_eq!(states(store, 9).await, []);
}

/// The same user joins from many connections at once.
pub(super) async fn at_the_same_time<S: Events + ?Sized>(store: &S) {
    for round in 0..10 {
        let first = 2_000 + round * 10;
        let (a, b, c, d, e, f) = tokio::join!(
            store.join(visit(first, 7, ONGOING)),
            store.join(visit(first + 1, 7, ONGOING)),
            store.join(visit(first + 2, 7, ONGOING)),
            store.join(visit(first + 3, 7, ONGOING)),
            store.join(visit(first + 4, 7, UNTOUCHED)),
            store.join(visit(first + 5, 7, UNTOUCHED)),
        );
        let ids: BTreeSet<i64> = [a, b, c, d, e, f].map(|r| r.unwrap().id).into_iter().collect();
        assert_eq!(ids.len(), 2, "one record per auction: {ids:?}");
        assert_eq!(store.double_attendance().await.unwrap(), []);
        assert_eq!(store.leave(UserId(7), None).await.unwrap(), 2);
    }
    assert_eq!(states(store, 7).await.len(), 20);
}
