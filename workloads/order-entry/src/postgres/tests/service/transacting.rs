//! Transactions: what they leave in the database, alone and side by side.

use std::sync::Arc;

use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_postgres::Client;
use barograph_reactor::block_on;
use barograph_testkit::allocations;
use futures::future::join;

use super::rig::{Rig, digests};
use crate::input::{District, Key};
use crate::measures::{BUSY, DEADLOCKS, NEW_ORDERS, SNAPSHOT, WRITES};
use crate::plan::Form;
use crate::postgres::session::PostgresSession;
use crate::postgres::users::PostgresUsers;
use crate::session::{Access, Conflict, Demand, Session as _, TransactionError};
use crate::sqlite::tests::rig as sqlite;
use crate::user::LoadState;

/// Dates are those of the day.
const WITHOUT_DATES: &str = "UPDATE orders SET o_entry_d = 0; \
     UPDATE order_line SET ol_delivery_d = 0 WHERE ol_delivery_d IS NOT NULL; UPDATE history SET h_date = 0";

#[test]
fn a_seed_leaves_the_same_tables_as_on_sqlite() {
    let Some(rig) = Rig::filled(3) else { return };
    let embedded = sqlite::Rig::of_seed(3);
    assert_eq!(digests(&rig.databases.filled("")), sqlite::digests(&embedded.filled));
    assert_eq!(embedded.transact(1, 300), 0);
    assert_eq!(rig.transact((1, 300), (Form::Statements, ""), &[]), (0, vec![]));
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    embedded.connection().execute_batch(WITHOUT_DATES).unwrap();
    let copy = rig.databases.copy("");
    Rig::run(&copy, WITHOUT_DATES);
    assert_eq!(digests(&copy), sqlite::digests(&embedded.copy));
    // The same by functions.
    let shared = LoadState { tally: Arc::default(), ..(*rig.shared).clone() };
    let rig = Rig { shared: Arc::new(shared), ..rig };
    rig.databases.reset().unwrap();
    rig.databases.add_functions().unwrap();
    assert_eq!(rig.transact((1, 300), (Form::Stored, ""), &[]), (0, vec![]));
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    Rig::run(&copy, WITHOUT_DATES);
    assert_eq!(digests(&copy), sqlite::digests(&embedded.copy));
}

#[test]
fn a_transaction_allocates_nothing() {
    let Some(rig) = Rig::filled(1) else { return };
    rig.databases.add_functions().unwrap();
    for form in [Form::Statements, Form::Stored] {
        let users = PostgresUsers::new(&rig.databases.copy(""), form, &rig.shared);
        let user = users.user(UserId(0));
        block_on(async {
            let mut context = OpContext::for_test();
            let mut before = 0;
            for number in 0..400 {
                // Buffers are warm, and a deck has its full size.
                if number == 200 {
                    before = allocations();
                }
                let op = user.choose(ChooserId(0), &mut context);
                assert_eq!(user.act(OpId(op as u8), &mut context).await, Outcome::Good);
            }
            assert_eq!(allocations() - before, 0, "{form:?}");
        })
        .unwrap();
    }
}

#[test]
fn users_side_by_side_leave_a_consistent_database() {
    let Some(rig) = Rig::filled(1) else { return };
    let (failed, sums) = rig.transact((6, 100), (Form::Statements, ""), &[NEW_ORDERS, WRITES]);
    assert_eq!(failed, 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let counted = rig.shared.tally.counted();
    assert_eq!((counted.committed.orders.unsigned_abs(), counted.in_doubt), (sums[0], Default::default()));
    // At the other levels a transaction that meets another one begins anew.
    for isolation in ["repeatable\\ read", "serializable"] {
        let options = format!("-c default_transaction_isolation={isolation}");
        let (failed, sums) = rig.transact((4, 100), (Form::Statements, &options), &[SNAPSHOT]);
        let reasons = rig.shared.reasons.lock().unwrap();
        // Those that met others ten times have failed, and left nothing behind.
        let met = reasons.of(barograph_model::OpId(0)).iter().chain(reasons.of(barograph_model::OpId(1)));
        assert!(sums[0] > 0, "{isolation}: {failed} {sums:?}");
        assert!(met.into_iter().all(|reason| reason.why == "met other transactions 10 times"));
        drop(reasons);
        assert_eq!(rig.wrong(), Vec::<String>::new());
    }
}

#[test]
fn conflicts_are_told_by_their_kind_and_leave_nothing_behind() {
    let Some(rig) = Rig::filled(1) else { return };
    let client = Client::new(&rig.databases.copy("-c lock_timeout=1"));
    let patient = Client::new(&rig.databases.copy("-c deadlock_timeout=20ms"));
    block_on(async {
        let mut context = OpContext::for_test();
        let mut names = String::new();
        let mut one = PostgresSession::open(&client, Form::Statements, 0).await.unwrap();
        let mut other = PostgresSession::open(&client, Form::Statements, 0).await.unwrap();
        one.begin(Access::Write, &mut context).await.unwrap();
        one.pay_warehouse(1, 5, &mut names).await.unwrap();
        other.begin(Access::Write, &mut context).await.unwrap();
        let busy = other.pay_warehouse(1, 5, &mut names).await;
        assert_eq!(busy, Err(TransactionError::Conflict(Conflict::Busy)));
        other.roll_back().await.unwrap();
        one.roll_back().await.unwrap();
        // Nothing was begun.
        one.begin(Access::Write, &mut context).await.unwrap();
        one.roll_back().await.unwrap();
        one.roll_back().await.unwrap();

        let mut one = PostgresSession::open(&patient, Form::Statements, 0).await.unwrap();
        let mut other = PostgresSession::open(&patient, Form::Statements, 0).await.unwrap();
        for (session, w) in [(&mut one, 1), (&mut other, 2)] {
            session.begin(Access::Write, &mut context).await.unwrap();
            session.pay_warehouse(w, 5, &mut names).await.unwrap();
        }
        let mut more = String::new();
        let crossed = join(one.pay_warehouse(2, 5, &mut names), other.pay_warehouse(1, 5, &mut more)).await;
        let deadlock = Err(TransactionError::Conflict(Conflict::Deadlock));
        assert!(
            crossed == (Ok(()), deadlock) || crossed.0 == Err(TransactionError::Conflict(Conflict::Deadlock))
        );
        for session in [&mut one, &mut other] {
            session.roll_back().await.unwrap();
        }
    })
    .unwrap();
    assert_eq!(rig.wrong(), Vec::<String>::new());
    // Each payment of the first deck waits for a lock and gives up.
    let held = rig.databases.copy("");
    let (failed, sums) = block_on(async {
        let mut holder = Client::new(&held).connect(0).await.unwrap();
        holder.query("BEGIN; SELECT 1 FROM warehouse FOR UPDATE").unwrap().finish().await.unwrap();
        let work =
            || rig.transact((1, 22), (Form::Statements, "-c lock_timeout=1"), &[BUSY, DEADLOCKS, NEW_ORDERS]);
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    })
    .unwrap();
    assert_eq!((failed, sums[0], sums[1]), (10, 100, 0));
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

#[test]
fn statements_mean_what_they_mean_on_other_engines() {
    let Some(rig) = Rig::filled(1) else { return };
    let copy = rig.databases.copy("");
    let of = District { w: 1, d: 1 };
    let set = |quantity: i64| {
        Rig::run(&copy, &format!("UPDATE stock SET s_quantity = {quantity} WHERE s_w_id = 2 AND s_i_id = 5"));
    };
    for (before, quantity, after) in [(30, 10, 20), (20, 10, 10), (19, 10, 100), (10, 1, 100), (100, 1, 99)] {
        set(before);
        let taken = Demand { supply: 2, item: 5, quantity, is_remote: true, district: 10 };
        in_transaction(&rig, async |session| {
            let mut info = "old".to_owned();
            session.take_stock(taken, &mut info).await.unwrap();
            assert_eq!(info.len(), 24);
        });
        let left = Rig::text(&copy, "SELECT s_quantity FROM stock WHERE s_w_id = 2 AND s_i_id = 5");
        assert_eq!(left, after.to_string(), "{before} less {quantity}");
    }
    let customer = Key { of, id: 3 };
    for (credit, begins) in [("GC", "xxxx"), ("BC", "3 1 1 1 1 500 xx")] {
        let who = "WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3";
        Rig::run(
            &copy,
            &format!("UPDATE customer SET c_credit = '{credit}', c_data = repeat('x', 500) {who}"),
        );
        in_transaction(&rig, async |session| session.pay(customer, 500, "3 1 1 1 1 500 ").await.unwrap());
        let data = Rig::text(&copy, &format!("SELECT c_data FROM customer {who}"));
        assert!(data.len() == 500 && data.starts_with(begins), "{data}");
    }
    let size = rig.generator.size;
    in_transaction(&rig, async |session| {
        assert_eq!(session.balance(customer).await, Ok(-1_000 - 2 * 500));
        let unknown = Demand { supply: 3, item: 5, quantity: 1, is_remote: true, district: 1 };
        let missing = session.take_stock(unknown, &mut String::new()).await;
        assert_eq!(missing, Err(TransactionError::missing("stock")));
        assert_eq!(session.price(size.items + 1).await, Ok(None));
        for expected in size.delivered() + 1..=size.customers {
            assert_eq!(session.take_oldest(of).await, Ok(Some(expected)));
        }
        assert_eq!(session.take_oldest(of).await, Ok(None));
    });
}

/// Does work in a transaction, and commits it.
fn in_transaction(rig: &Rig, work: impl AsyncFnOnce(&mut PostgresSession)) {
    let client = Client::new(&rig.databases.copy(""));
    block_on(async {
        let mut session = PostgresSession::open(&client, Form::Statements, 0).await.unwrap();
        session.begin(Access::Write, &mut OpContext::for_test()).await.unwrap();
        work(&mut session).await;
        session.commit().await.unwrap();
    })
    .unwrap();
}
