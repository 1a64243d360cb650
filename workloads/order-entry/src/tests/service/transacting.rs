//! Transactions: what they leave in the database, alone and side by side.

use barograph_database::measures::{BUSY, DEADLOCKS, SNAPSHOT, STATEMENTS, WRITES};
use barograph_database::{Access, Conflict, TransactionError, Transactions as _};
use barograph_database_engines::{Form, Sessions};
use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_reactor::block_on;
use barograph_test_services::{Service, or_skip};
use barograph_testkit::allocations;
use futures::future::join;

use super::rig::{Mariadb, Postgres, Product, Rig, digests, run, text};
use crate::input::{District, Key, LineInput};
use crate::measures::NEW_ORDERS;
use crate::session::{Demand, Session as _};
use crate::sqlite::tests::rig as sqlite;

/// Dates are those of the day.
const WITHOUT_DATES: &str = "UPDATE orders SET o_entry_d = 0; \
     UPDATE order_line SET ol_delivery_d = 0 WHERE ol_delivery_d IS NOT NULL; UPDATE history SET h_date = 0";

#[test]
fn transactions_leave_what_they_should_on_postgres() {
    let Some(server) = or_skip(Postgres::start()) else { return };
    let (rig, statements) = a_seed_leaves_the_same_tables_as_on_sqlite::<Postgres>(&server);
    let rig = a_form_leaves_the_same_tables(rig, Form::Stored, 300);
    let rig = a_form_leaves_the_same_tables(rig, Form::Pipelined, statements);
    transactions_that_met_begin_anew(&rig);
    conflicts_are_told_by_their_kind_and_leave_nothing_behind(&rig);
    let rig = Rig::<Postgres>::new(&server, "orders", 1);
    a_transaction_allocates_nothing(&rig);
    users_side_by_side_leave_a_consistent_database(&rig);
    transactions_that_met_begin_anew(&rig);
    conflicts_are_told_by_their_kind_and_leave_nothing_behind(&rig);
    statements_mean_what_they_mean_on_other_engines(&rig);
}

#[test]
fn transactions_leave_what_they_should_on_mariadb() {
    let Some(server) = or_skip(Mariadb::start()) else { return };
    let (rig, _) = a_seed_leaves_the_same_tables_as_on_sqlite::<Mariadb>(&server);
    a_form_leaves_the_same_tables(rig, Form::Stored, 300);
    let rig = Rig::<Mariadb>::new(&server, "orders", 1);
    a_transaction_allocates_nothing(&rig);
    users_side_by_side_leave_a_consistent_database(&rig);
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        rig.transact((4, 100), &Mariadb::isolated(level), &[]);
        only_conflicts_failed(&rig);
    }
    conflicts_are_told_by_their_kind_and_leave_nothing_behind(&rig);
    statements_mean_what_they_mean_on_other_engines(&rig);
}

/// Returns the number of statements of 300 transactions, too.
fn a_seed_leaves_the_same_tables_as_on_sqlite<P: Product>(server: &Service) -> (Rig<P>, u64) {
    let rig = Rig::<P>::new(server, "seeded", 3);
    let embedded = sqlite::Rig::of_seed(3);
    assert_eq!(digests(&rig.filled), sqlite::digests(&embedded.filled));
    assert_eq!(embedded.transact(1, 300), 0);
    let (failed, sums) = rig.transact((1, 300), P::PATIENT, &[STATEMENTS]);
    // About 19 of a New-Order with its BEGIN, 11 more on MariaDB, and a few of the others.
    assert!(failed == 0 && (3_500..7_000).contains(&sums[0]), "{failed} failed, {sums:?}");
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    embedded.connection().execute_batch(WITHOUT_DATES).unwrap();
    run(&rig.copy, WITHOUT_DATES);
    assert_eq!(digests(&rig.copy), sqlite::digests(&embedded.copy));
    assert_eq!(digests(&rig.filled), sqlite::digests(&embedded.filled));
    (rig, sums[0])
}

fn a_form_leaves_the_same_tables<P: Product>(rig: Rig<P>, form: Form, statements: u64) -> Rig<P> {
    let rig = rig.with_form(form);
    rig.reset();
    let done = rig.transact((1, 300), P::PATIENT, &[STATEMENTS]);
    assert_eq!(done, (0, vec![statements]), "{:?}", rig.shared.reasons);
    assert_eq!(rig.wrong(), Vec::<String>::new());
    run(&rig.copy, WITHOUT_DATES);
    let embedded = sqlite::Rig::of_seed(3);
    assert_eq!(embedded.transact(1, 300), 0);
    embedded.connection().execute_batch(WITHOUT_DATES).unwrap();
    assert_eq!(digests(&rig.copy), sqlite::digests(&embedded.copy));
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    a_transaction_allocates_nothing(&rig);
    users_side_by_side_leave_a_consistent_database(&rig);
    rig
}

/// At the levels above `read committed` a transaction that meets another one begins anew.
fn transactions_that_met_begin_anew(rig: &Rig<Postgres>) {
    for level in ["repeatable read", "serializable"] {
        let (failed, sums) = rig.transact((4, 100), &Postgres::isolated(level), &[SNAPSHOT]);
        assert!(sums[0] > 0, "{level}: {failed} {sums:?}");
        only_conflicts_failed(rig);
    }
}

fn a_transaction_allocates_nothing<P: Product>(rig: &Rig<P>) {
    let user = rig.users(P::PATIENT).user(UserId(0));
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

fn users_side_by_side_leave_a_consistent_database<P: Product>(rig: &Rig<P>) {
    let before = rig.shared.tally.counted().committed.orders;
    let (failed, sums) = rig.transact((6, 100), P::PATIENT, &[NEW_ORDERS, WRITES]);
    assert_eq!(failed, 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let counted = rig.shared.tally.counted();
    let orders = (counted.committed.orders - before).unsigned_abs();
    assert_eq!((orders, counted.in_doubt), (sums[0], Default::default()));
}

/// Transactions that met others ten times have failed, and left nothing behind.
fn only_conflicts_failed<P: Product>(rig: &Rig<P>) {
    let reasons = rig.shared.reasons.lock().unwrap();
    let met = (0..5).flat_map(|op| reasons.of(OpId(op)).iter());
    assert!(met.into_iter().all(|reason| reason.why == "met other transactions 10 times"), "{reasons:?}");
    drop(reasons);
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

fn conflicts_are_told_by_their_kind_and_leave_nothing_behind<P: Product>(rig: &Rig<P>) {
    let (hasty, patient) = (P::sessions(&rig.copy, P::HASTY), P::sessions(&rig.copy, P::PATIENT));
    block_on(async {
        let mut context = OpContext::for_test();
        let mut names = String::new();
        let (mut one, mut other) = (hasty.open(0).await.unwrap(), hasty.open(0).await.unwrap());
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

        let (mut one, mut other) = (patient.open(0).await.unwrap(), patient.open(0).await.unwrap());
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
    let (failed, sums) = block_on(async {
        let mut holder = patient.open(0).await.unwrap();
        holder.begin(Access::Write, &mut OpContext::for_test()).await.unwrap();
        for w in [1, 2] {
            holder.pay_warehouse(w, 5, &mut String::new()).await.unwrap();
        }
        let work = || rig.transact((1, 22), P::HASTY, &[BUSY, DEADLOCKS, NEW_ORDERS]);
        let done = std::thread::scope(|scope| scope.spawn(work).join().unwrap());
        holder.roll_back().await.unwrap();
        done
    })
    .unwrap();
    assert_eq!((failed, sums[0], sums[1]), (10, 100, 0));
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

fn statements_mean_what_they_mean_on_other_engines<P: Product>(rig: &Rig<P>) {
    let of = District { w: 1, d: 1 };
    for (before, quantity, after) in [(30, 10, 20), (20, 10, 10), (19, 10, 100), (10, 1, 100), (100, 1, 99)] {
        let of_item = "WHERE s_w_id = 2 AND s_i_id = 5";
        run(&rig.copy, &format!("UPDATE stock SET s_quantity = {before} {of_item}"));
        let taken = Demand { supply: 2, item: 5, quantity, is_remote: true, district: 10 };
        in_transaction(rig, async |session| {
            let mut info = "old".to_owned();
            session.take_stock(taken, &mut info).await.unwrap();
            assert!(info.len() == 27 && info.starts_with("old"), "{info}");
        });
        let left = text(&rig.copy, &format!("SELECT s_quantity FROM stock {of_item}"));
        assert_eq!(left, after.to_string(), "{before} less {quantity}");
    }
    let customer = Key { of, id: 3 };
    let who = "WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 3";
    let balance: i64 = text(&rig.copy, &format!("SELECT c_balance FROM customer {who}")).parse().unwrap();
    for (credit, begins) in [("GC", "xxxx"), ("BC", "3 1 1 1 1 500 xx")] {
        let set = format!("UPDATE customer SET c_credit = '{credit}', c_data = REPEAT('x', 500) {who}");
        run(&rig.copy, &set);
        in_transaction(rig, async |session| session.pay(customer, 500, "3 1 1 1 1 500 ").await.unwrap());
        let data = text(&rig.copy, &format!("SELECT c_data FROM customer {who}"));
        assert!(data.len() == 500 && data.starts_with(begins), "{data}");
    }
    let of_district = "FROM new_order WHERE no_w_id = 1 AND no_d_id = 1";
    let [first, last] = ["min", "max"].map(|end| -> i64 {
        text(&rig.copy, &format!("SELECT {end}(no_o_id) {of_district}")).parse().unwrap()
    });
    in_transaction(rig, async |session| {
        assert_eq!(session.balance(customer).await, Ok(balance - 2 * 500));
        let unknown = Demand { supply: 3, item: 5, quantity: 1, is_remote: true, district: 1 };
        let missing = session.take_stock(unknown, &mut String::new()).await;
        assert_eq!(missing, Err(TransactionError::missing("stock")));
        let unknown = rig.generator.size.items + 1;
        for (items, known) in [([1, 2, unknown], 2), ([1, unknown, 2], 1), ([unknown, 1, 2], 0)] {
            let lines = items.map(|item| LineInput { supply: 1, item, quantity: 1 });
            let (mut prices, mut lists) = (Vec::new(), Default::default());
            session.prices(&lines, &mut prices, &mut lists).await.unwrap();
            assert_eq!(prices.len(), known, "{items:?}");
        }
        for expected in first..=last {
            assert_eq!(session.take_oldest(of).await, Ok(Some(expected)));
        }
        assert_eq!(session.take_oldest(of).await, Ok(None));
    });
}

/// Does work in a transaction, and commits it.
fn in_transaction<P: Product>(rig: &Rig<P>, work: impl AsyncFnOnce(&mut <P::Sessions as Sessions>::Session)) {
    let sessions = P::sessions(&rig.copy, P::PATIENT);
    block_on(async {
        let mut session = sessions.open(0).await.unwrap();
        session.begin(Access::Write, &mut OpContext::for_test()).await.unwrap();
        work(&mut session).await;
        session.commit().await.unwrap();
    })
    .unwrap();
}
