//! Injected corruption: each kind is found by the check that is meant for it, as on other engines.

use super::rig::Rig;
use barograph_database::Database as _;

use crate::checks::check;
use crate::plan::Form;
use crate::postgres::check::Queries;
use crate::sqlite::tests::corruption::KINDS;

#[test]
fn every_kind_of_corruption_is_found() {
    let Some(rig) = Rig::filled(1) else { return };
    assert_eq!(rig.transact((2, 100), (Form::Statements, ""), &[]), (0, vec![]));
    let mut queries = Queries::open(&rig.databases.copy("")).unwrap();
    let counted = rig.shared.tally.counted();
    let wrong = |queries: &mut Queries| check(queries, &rig.generator, counted).unwrap().violations;
    assert_eq!(wrong(&mut queries), Vec::<String>::new());
    let lost = [
        ("DELETE FROM history WHERE ctid = (SELECT max(ctid) FROM history)", "payments since the load"),
        ("UPDATE customer SET c_delivery_cnt = 0", "orders delivered since the load"),
    ];
    // Rows have no numbers here.
    let kinds = KINDS.into_iter().filter(|(sql, _)| !sql.contains("rowid"));
    for (sql, words) in kinds.chain(lost) {
        for step in ["BEGIN", sql] {
            queries.rows(step, &mut |_| {}).unwrap();
        }
        let found = wrong(&mut queries);
        assert!(found.iter().any(|finding| finding.contains(words)), "{sql}: {found:#?}");
        queries.rows("ROLLBACK", &mut |_| {}).unwrap();
    }
    assert_eq!(wrong(&mut queries), Vec::<String>::new());
}

#[test]
fn a_query_that_fails_says_why() {
    let Some(rig) = Rig::empty(1) else { return };
    let missing = Queries::open(&rig.databases.copy("")).unwrap().rows("SELECT 1", &mut |_| {});
    let why = barograph_model::words::in_one_line(&missing.unwrap_err());
    assert!(why.starts_with("check database `orders_run`: ") && why.contains("does not exist"), "{why}");
}
