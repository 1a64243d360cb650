//! Tests of whole fills at the smallest size.

use super::*;
use crate::sizes;
use rusqlite::Connection;
use std::path::Path;

fn plan(dir: &Path) -> FillPlan {
    let factors = Factors::new(0.1, 0.02).unwrap();
    FillPlan { dir: dir.to_owned(), size: sizes::find("nano").unwrap(), factors, seed: 42, threads: 2 }
}

fn fill_quietly(plan: &FillPlan) -> Result<FillResult, FillError> {
    fill(plan, &mut |_| {})
}

fn open(plan: &FillPlan) -> Connection {
    let store = Connection::open(plan.dir.join("pristine/relational.db")).unwrap();
    let events = plan.dir.join("pristine/events.db");
    store.execute("ATTACH ? AS events", [events.to_str().unwrap()]).unwrap();
    store
}

/// The first value of the first row of a query.
fn one(store: &Connection, query: &str) -> i64 {
    store.query_row(query, [], |row| row.get(0)).unwrap_or_else(|why| panic!("{query}: {why}"))
}

#[test]
fn a_fill_holds_the_promised_rows_and_they_fit_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let mut last = None;
    let filled = fill(&plan, &mut |progress| last = Some(progress)).unwrap();
    assert!(!filled.reused);
    assert_eq!(last, Some(Progress { stage: Stage::Flush, done: 1, total: 1 }));
    let rows = filled.marker.rows;
    assert_eq!(rows, plan.rows());
    assert_eq!((rows.users, rows.auctions), (303, 4 + 15 + 4));
    let store = open(&plan);
    for (table, count) in [
        ("user", rows.users),
        ("auction", rows.auctions),
        ("item", rows.items),
        ("high_bid", rows.high_bids),
        ("bid", rows.bids),
        ("attendance", rows.attendance),
        ("image", rows.images),
    ] {
        assert_eq!(one(&store, &format!("SELECT count(*) FROM {table}")) as u64, count, "{table}");
    }
    for (what, query) in [
        ("items without auction", "item WHERE auction_id NOT IN (SELECT id FROM auction)"),
        ("items of other sellers", "item i JOIN auction a ON a.id = i.auction_id WHERE a.auctioneer_id <> i.auctioneer_id"),
        ("auctions without seller", "auction WHERE auctioneer_id NOT IN (SELECT id FROM user)"),
        ("bids on no item", "bid WHERE item_id NOT IN (SELECT id FROM item)"),
        ("bids by nobody", "bid WHERE bidder_id NOT IN (SELECT id FROM user WHERE id > 0)"),
        ("bids of sellers", "bid b JOIN item i ON i.id = b.item_id WHERE i.auctioneer_id = b.bidder_id"),
        ("attendance by nobody", "attendance WHERE user_id NOT IN (SELECT id FROM user WHERE id > 0)"),
        ("attendance nowhere", "attendance d LEFT JOIN auction a ON a.id = d.auction_id WHERE a.name IS NOT d.auction_name"),
        ("images of no item", "image WHERE item_id NOT IN (SELECT id FROM item)"),
        ("items without image", "item WHERE id NOT IN (SELECT item_id FROM image)"),
        ("sold items without sale", "item WHERE state = 3 AND id NOT IN (SELECT item_id FROM high_bid WHERE state = 2)"),
        ("sales of other items", "high_bid h JOIN item i ON i.id = h.item_id WHERE h.state = 2 AND i.state <> 3"),
        (
            "high bids that are not the greatest bid",
            "high_bid h WHERE NOT EXISTS (SELECT 1 FROM bid b WHERE b.item_id = h.item_id AND b.bidder_id = h.bidder_id
               AND b.amount_cents = h.amount_cents AND b.bid_ms = h.bid_ms
               AND b.amount_cents = (SELECT max(amount_cents) FROM bid WHERE item_id = h.item_id))",
        ),
        ("bids not above the start", "bid b JOIN item i ON i.id = b.item_id WHERE b.amount_cents <= i.starting_bid_cents"),
        ("shared image ids", "(SELECT id FROM image GROUP BY id HAVING count(*) > 1)"),
        ("shared bid ids", "(SELECT id FROM bid GROUP BY id HAVING count(*) > 1)"),
        ("shared attendance ids", "(SELECT id FROM attendance GROUP BY id HAVING count(*) > 1)"),
    ] {
        assert_eq!(one(&store, &format!("SELECT count(*) FROM {query}")), 0, "{what}");
    }
    let purchases = one(&store, "SELECT count(*) FROM high_bid WHERE state = 2");
    assert_eq!(purchases, 150, "every item of the past was bought");
}

#[test]
fn current_auctions_start_in_the_midst_of_their_first_item() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    fill_quietly(&plan).unwrap();
    let store = open(&plan);
    let first = "SELECT min(i.id) FROM item i JOIN high_bid h ON h.item_id = i.id";
    assert_eq!(one(&store, first), 1);
    let open = "high_bid h JOIN item i ON i.id = h.item_id WHERE h.state = 0";
    assert_eq!(one(&store, &format!("SELECT count(*) FROM {open}")), 4);
    let odd = "AND (h.sequence < 2 OR i.state <> 2 OR h.amount_cents <= i.starting_bid_cents
        OR i.id <> (SELECT min(id) FROM item WHERE auction_id = h.auction_id))";
    assert_eq!(one(&store, &format!("SELECT count(*) FROM {open} {odd}")), 0);
    assert_eq!(one(&store, "SELECT count(*) FROM auction WHERE state = 2 AND id <= 4"), 4);
    let waiting =
        "SELECT count(*) FROM item i JOIN auction a ON a.id = i.auction_id WHERE a.state = 2 AND i.state = 1";
    let current =
        one(&store, "SELECT count(*) FROM item i JOIN auction a ON a.id = i.auction_id WHERE a.state = 2");
    assert_eq!(one(&store, waiting), current - 4);
    let per_auction =
        "SELECT count(*) FROM (SELECT count(*) n FROM item i JOIN auction a ON a.id = i.auction_id
        WHERE a.state = 2 GROUP BY a.id HAVING n NOT BETWEEN 10 AND 20)";
    assert_eq!(one(&store, per_auction), 0);
}

#[test]
fn past_and_future_stay_on_their_sides_of_the_present() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    fill_quietly(&plan).unwrap();
    let (store, now) = (open(&plan), barograph_auction_store::CLOCK_START_MS);
    let count = |rows: &str| one(&store, &format!("SELECT count(*) FROM {rows}"));
    let day = 86_400_000_i64;
    assert_eq!(
        count(&format!("auction WHERE state = 3 AND (end_ms > {now} OR start_ms < {})", now - 730 * day)),
        0
    );
    assert_eq!(
        count(&format!(
            "auction WHERE state = 0 AND (start_ms < {} OR start_ms > {})",
            now + day,
            now + 182 * day
        )),
        0
    );
    assert_eq!(count(&format!("bid WHERE bid_ms > {now}")), 0);
    assert_eq!(count("high_bid WHERE state = 2 AND (end_ms - start_ms <> 300000 OR sequence <> 23)"), 0);
    let steps = "(SELECT amount_cents - lag(amount_cents) OVER (PARTITION BY item_id ORDER BY sequence) step,
        state FROM bid) WHERE step IS NOT NULL AND step <> 2000";
    assert_eq!(count(steps), 0);
    assert_eq!(count("bid WHERE state = 1"), 150);
}

#[test]
fn users_log_in_with_the_shared_password_and_have_salts_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    fill_quietly(&plan).unwrap();
    let store = open(&plan);
    assert_eq!(one(&store, "SELECT count(DISTINCT password) FROM user"), 303);
    assert_eq!(
        one(&store, "SELECT count(*) FROM user WHERE credit_cents = 100000000 AND token IS NULL"),
        303
    );
    let query = "SELECT password FROM user WHERE id = 17 AND name = ?";
    let name = barograph_data::names::user_name(17);
    let phc: String = store.query_row(query, [name], |row| row.get(0)).unwrap();
    assert!(crate::auth::verify(barograph_data::names::PASSWORD, &phc));
    assert_eq!(one(&store, "SELECT id FROM user WHERE enabled = 0"), barograph_auction_rules::UNSOLD.0);
}

#[test]
fn every_image_has_its_files_and_no_file_is_left_over() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let filled = fill_quietly(&plan).unwrap();
    let store = open(&plan);
    let mut images = store.prepare("SELECT id, sizes FROM image").unwrap();
    let images = images.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap();
    let (mut files, mut bytes) = (0, 0);
    for (id, sizes) in images.map(Result::unwrap) {
        for (bit, name) in [(1, "thumbnail"), (2, "preview"), (4, "full")] {
            let path = plan.dir.join(format!("images/{name}/{}/{id}.jpg", id / 1_000));
            assert_eq!(path.exists(), sizes & bit != 0, "{}", path.display());
            if let Ok(content) = std::fs::read(&path) {
                assert!(content.starts_with(&[0xFF, 0xD8]) && content.ends_with(&[0xFF, 0xD9]));
                files += 1;
                bytes += content.len() as u64;
            }
        }
    }
    assert_eq!((files, bytes), (filled.marker.rows.files, filled.marker.image_bytes));
}

#[test]
fn a_second_fill_reuses_the_first_and_another_plan_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let first = fill_quietly(&plan).unwrap();
    let mut calls = 0;
    let second = fill(&FillPlan { threads: 1, ..plan.clone() }, &mut |_| calls += 1).unwrap();
    assert!(second.reused && calls == 0);
    assert_eq!(second.marker, first.marker);
    let other = FillPlan { seed: 43, ..plan.clone() };
    assert_ne!(other.stamp(), plan.stamp());
    let refusal = fill_quietly(&other).unwrap_err();
    assert!(matches!(refusal, FillError::OtherPlan { .. }));
    let text = refusal.to_string();
    assert!(text.contains("seed 42") && text.contains("seed 43"), "{text}");
    assert_eq!(Marker::read(dir.path()).unwrap(), Some(first.marker));
}

#[test]
fn a_fill_that_was_stopped_leaves_no_marker_and_the_next_one_starts_afresh() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path());
    let stop = AtomicBool::new(false);
    let stopped = fill_unless(&plan, &stop, &mut |progress| {
        if progress.stage == Stage::Library && progress.done == 1 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(matches!(stopped, Err(FillError::Stopped)));
    assert_eq!(Marker::read(dir.path()).unwrap(), None);
    let stale = dir.path().join("images/thumbnail/0/999.jpg");
    std::fs::write(&stale, b"stale").unwrap();
    let filled = fill_quietly(&plan).unwrap();
    assert!(!filled.reused && !stale.exists());
    assert_eq!(one(&open(&plan), "SELECT count(*) FROM user") as u64, filled.marker.rows.users);
}

#[test]
fn equal_plans_give_equal_files_whatever_the_threads() {
    let content = |threads| {
        let dir = tempfile::tempdir().unwrap();
        fill_quietly(&FillPlan { threads, ..plan(dir.path()) }).unwrap();
        let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
        ["pristine/relational.db", "pristine/events.db", "images/full/0/7.jpg"].map(read)
    };
    let (one, two) = (content(1), content(3));
    assert!(one == two, "the files differ");
}

#[test]
fn folders_with_other_things_in_them_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("thesis.tex");
    std::fs::write(&precious, b"years of work").unwrap();
    let refusal = fill_quietly(&plan(dir.path())).unwrap_err();
    assert!(matches!(refusal, FillError::NotOurs { .. }), "{refusal}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(precious.exists());
}

#[test]
fn two_fills_of_one_folder_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let held = folder::FillFolder::take(dir.path()).unwrap();
    assert!(matches!(fill_quietly(&plan(dir.path())), Err(FillError::Busy { .. })));
    drop(held);
    assert!(fill_quietly(&plan(dir.path())).is_ok());
}

#[test]
fn a_marker_of_garbage_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(Marker::path(dir.path()), b"{\"format\": \"yes\"").unwrap();
    let failure = fill_quietly(&plan(dir.path())).unwrap_err();
    assert!(
        matches!(failure, FillError::Marker { .. }) && failure.to_string().contains("marker.json"),
        "{failure}"
    );
}
