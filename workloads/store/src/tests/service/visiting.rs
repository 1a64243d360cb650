//! Operations: what they leave in the database, alone and side by side.

use barograph_database::TransactionError;
use barograph_database_engines::Sessions as _;
use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_reactor::block_on;
use barograph_test_services::{Service, or_skip};
use barograph_testkit::allocations;

use super::rig::{Mariadb, Postgres, Product, Rig, digests, run};
use crate::generate::FULL;
use crate::measures::{RESTOCKS, SHORTAGES, TITLE_HITS};
use crate::session::{Field, Page, Session as _};
use crate::tests::rig as sqlite;
use crate::tests::rig::HABITS;
use crate::user::Operation;

/// Dates are those of the day.
pub(super) const WITHOUT_DATES: &str = "UPDATE orders SET o_date = 0; UPDATE reorder SET r_date = 0";

#[test]
fn visits_leave_what_they_should_on_postgres() {
    visits_leave_what_they_should::<Postgres>();
}

#[test]
fn visits_leave_what_they_should_on_mariadb() {
    visits_leave_what_they_should::<Mariadb>();
}

fn visits_leave_what_they_should<P: Product>() {
    let Some(server) = or_skip(P::start()) else { return };
    a_seed_leaves_the_same_tables_as_on_sqlite::<P>(&server);
    let rig = Rig::<P>::new(&server, "store", 1);
    statements_mean_what_they_mean_on_other_engines(&rig);
    reading_allocates_nothing(&rig);
    assert_eq!(rig.visit(6, 300), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

fn a_seed_leaves_the_same_tables_as_on_sqlite<P: Product>(server: &Service) {
    let rig = Rig::<P>::new(server, "seeded", 3);
    let embedded = sqlite::Rig::of(3, HABITS);
    assert_eq!(digests(&rig.filled), sqlite::digests(embedded.target.file()));
    assert_eq!((embedded.visit(1, 700), rig.visit(1, 700)), (0, 0));
    assert_eq!(rig.shared.tally.counted(), embedded.shared.tally.counted());
    embedded.connection().execute_batch(WITHOUT_DATES).unwrap();
    run(&rig.copy, WITHOUT_DATES);
    assert_eq!(digests(&rig.copy), sqlite::digests(&embedded.copy));
    assert_eq!(digests(&rig.filled), sqlite::digests(embedded.target.file()));
}

/// Searches, stock and restocks.
fn statements_mean_what_they_mean_on_other_engines<P: Product>(rig: &Rig<P>) {
    let sessions = P::sessions(&rig.copy);
    let [first, second, third] = rig.generator.title(7).map(|word| word.to_string());
    let unused = crate::words::Word::unused(3).to_string();
    run(&rig.copy, "UPDATE inventory SET i_stock = 5, i_sold = 0 WHERE i_product = 7");
    block_on(async {
        let mut session = sessions.open(0).await.unwrap();
        for (words, is_found) in [
            ([&*first, &*second], true),
            ([&*third, &*first], true),
            ([&*first, &*unused], false),
            ([&first[..6], &*second], false),
        ] {
            let found = session.search(Field::Title, words, 100, &mut Page::default()).await.unwrap();
            assert_eq!(found > 0, is_found, "{words:?}");
            assert_eq!(session.search(Field::Actor, words, 100, &mut Page::default()).await, Ok(0));
        }
        for (quantity, left) in [(3, Some(2)), (3, None), (2, Some(0)), (1, None)] {
            assert_eq!(session.take_stock(7, quantity).await, Ok(left), "{quantity}");
        }
        session.restock(7, 0, FULL).await.unwrap();
        assert_eq!(session.take_stock(7, 1).await, Ok(Some(FULL - 1)));
        assert_eq!(session.take_stock(999, 1).await, Ok(None));
        assert_eq!(session.price(999).await, Ok(None));
        let missing = Err(TransactionError::missing("stock of a product"));
        assert_eq!(session.restock(999, 0, FULL).await, missing);
    })
    .unwrap();
    let stock = rig.generator.stock(7);
    let back = format!(
        "UPDATE inventory SET i_stock = {stock}, i_sold = 0 WHERE i_product = 7; DELETE FROM reorder"
    );
    run(&rig.copy, &back);
    assert_eq!(rig.wrong(), Vec::<String>::new());
}

/// Only the texts of a new customer are made anew.
fn reading_allocates_nothing<P: Product>(rig: &Rig<P>) {
    let user = rig.users().user(UserId(0));
    block_on(async {
        let mut context = OpContext::for_test();
        let (mut before, mut made) = (0, 0);
        for number in 0..600 {
            let op = OpId(user.choose(ChooserId(0), &mut context) as u8);
            // Buffers are warm in the second half.
            if number >= 300 {
                before = allocations();
            }
            assert_eq!(user.act(op, &mut context).await, Outcome::Good);
            if number >= 300 && op != Operation::NewCustomer.op() && op != Operation::Login.op() {
                made += allocations() - before;
            }
        }
        assert_eq!(made, 0);
        assert!(context.added(TITLE_HITS) > 0 && context.added(SHORTAGES) + context.added(RESTOCKS) > 0);
    })
    .unwrap();
}
