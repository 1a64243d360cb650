//! Changes of auctions: the effect of each kind, harmless repetition, and no double spending.

use barograph_auction_api::{AuctionId, ItemId, ItemState, UserId};

use super::data::{BETWEEN, CREDIT, ONGOING, UNTOUCHED, closed_listing, open_listing};
use super::model::Model;
use super::track::Track;
use super::{ALL, own};
use crate::{CLOCK_START_MS, Change, ChangeOutcome, Registry, Relational, Span};

/// A time within the run.
const NOW: i64 = CLOCK_START_MS + 30_000;

/// Applies changes to store and model; answers and contents afterwards must be equal.
pub(super) async fn both<S: Relational + ?Sized>(
    store: &S,
    model: &mut Model,
    changes: &[Change],
) -> Vec<ChangeOutcome> {
    let answers = store.apply(changes).await.unwrap();
    assert_eq!(answers, model.apply(changes), "answers to {changes:#?}");
    same(store, model).await;
    answers
}

/// Asserts that store and model have equal contents.
pub(super) async fn same<S: Relational + ?Sized>(store: &S, model: &Model) {
    assert_eq!(store.audit().await.unwrap(), model.audit());
    for auction in [ONGOING, UNTOUCHED, BETWEEN] {
        let sale = store.last_sale(AuctionId(auction)).await.unwrap();
        assert_eq!(sale.as_ref(), model.last_sale(auction), "the last sale of auction {auction}");
    }
}

async fn credit<S: Relational + ?Sized>(store: &S, user: i64) -> i64 {
    store.user(UserId(user)).await.unwrap().expect("a loaded user").user.credit_cents
}

async fn item_state<S: Relational + ?Sized>(store: &S, item: i64) -> ItemState {
    store.item(ItemId(item)).await.unwrap().expect("a loaded item").state
}

pub(super) async fn every_kind<S: Relational + Registry + ?Sized>(store: &S) {
    let fences = own(store, "node", &[ONGOING, UNTOUCHED]).await;
    let mut model = Model::new(&[ONGOING, UNTOUCHED], &fences);
    assert_eq!(store.apply(&[]).await.unwrap(), []);
    let mut track = Track::new(UNTOUCHED, fences[1], None);
    let steps = [
        track.start(NOW, 5),
        track.bid(NOW + 1, 2, 1_000),
        track.last_call(NOW + 2),
        track.bid(NOW + 3, 4, 1_500),
        track.last_call(NOW + 4),
        track.close(NOW + 5),
        track.start(NOW + 5, 6),
        track.last_call(NOW + 6),
        track.close(NOW + 7),
        track.start(NOW + 7, 7),
    ];
    for change in steps {
        assert_eq!(both(store, &mut model, &[change]).await, [ChangeOutcome::Stored]);
        let row = store.listing(change.listing).await.unwrap();
        assert_eq!(row.as_ref(), model.listings.get(&change.listing));
        let state = store.start_state(change.auction).await.unwrap().expect("it runs");
        assert_eq!(state.latest, row, "the latest listing");
    }
    let states = [item_state(store, 5).await, item_state(store, 6).await, item_state(store, 7).await];
    assert_eq!(states, [ItemState::Sold, ItemState::InAuction, ItemState::Active]);
    assert_eq!((credit(store, 4).await, credit(store, 2).await), (CREDIT - 1_500, CREDIT));
    let page = store.purchases(UserId(4), Span { from: NOW, to: NOW + 6 }, ALL).await.unwrap();
    let bought: Vec<_> = page.items.iter().map(|p| (p.item_id.0, p.amount_cents, p.sold_ms)).collect();
    assert_eq!(bought, [(5, 1_500, NOW + 5)]);
    let leader = store.start_state(steps[5].auction).await.unwrap().expect("it runs");
    assert_eq!(leader.items.len(), 3, "sold items stay on the list");
    loaded_goes_on(store, &mut model, fences[0]).await;
}

/// A loaded listing continues from its state.
async fn loaded_goes_on<S: Relational + ?Sized>(store: &S, model: &mut Model, fence: i64) {
    let mut track = Track::new(ONGOING, fence, Some(&open_listing()));
    let steps = [
        track.last_call(NOW),
        track.bid(NOW + 1, 5, 750),
        track.last_call(NOW + 2),
        track.close(NOW + 3),
        track.start(NOW + 3, 2),
    ];
    assert_eq!(both(store, model, &steps).await, [ChangeOutcome::Stored; 5]);
    let row = store.listing(open_listing().id).await.unwrap().expect("the loaded listing");
    assert_eq!((row.sequence, row.bidder_id, row.start_ms), (7, 5, open_listing().start_ms));
    assert_eq!(credit(store, 5).await, CREDIT - 750);
}

pub(super) async fn repeated<S: Relational + Registry + ?Sized>(store: &S) {
    let fences = own(store, "node", &[UNTOUCHED]).await;
    let mut model = Model::new(&[UNTOUCHED], &fences);
    let mut track = Track::new(UNTOUCHED, fences[0], None);
    let mut changes = vec![track.start(NOW, 5)];
    changes.extend((1..6).map(|n| track.bid(NOW + n, n + 1, 1_000 * n)));
    changes.extend([track.last_call(NOW + 6), track.close(NOW + 7), track.start(NOW + 7, 6)]);
    both(store, &mut model, &changes[..3]).await;
    both(store, &mut model, &changes[..3]).await;
    both(store, &mut model, &changes[1..6]).await;
    both(store, &mut model, &changes).await;
    for _ in 0..3 {
        assert_eq!(both(store, &mut model, &changes).await, [ChangeOutcome::Stored; 9]);
    }
    assert_eq!(credit(store, 6).await, CREDIT - 5_000, "money is taken once");
    let twice: Vec<Change> = changes.iter().flat_map(|c| [*c, *c]).collect();
    assert_eq!(both(store, &mut model, &twice).await, [ChangeOutcome::Stored; 18]);
    let mut new = vec![changes[7], changes[8]];
    new.extend([track.bid(NOW + 8, 7, 9_000), track.last_call(NOW + 9), track.close(NOW + 10)]);
    let last: Vec<Change> = new.iter().flat_map(|c| [*c, *c]).collect();
    assert_eq!(
        both(store, &mut model, &last).await,
        [ChangeOutcome::Stored; 10],
        "new ones twice in one batch"
    );
    assert_eq!(credit(store, 7).await, CREDIT - 9_000);
}

pub(super) async fn unpaid<S: Relational + Registry + ?Sized>(store: &S) {
    let auctions = [UNTOUCHED, BETWEEN];
    let fences = own(store, "node", &auctions).await;
    let mut model = Model::new(&auctions, &fences);
    let mut first = Track::new(UNTOUCHED, fences[0], None);
    let mut second = Track::new(BETWEEN, fences[1], Some(&closed_listing()));
    let changes = [
        first.start(NOW, 5),
        second.start(NOW, 9),
        first.bid(NOW + 1, 2, 80_000),
        second.bid(NOW + 1, 2, 30_000),
        first.last_call(NOW + 2),
        second.last_call(NOW + 2),
        first.close(NOW + 3),
        second.close(NOW + 3),
        first.start(NOW + 3, 6),
        second.start(NOW + 3, 9),
    ];
    let mut expected = [ChangeOutcome::Stored; 10];
    expected[7] = ChangeOutcome::Unpaid;
    assert_eq!(both(store, &mut model, &changes).await, expected);
    assert_eq!(both(store, &mut model, &changes).await, expected, "the same answer again");
    assert_eq!((credit(store, 2).await, item_state(store, 9).await), (20_000, ItemState::Active));
    let row = store.listing(changes[7].listing).await.unwrap().expect("the unpaid listing");
    assert_eq!((row.sequence, row.bidder_id, row.amount_cents), (4, 2, 30_000));
    let exact = [
        second.bid(NOW + 4, 2, 20_000),
        second.last_call(NOW + 5),
        second.close(NOW + 6),
        first.bid(NOW + 7, 2, 1_000),
        first.last_call(NOW + 8),
        first.close(NOW + 9),
    ];
    let mut expected = [ChangeOutcome::Stored; 6];
    expected[5] = ChangeOutcome::Unpaid;
    assert_eq!(both(store, &mut model, &exact).await, expected, "the last cent can be spent");
    assert_eq!(credit(store, 2).await, 0);
    assert_eq!(item_state(store, 6).await, ItemState::InAuction);
    assert_eq!(
        store.purchases(UserId(2), Span { from: NOW, to: NOW + 99 }, ALL).await.unwrap().total_records,
        2
    );
}

/// One buyer wins three auctions at once and can pay for two.
pub(super) async fn at_the_same_time<S: Relational + Registry + ?Sized>(store: &S) {
    let auctions = [ONGOING, UNTOUCHED, BETWEEN];
    let fences = own(store, "node", &auctions).await;
    let sale = |auction: i64, fence: i64, latest, item: i64| {
        let mut track = Track::new(auction, fence, latest);
        let first = track.start(NOW, item);
        vec![first, track.bid(NOW + 1, 7, 40_000), track.last_call(NOW + 2), track.close(NOW + 3)]
    };
    let (one, two, three) = (
        sale(ONGOING, fences[0], Some(&open_listing()), 2),
        sale(UNTOUCHED, fences[1], None, 5),
        sale(BETWEEN, fences[2], Some(&closed_listing()), 9),
    );
    let (a, b, c) = tokio::join!(store.apply(&one), store.apply(&two), store.apply(&three));
    let last: Vec<ChangeOutcome> = [a, b, c].map(|r| r.unwrap()[3]).to_vec();
    assert_eq!(last.iter().filter(|a| **a == ChangeOutcome::Unpaid).count(), 1, "{last:?}");
    assert_eq!(last.iter().filter(|a| **a == ChangeOutcome::Stored).count(), 2, "{last:?}");
    assert_eq!(credit(store, 7).await, CREDIT - 80_000);
    let again = [store.apply(&one).await, store.apply(&two).await, store.apply(&three).await];
    assert_eq!(again.map(|r| r.unwrap()[3]).to_vec(), last, "the same answers again");
    assert_eq!(credit(store, 7).await, CREDIT - 80_000);
}

/// A batch of the largest size of an owner.
pub(super) async fn large<S: Relational + Registry + ?Sized>(store: &S) {
    let auctions = [UNTOUCHED, BETWEEN];
    let fences = own(store, "node", &auctions).await;
    let mut model = Model::new(&auctions, &fences);
    let mut first = Track::new(UNTOUCHED, fences[0], None);
    let mut second = Track::new(BETWEEN, fences[1], Some(&closed_listing()));
    let mut changes = vec![first.start(NOW, 5), second.start(NOW, 9)];
    for n in 1..128 {
        changes.push(first.bid(NOW + n, 1 + n % 11, 1_000 + n));
        changes.push(second.bid(NOW + n, 1 + n % 7, 2_000 + n));
    }
    assert_eq!(both(store, &mut model, &changes).await, [ChangeOutcome::Stored; 256]);
    assert_eq!(both(store, &mut model, &changes).await, [ChangeOutcome::Stored; 256]);
}
