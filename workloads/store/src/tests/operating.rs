//! Operations: what they leave in the database, alone and side by side.

use barograph_database::measures::{BUSY, WRITES};
use barograph_database::sqlite::Connection;
use barograph_database::{Access, TransactionError, Transactions as _};
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext};
use barograph_model::{ChooserId, OpId, Outcome, Share, UserId};
use futures::FutureExt as _;

use super::rig::{HABITS, Rig, digests};
use crate::generate::FULL;
use crate::input::Habits;
use crate::measures::{ORDERS, RESTOCKS, SHORTAGES, TITLE_HITS};
use crate::session::{Field, Page, Session as _};
use crate::tally::{Counts, Totals};
use crate::user::Operation;
use crate::words::Word;

/// The result of a call, which never waits.
fn ready<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

fn session(rig: &Rig) -> Connection {
    let mut session = Connection::open(&rig.connecting()).unwrap();
    ready(session.begin(Access::Write, &mut OpContext::for_test())).unwrap();
    session
}

#[test]
fn a_fill_is_consistent() {
    assert_eq!(Rig::new().wrong(), Vec::<String>::new());
}

#[test]
fn users_side_by_side_leave_a_consistent_database() {
    let rig = Rig::new();
    assert_eq!(rig.visit(4, 1_000), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let Counts { customers, orders, sale } = rig.shared.tally.counted().committed;
    // 4,000 operations are about 800 visits: 160 new customers, 760 orders.
    assert!((100..220).contains(&customers) && (690..830).contains(&orders), "{customers} {orders}");
    assert!(sale.lines > 4 * orders && sale.units > sale.lines && sale.restocks > 0, "{sale:?}");
}

#[test]
fn a_seed_repeats_the_state_after_a_run() {
    let (one, again) = (Rig::of(3, HABITS), Rig::of(3, HABITS));
    for rig in [&one, &again] {
        assert_eq!(rig.visit(1, 500), 0);
        // Dates are those of the day.
        rig.connection()
            .execute_batch("UPDATE orders SET o_date = 0; UPDATE reorder SET r_date = 0")
            .unwrap();
    }
    assert_eq!(digests(&one.copy), digests(&again.copy));
}

#[test]
fn a_visit_is_a_login_searches_and_a_purchase() {
    let rig = Rig::of(1, Habits { new_customers: Share::percent(50.0), ..HABITS });
    let mut user = rig.users().user(UserId(0));
    let (mut context, mut visits, mut searches, mut new) = (OpContext::for_test(), 0, 0, 0);
    for _ in 0..200 {
        let begin = user.choose(ChooserId(0), &mut context);
        assert!(begin <= Operation::NewCustomer as usize, "{begin}");
        new += begin;
        assert_eq!(user.act(OpId(begin as u8), &mut context), Outcome::Good);
        let mut in_a_row = 0;
        loop {
            let op = user.choose(ChooserId(0), &mut context);
            assert_eq!(user.act(OpId(op as u8), &mut context), Outcome::Good);
            if op == Operation::Purchase as usize {
                break;
            }
            in_a_row += 1;
        }
        assert!((1..=5).contains(&in_a_row), "{in_a_row}");
        (visits, searches) = (visits + 1, searches + in_a_row);
    }
    assert!((540..660).contains(&searches) && (70..130).contains(&new), "{visits}: {searches} {new}");
}

#[test]
fn few_left_are_restocked_and_noted() {
    let rig = Rig::of(1, Habits { lines: 1, shortages: Share::ZERO, ..HABITS });
    rig.connection().execute_batch("UPDATE inventory SET i_stock = 3 WHERE i_stock > 0").unwrap();
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    assert_eq!(user.act(Operation::Purchase.op(), &mut context), Outcome::Good);
    assert_eq!((context.added(ORDERS), context.added(RESTOCKS)), (1, 1));
    let units = rig.number("SELECT sum(i_sold) FROM inventory");
    assert_eq!(
        rig.number(&format!("SELECT count(*) FROM inventory WHERE i_stock = {FULL} AND i_sold = {units}")),
        1
    );
    let noted =
        format!("SELECT count(*) FROM reorder WHERE r_low = 3 - {units} AND r_quantity = {FULL} - r_low");
    assert_eq!(rig.number(&noted), 1);
}

#[test]
fn stock_is_lowered_only_where_there_is_enough() {
    let rig = Rig::new();
    let mut session = session(&rig);
    session.change("UPDATE inventory SET i_stock = 5 WHERE i_product = 7", []).unwrap();
    for (quantity, left) in [(3, Some(2)), (3, None), (2, Some(0)), (1, None)] {
        assert_eq!(ready(session.take_stock(7, quantity)), Ok(left), "{quantity}");
    }
    ready(session.restock(7, 0, FULL)).unwrap();
    assert_eq!(session.number("SELECT i_stock FROM inventory WHERE i_product = 7", [], "stock"), Ok(FULL));
    assert_eq!(session.number("SELECT i_sold FROM inventory WHERE i_product = 7", [], "stock"), Ok(5));
    assert_eq!(ready(session.take_stock(999, 1)), Ok(None));
    assert_eq!(ready(session.price(999)), Ok(None));
    assert_eq!(ready(session.restock(999, 0, FULL)), Err(TransactionError::missing("stock of a product")));
}

#[test]
fn a_planned_shortage_is_no_failure_and_leaves_nothing_behind() {
    let rig = Rig::of(1, Habits { shortages: Share::percent(100.0), ..HABITS });
    let before = digests(&rig.copy);
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    for _ in 0..20 {
        assert_eq!(user.act(Operation::Purchase.op(), &mut context), Outcome::Good);
    }
    assert_eq!((context.added(SHORTAGES), context.added(ORDERS), context.added(WRITES)), (20, 0, 20));
    assert_eq!((digests(&rig.copy), rig.shared.tally.counted()), (before, Totals::default()));
}

#[test]
fn stock_that_is_wrong_fails_purchases() {
    let short = Rig::of(1, Habits { shortages: Share::percent(100.0), lines: 1, ..HABITS });
    short.connection().execute_batch("UPDATE inventory SET i_stock = 9").unwrap();
    let full = Rig::of(1, Habits { shortages: Share::ZERO, ..HABITS });
    full.connection().execute_batch("UPDATE inventory SET i_stock = 0").unwrap();
    for (rig, why) in
        [(&short, "stock of a product that is sold out"), (&full, "no stock of a product that is restocked")]
    {
        let before = digests(&rig.copy);
        let mut user = rig.users().user(UserId(0));
        assert_eq!(user.act(Operation::Purchase.op(), &mut OpContext::for_test()), Outcome::WrongAnswer);
        assert_eq!(rig.shared.reasons.lock().unwrap().of(Operation::Purchase.op())[0].why, why);
        assert_eq!((digests(&rig.copy), rig.shared.tally.counted()), (before, Totals::default()));
    }
}

/// Titles and actors by comparison of all of them, word by word.
fn numbers(rig: &Rig, column: &str, words: [&str; 2]) -> Vec<i64> {
    let connection = rig.connection();
    let mut all = connection.prepare(&format!("SELECT p_id, {column} FROM products ORDER BY p_id")).unwrap();
    let rows = all.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    let has = |text: &str| words.iter().all(|word| text.split(' ').any(|other| other == *word));
    rows.map(Result::unwrap).filter(|(_, text)| has(text)).map(|(id, _)| id).collect()
}

#[test]
fn searches_find_the_products_with_both_words() {
    let rig = Rig::new();
    let mut session = session(&rig);
    let generator = rig.target.contents();
    let mut several = 0;
    for product in (1..=560).step_by(7) {
        let [first, _, third] = generator.title(product);
        for (field, column, words) in
            [(Field::Title, "p_title", [third, first]), (Field::Actor, "p_actor", generator.actor(product))]
        {
            let words = words.map(|word| word.to_string());
            let words = words.each_ref().map(String::as_str);
            let expected = numbers(&rig, column, words);
            assert!(expected.contains(&product));
            assert_eq!(
                ready(session.search(field, words, 1_000, &mut Page::default())),
                Ok(expected.len() as i64),
                "{words:?}"
            );
            assert_eq!(ready(session.search(field, words, 1, &mut Page::default())), Ok(1), "{words:?}");
            several += usize::from(expected.len() > 1);
        }
    }
    assert!(several > 20, "{several}");
    // A word of titles is not one of names, and a part of a word is not a word.
    let [title, unused] = [generator.title(1)[0], Word::unused(3)].map(|word| word.to_string());
    for words in [[title.as_str(), unused.as_str()], [&title[..6], &title]] {
        assert_eq!(ready(session.search(Field::Title, words, 9, &mut Page::default())), Ok(0), "{words:?}");
    }
    assert_eq!(ready(session.search(Field::Actor, [&title, &title], 9, &mut Page::default())), Ok(0));
}

/// The plan of every statement that reads a table of products or customers names an index or a key.
#[test]
fn searches_use_an_index() {
    let rig = Rig::new();
    for sql in [
        "SELECT c_id FROM customers WHERE c_username = 'x' AND c_password = 'y'",
        "SELECT p_id FROM products WHERE p_category = 3 AND p_special = 1 ORDER BY p_id LIMIT 5",
        "SELECT p_id FROM products_text JOIN products ON p_id = products_text.rowid \
         WHERE products_text MATCH 'title : (a AND b)' ORDER BY products_text.rowid LIMIT 5",
        "SELECT p.p_title, q.p_title FROM history JOIN products p ON p.p_id = h_product \
         JOIN products q ON q.p_id = p.p_common WHERE h_customer = 1 ORDER BY h_order DESC, h_number DESC LIMIT 5",
    ] {
        let connection = rig.connection();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps: Vec<String> = plan.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        let is_read = |step: &String| step.starts_with("SEARCH") || step.contains("VIRTUAL TABLE INDEX");
        assert!(!steps.is_empty() && steps.iter().all(is_read), "{sql}: {steps:?}");
    }
}

#[test]
fn answers_that_are_wrong_fail_searches_and_logins() {
    let rig = Rig::of(1, Habits { title_hits: Share::percent(100.0), ..HABITS });
    let emptied = "UPDATE customers SET c_password = 'x'; UPDATE products SET p_special = 0; \
                   INSERT INTO products_text (products_text) VALUES ('delete-all')";
    rig.connection().execute_batch(emptied).unwrap();
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    for (operation, why) in [
        (Operation::Login, "no customer with this name and password"),
        (Operation::BrowseByCategory, "no special offer of a category"),
        (Operation::BrowseByTitle, "no product with words that one has"),
        (Operation::BrowseByActor, "no product with words that one has"),
    ] {
        assert_eq!(user.act(operation.op(), &mut context), Outcome::WrongAnswer, "{operation:?}");
        assert_eq!(rig.shared.reasons.lock().unwrap().of(operation.op())[0].why, why);
    }
    assert_eq!(context.added(TITLE_HITS), 0);
}

#[test]
fn a_held_lock_is_waited_for_counted_and_given_up() {
    let rig = Rig::new();
    let holder = rig.connection();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    assert_eq!(user.act(Operation::NewCustomer.op(), &mut context), Outcome::Refused);
    assert_eq!((context.added(BUSY), context.added(WRITES)), (10, 1));
    // Readers do not wait. A failed registration ends the visit.
    assert!(user.choose(ChooserId(0), &mut context) <= Operation::NewCustomer as usize);
    assert_eq!(user.act(Operation::Login.op(), &mut context), Outcome::Good);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(user.act(Operation::NewCustomer.op(), &mut context), Outcome::Good);
    assert_eq!(context.added(BUSY), 10);
    let reasons = rig.shared.reasons.lock().unwrap();
    assert_eq!(reasons.of(Operation::NewCustomer.op())[0].why, "met other transactions 10 times");
}

#[test]
fn a_file_that_is_gone_is_a_broken_connection() {
    let rig = Rig::new();
    std::fs::remove_file(&rig.copy).unwrap();
    let mut user = rig.users().user(UserId(0));
    assert_eq!(user.act(Operation::Login.op(), &mut OpContext::for_test()), Outcome::Broken);
    assert!(!rig.copy.exists());
}
