//! Transactions: what they leave in the database, alone and side by side.

use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_mysql::Client;
use barograph_reactor::block_on;
use barograph_test_services::{Service, mariadb, or_skip};
use barograph_testkit::allocations;
use futures::future::join;

use super::rig::{Rig, SETUP, digests, run_in, text};
use crate::input::{District, Key};
use crate::mariadb::session::MariadbSession;
use crate::mariadb::users::MariadbUsers;
use crate::measures::{BUSY, DEADLOCKS, NEW_ORDERS};
use crate::session::{Access, Conflict, Demand, Session as _, TransactionError};
use crate::sqlite::tests::rig as sqlite;

/// Dates are those of the day.
const WITHOUT_DATES: &str = "UPDATE orders SET o_entry_d = 0; \
     UPDATE order_line SET ol_delivery_d = 0 WHERE ol_delivery_d IS NOT NULL; UPDATE history SET h_date = 0";

#[test]
fn transactions_leave_what_they_should() {
    let Some(server) = or_skip(mariadb()) else { return };
    a_seed_leaves_the_same_tables_as_on_sqlite(&server);
    let rig = Rig::filled(&server, "orders", 1);
    a_transaction_allocates_nothing(&rig);
    users_side_by_side_leave_a_consistent_database(&rig);
    conflicts_are_told_by_their_kind_and_leave_nothing_behind(&rig);
    statements_mean_what_they_mean_on_other_engines(&rig);
}

fn a_seed_leaves_the_same_tables_as_on_sqlite(server: &Service) {
    let rig = Rig::filled(server, "seeded", 3);
    let embedded = sqlite::Rig::of_seed(3);
    assert_eq!(digests(&rig.databases.filled()), sqlite::digests(&embedded.filled));
    assert_eq!(embedded.transact(1, 300), 0);
    assert_eq!(rig.transact((1, 300), SETUP, &[]), (0, vec![]));
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    embedded.connection().execute_batch(WITHOUT_DATES).unwrap();
    let copy = rig.databases.copy();
    run_in(&copy, WITHOUT_DATES);
    assert_eq!(digests(&copy), sqlite::digests(&embedded.copy));
}

fn a_transaction_allocates_nothing(rig: &Rig) {
    let users = MariadbUsers::new(&rig.databases.copy(), &SETUP.into(), &rig.shared);
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
        assert_eq!(allocations() - before, 0);
    })
    .unwrap();
}

fn users_side_by_side_leave_a_consistent_database(rig: &Rig) {
    let before = rig.shared.tally.counted().committed.orders;
    let (failed, sums) = rig.transact((6, 100), SETUP, &[NEW_ORDERS]);
    assert_eq!(failed, 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let counted = rig.shared.tally.counted();
    let orders = (counted.committed.orders - before).unsigned_abs();
    assert_eq!((orders, counted.in_doubt), (sums[0], Default::default()));
    // At the other levels, too.
    for isolation in ["REPEATABLE READ", "SERIALIZABLE"] {
        let setup = format!("SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
        rig.transact((4, 100), &setup, &[]);
        // Those that met others ten times have failed, and left nothing behind.
        let reasons = rig.shared.reasons.lock().unwrap();
        let met = (0..5).flat_map(|op| reasons.of(barograph_model::OpId(op)).iter());
        assert!(met.into_iter().all(|reason| reason.why == "met other transactions 10 times"), "{reasons:?}");
        drop(reasons);
        assert_eq!(rig.wrong(), Vec::<String>::new(), "{isolation}");
    }
}

fn conflicts_are_told_by_their_kind_and_leave_nothing_behind(rig: &Rig) {
    let client = Client::new(&rig.databases.copy());
    let hasty = format!("{SETUP}; SET innodb_lock_wait_timeout = 0");
    block_on(async {
        let mut context = OpContext::for_test();
        let mut names = String::new();
        let mut one = MariadbSession::open(&client, 0, &hasty).await.unwrap();
        let mut other = MariadbSession::open(&client, 0, &hasty).await.unwrap();
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

        let mut one = MariadbSession::open(&client, 0, SETUP).await.unwrap();
        let mut other = MariadbSession::open(&client, 0, SETUP).await.unwrap();
        for (session, w) in [(&mut one, 1), (&mut other, 2)] {
            session.begin(Access::Write, &mut context).await.unwrap();
            session.pay_warehouse(w, 5, &mut names).await.unwrap();
        }
        let mut more = String::new();
        let crossed = join(one.pay_warehouse(2, 5, &mut names), other.pay_warehouse(1, 5, &mut more)).await;
        let deadlock = || Err(TransactionError::Conflict(Conflict::Deadlock));
        assert!(crossed == (Ok(()), deadlock()) || crossed == (deadlock(), Ok(())), "{crossed:?}");
        for session in [&mut one, &mut other] {
            session.roll_back().await.unwrap();
        }
    })
    .unwrap();
    assert_eq!(rig.wrong(), Vec::<String>::new());
    // Each payment of the first deck waits for a lock and gives up.
    let held = rig.databases.copy();
    let (failed, sums) = block_on(async {
        let mut holder = Client::new(&held).connect(0).await.unwrap();
        holder.query("BEGIN; SELECT 1 FROM warehouse FOR UPDATE").unwrap().finish().await.unwrap();
        let work = || rig.transact((1, 22), &hasty, &[BUSY, DEADLOCKS, NEW_ORDERS]);
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    })
    .unwrap();
    assert_eq!((failed, sums[0], sums[1]), (10, 100, 0));
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

fn statements_mean_what_they_mean_on_other_engines(rig: &Rig) {
    let copy = rig.databases.copy();
    let of = District { w: 1, d: 1 };
    for (before, quantity, after) in [(30, 10, 20), (20, 10, 10), (19, 10, 100), (10, 1, 100), (100, 1, 99)] {
        let of_item = "WHERE s_w_id = 2 AND s_i_id = 5";
        run_in(&copy, &format!("UPDATE stock SET s_quantity = {before} {of_item}"));
        let taken = Demand { supply: 2, item: 5, quantity, is_remote: true, district: 10 };
        in_transaction(rig, async |session| {
            let mut info = "old".to_owned();
            session.take_stock(taken, &mut info).await.unwrap();
            assert_eq!(info.len(), 24);
        });
        let left = text(&copy, &format!("SELECT s_quantity FROM stock {of_item}"));
        assert_eq!(left, after.to_string(), "{before} less {quantity}");
    }
    let customer = Key { of, id: 3 };
    let who = "WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3";
    let balance: i64 = text(&copy, &format!("SELECT c_balance FROM customer {who}")).parse().unwrap();
    for (credit, begins) in [("GC", "xxxx"), ("BC", "3 1 1 1 1 500 xx")] {
        let set = format!("UPDATE customer SET c_credit = '{credit}', c_data = REPEAT('x', 500) {who}");
        run_in(&copy, &set);
        in_transaction(rig, async |session| session.pay(customer, 500, "3 1 1 1 1 500 ").await.unwrap());
        let data = text(&copy, &format!("SELECT c_data FROM customer {who}"));
        assert!(data.len() == 500 && data.starts_with(begins), "{data}");
    }
    let open =
        "SELECT GROUP_CONCAT(no_o_id ORDER BY no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = 1";
    let open = text(&copy, open);
    in_transaction(rig, async |session| {
        assert_eq!(session.balance(customer).await, Ok(balance - 2 * 500));
        let unknown = Demand { supply: 3, item: 5, quantity: 1, is_remote: true, district: 1 };
        let missing = session.take_stock(unknown, &mut String::new()).await;
        assert_eq!(missing, Err(TransactionError::missing("stock")));
        assert_eq!(session.price(rig.generator.size.items + 1).await, Ok(None));
        for expected in open.split(',') {
            assert_eq!(session.take_oldest(of).await, Ok(expected.parse().ok()));
        }
        assert_eq!(session.take_oldest(of).await, Ok(None));
    });
}

/// Does work in a transaction, and commits it.
fn in_transaction(rig: &Rig, work: impl AsyncFnOnce(&mut MariadbSession)) {
    let client = Client::new(&rig.databases.copy());
    block_on(async {
        let mut session = MariadbSession::open(&client, 0, SETUP).await.unwrap();
        session.begin(Access::Write, &mut OpContext::for_test()).await.unwrap();
        work(&mut session).await;
        session.commit().await.unwrap();
    })
    .unwrap();
}
