//! Injected corruption: each kind is found by the check that is meant for it, as on SQLite.

use barograph_database_engines::Form;
use barograph_test_services::or_skip;

use super::rig::{Mariadb, Postgres, Product, Rig, run};
use crate::tables::Table;
use crate::tests::corruption::KINDS;

#[test]
fn every_kind_of_corruption_is_found_on_postgres() {
    every_kind_of_corruption_is_found::<Postgres>();
}

#[test]
fn every_kind_of_corruption_is_found_on_mariadb() {
    every_kind_of_corruption_is_found::<Mariadb>();
}

fn every_kind_of_corruption_is_found<P: Product>() {
    let Some(server) = or_skip(P::start()) else { return };
    let rig = Rig::<P>::new(&server, "brokerage", (1, Form::Statements));
    assert_eq!(rig.trade(2, 1_000), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    // The tables as the users have left them.
    let kept = |table: Table| format!("CREATE TABLE kept_{0} AS SELECT * FROM {0}", table.name());
    run(&rig.copy, &Table::ALL.map(kept).join("; "));
    let back =
        |table: Table| format!("DELETE FROM {0}; INSERT INTO {0} SELECT * FROM kept_{0}", table.name());
    for (sql, words) in KINDS {
        run(&rig.copy, sql);
        let found = rig.wrong();
        assert!(found.iter().any(|finding| finding.contains(words)), "{sql}: {found:#?}");
        let changed = Table::ALL.into_iter().filter(|table| sql.contains(table.name()));
        run(&rig.copy, &changed.map(back).collect::<Vec<_>>().join("; "));
    }
    assert_eq!(rig.wrong(), Vec::<String>::new());
}
