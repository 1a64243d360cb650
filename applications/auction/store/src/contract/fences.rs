//! Fences: an owner that has lost an auction writes nothing that counts.

use super::applies::both;
use super::data::{BETWEEN, ONGOING, UNTOUCHED, closed_listing, open_listing};
use super::model::Model;
use super::own;
use super::track::Track;
use crate::{CLOCK_START_MS, ChangeOutcome, Registry, Relational};

/// A time within the run.
const NOW: i64 = CLOCK_START_MS + 30_000;

pub(super) async fn stale<S: Relational + Registry + ?Sized>(store: &S) {
    let auctions = [UNTOUCHED, BETWEEN];
    let old = own(store, "first", &auctions).await;
    let mut model = Model::new(&auctions, &old);
    let mut mine = Track::new(UNTOUCHED, old[0], None);
    let mut kept = Track::new(BETWEEN, old[1], Some(&closed_listing()));
    let begun = [mine.start(NOW, 5), mine.bid(NOW + 1, 2, 900), kept.start(NOW, 9)];
    assert_eq!(both(store, &mut model, &begun).await, [ChangeOutcome::Stored; 3]);
    let new = own(store, "second", &[UNTOUCHED]).await;
    assert!(new[0] > old[0], "a claim raises the fence: {old:?}, {new:?}");
    model.fences.insert(UNTOUCHED, new[0]);
    // An owner that lost the connection during the commit and repeats its changes after the claim.
    let again = both(store, &mut model, &begun).await;
    assert_eq!(
        again,
        [ChangeOutcome::Stored; 3],
        "what is in the store is stored, whoever has the auction by now"
    );
    let mut taken_over = mine.clone();
    taken_over.fence = new[0];
    let mixed = [
        mine.bid(NOW + 2, 3, 1_000),
        kept.bid(NOW + 2, 3, 1_000),
        mine.last_call(NOW + 3),
        mine.close(NOW + 4),
        mine.start(NOW + 4, 6),
        kept.last_call(NOW + 4),
    ];
    use ChangeOutcome::{Fenced, Stored};
    let answers = both(store, &mut model, &mixed).await;
    assert_eq!(answers, [Fenced, Stored, Fenced, Fenced, Fenced, Stored], "only what is fenced is left out");
    assert_eq!(store.listing(mixed[4].listing).await.unwrap(), None, "nothing of it is there");
    let goes_on = [taken_over.bid(NOW + 5, 4, 950), taken_over.last_call(NOW + 6), taken_over.close(NOW + 7)];
    assert_eq!(both(store, &mut model, &goes_on).await, [Stored; 3]);
    assert_eq!(both(store, &mut model, &goes_on).await, [Stored; 3]);
    assert_eq!(both(store, &mut model, &mixed[..1]).await, [Fenced]);
    let mut ahead = Track::new(ONGOING, new[0] + 1_000, Some(&open_listing()));
    assert_eq!(both(store, &mut model, &[ahead.last_call(NOW)]).await, [Fenced], "a fence nobody was given");
}

/// Two owners that claim in turn: the changes of the one that lost leave the other's listing intact.
pub(super) async fn raised_in_between<S: Relational + Registry + ?Sized>(store: &S) {
    let mut fence = own(store, "first", &[UNTOUCHED]).await[0];
    let mut model = Model::new(&[UNTOUCHED], &[fence]);
    let mut track = Track::new(UNTOUCHED, fence, None);
    both(store, &mut model, &[track.start(NOW, 5)]).await;
    for turn in 1..6 {
        let mut stale = track.clone();
        let node = if turn % 2 == 0 { "first" } else { "second" };
        let raised = own(store, node, &[UNTOUCHED]).await[0];
        assert!(raised > fence);
        fence = raised;
        model.fences.insert(UNTOUCHED, fence);
        track.fence = fence;
        let late = stale.bid(NOW + turn, 3, 90_000 + turn);
        assert_eq!(both(store, &mut model, &[late]).await, [ChangeOutcome::Fenced]);
        let fair = track.bid(NOW + turn, 4, 1_000 * turn);
        assert_eq!(both(store, &mut model, &[fair]).await, [ChangeOutcome::Stored]);
    }
}
