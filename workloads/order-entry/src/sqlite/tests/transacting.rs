//! Transactions: what they leave in the database, alone and side by side.

use barograph_database::measures::{BUSY, WRITES};
use barograph_database::sqlite::Connection;
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext};
use barograph_model::{OpId, Outcome, UserId};
use futures::FutureExt as _;

use super::rig::Rig;
use crate::input::{District, Key};
use crate::measures::NEW_ORDERS;
use crate::session::{Access, Demand, Session as _, TransactionError, Transactions as _};
use crate::tally::{Counts, Totals};
use crate::user::Transaction;

/// The result of a call, which never waits.
fn ready<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

fn session(rig: &Rig) -> Connection {
    let mut session = Connection::open(&rig.users().connecting).unwrap();
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
    assert_eq!(rig.transact(4, 400), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let Counts { orders, payments, cents, delivered } = rig.shared.tally.counted().committed;
    // 1,600 cards of 23.
    assert!((660..=696).contains(&orders) && (660..=696).contains(&payments), "{orders} {payments}");
    assert!(cents > payments * 100 && delivered > 600, "{cents} {delivered}");
}

#[test]
fn a_seed_repeats_the_state_after_a_run() {
    let (one, again) = (Rig::of_seed(3), Rig::of_seed(3));
    for rig in [&one, &again] {
        assert_eq!(rig.transact(1, 200), 0);
        // Dates are those of the day.
        rig.connection()
            .execute_batch(
                "UPDATE orders SET o_entry_d = 0; UPDATE order_line SET ol_delivery_d = 0 \
                            WHERE ol_delivery_d IS NOT NULL; UPDATE history SET h_date = 0",
            )
            .unwrap();
    }
    assert_eq!(super::rig::digests(&one.copy), super::rig::digests(&again.copy));
}

#[test]
fn stock_is_filled_up_before_fewer_than_ten_are_left() {
    let rig = Rig::new();
    let mut session = session(&rig);
    let mut info = String::new();
    for (before, quantity, after) in [(30, 10, 20), (20, 10, 10), (19, 10, 100), (10, 1, 100), (100, 1, 99)] {
        rig.left(&mut session, before);
        let taken = Demand { supply: 2, item: 5, quantity, is_remote: true, district: 10 };
        info.clear();
        ready(session.take_stock(taken, &mut info)).unwrap();
        assert_eq!(rig.stock(&mut session), after, "{before} less {quantity}");
    }
    assert_eq!(info.len(), 24);
    let unknown = Demand { supply: 3, item: 5, quantity: 1, is_remote: true, district: 1 };
    assert_eq!(ready(session.take_stock(unknown, &mut info)), Err(TransactionError::missing("stock")));
}

impl Rig {
    fn left(&self, session: &mut Connection, quantity: i64) {
        let sql = format!("UPDATE stock SET s_quantity = {quantity} WHERE s_w_id = 2 AND s_i_id = 5");
        session.change_one(&sql, [], "stock").unwrap();
    }

    fn stock(&self, session: &mut Connection) -> i64 {
        session.number("SELECT s_quantity FROM stock WHERE s_w_id = 2 AND s_i_id = 5", [], "stock").unwrap()
    }
}

#[test]
fn the_data_of_bad_credit_begin_with_the_latest_payment_and_are_cut() {
    let rig = Rig::new();
    let mut session = session(&rig);
    let customer = Key { of: District { w: 1, d: 2 }, id: 3 };
    for (credit, kept) in [("GC", 0), ("BC", 1)] {
        let sql = "UPDATE customer SET c_credit = ?, c_data = ? WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3";
        session.change_one(sql, (credit, "x".repeat(500)), "customer").unwrap();
        ready(session.pay(customer, 500, "3 2 1 2 1 500 ")).unwrap();
        let data = "FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 3";
        assert_eq!(session.number(&format!("SELECT length(c_data) {data}"), [], "data"), Ok(500));
        let begins = format!("SELECT c_data LIKE '3 2 1 2 1 500 xx%' {data}");
        assert_eq!(session.number(&begins, [], "data"), Ok(kept), "{credit}");
    }
    assert_eq!(ready(session.balance(customer)), Ok(-1_000 - 2 * 500));
}

#[test]
fn deliveries_take_the_oldest_order_until_none_is_left() {
    let rig = Rig::new();
    let (of, open) = (District { w: 1, d: 1 }, rig.generator.size.delivered() + 1);
    let mut session = session(&rig);
    for expected in open..=rig.generator.size.customers {
        assert_eq!(ready(session.take_oldest(of)), Ok(Some(expected)));
    }
    assert_eq!(ready(session.take_oldest(of)), Ok(None));
}

#[test]
fn a_held_lock_is_waited_for_counted_and_given_up() {
    let rig = Rig::new();
    let holder = rig.connection();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    assert_eq!(user.act(Transaction::Payment.op(), &mut context), Outcome::Refused);
    assert_eq!((context.added(BUSY), context.added(WRITES), context.added(NEW_ORDERS)), (10, 1, 0));
    // Readers do not wait.
    assert_eq!(user.act(Transaction::StockLevel.op(), &mut context), Outcome::Good);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(user.act(Transaction::Payment.op(), &mut context), Outcome::Good);
    assert_eq!(context.added(BUSY), 10);
    let reasons = rig.shared.reasons.lock().unwrap();
    assert_eq!(reasons.of(OpId(1))[0].why, "met other transactions 10 times");
}

#[test]
fn a_failure_in_the_middle_leaves_nothing_behind() {
    let rig = Rig::new();
    // Stock of a warehouse is gone: its New-Orders fail at their first line.
    rig.connection().execute_batch("DELETE FROM stock WHERE s_w_id = 1").unwrap();
    let mut user = rig.users().user(UserId(0));
    let mut context = OpContext::for_test();
    assert_eq!(user.act(OpId(0), &mut context), Outcome::WrongAnswer);
    assert_eq!(rig.shared.reasons.lock().unwrap().of(OpId(0))[0].why, "no stock");
    let rows = rig.connection().query_row(
        "SELECT count(*) FROM orders WHERE o_id > ?",
        [rig.generator.size.customers],
        |row| row.get::<_, i64>(0),
    );
    assert_eq!((rows, rig.shared.tally.counted()), (Ok(0), Totals::default()));
}

#[test]
fn a_file_that_is_gone_is_a_broken_connection() {
    let rig = Rig::new();
    std::fs::remove_file(&rig.copy).unwrap();
    let mut user = rig.users().user(UserId(0));
    assert_eq!(user.act(OpId(2), &mut OpContext::for_test()), Outcome::Broken);
    assert!(!rig.copy.exists());
}
