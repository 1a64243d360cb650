//! Filling, finding, copying, checking and refusing databases.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use barograph_model::words::in_one_line;
use barograph_mysql::Client;
use barograph_reactor::block_on;
use barograph_test_services::{Service, mariadb, or_skip};

use super::rig::{Rig, SETUP, digests, run_in, text};
use crate::generate::Generator;
use crate::mariadb::MariadbError;
use crate::mariadb::databases::State;
use crate::sqlite::tests::corruption::KINDS;
use crate::tables::Table;

#[test]
fn databases_are_filled_copied_checked_and_refused() {
    let Some(server) = or_skip(mariadb()) else { return };
    a_filled_database_is_found_again_and_never_worn(&server);
    an_interrupted_fill_begins_anew(&server);
    databases_with_other_contents_are_refused_and_stay(&server);
    every_kind_of_corruption_is_found(&server);
}

fn a_filled_database_is_found_again_and_never_worn(server: &Service) {
    let rig = Rig::filled(server, "orders", 1);
    let before = digests(&rig.databases.filled());
    assert_eq!(digests(&rig.databases.copy()), before);
    assert_eq!(rig.transact((2, 50), SETUP, &[]), (0, vec![]));
    assert_ne!(digests(&rig.databases.copy()), before);
    let again = rig.filling(Arc::new(|told| assert_eq!((told.stage.as_str(), told.done), ("copy", 0))));
    let again = again.run().unwrap();
    assert!(again.reused && again.lines > 0 && again.bytes > 1_000_000, "{again:?}");
    assert_eq!(digests(&rig.databases.filled()), before);
    assert_eq!(digests(&rig.databases.copy()), before);
    // Keys and indices are those of the filled one.
    for table in Table::ALL {
        let indices = format!(
            "SELECT GROUP_CONCAT(INDEX_NAME, COLUMN_NAME ORDER BY INDEX_NAME, SEQ_IN_INDEX) \
             FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{}'",
            table.name()
        );
        assert_eq!(text(&rig.databases.copy(), &indices), text(&rig.databases.filled(), &indices));
    }
    rig.databases.remove_copy().unwrap();
    let gone = block_on(Client::new(&rig.databases.copy()).connect(0)).unwrap();
    assert!(in_one_line(&gone.err().unwrap()).contains("Unknown database"));
}

fn an_interrupted_fill_begins_anew(server: &Service) {
    let rig = Rig::empty(server, "interrupted", 1);
    let stages: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&stages);
    let mut filling = rig.filling(Arc::new(|_| {}));
    let stopped = Arc::clone(&filling.stopped);
    filling.progress = Arc::new(move |progress| {
        stopped.fetch_or(progress.stage == "customer", Ordering::Relaxed);
        told.lock().unwrap().push(progress.stage);
    });
    let ended = filling.run();
    assert!(matches!(ended, Err(MariadbError::Stopped)), "{ended:?}");
    assert!(!stages.lock().unwrap().contains(&"keys".to_owned()));
    assert_eq!(rig.databases.state(&rig.generator).unwrap(), State::Unfilled);
    // Size and seed may be others.
    let other = Rig { generator: Generator::new(rig.generator.size, 2), ..rig };
    let done = Arc::new(Mutex::new(0));
    let told = Arc::clone(&done);
    let filled =
        other.filling(Arc::new(move |progress| *told.lock().unwrap() = progress.done)).run().unwrap();
    let other_rows = Table::ALL.into_iter().filter(|table| *table != Table::OrderLine);
    let rows: u64 = other_rows.map(|table| other.generator.size.rows(table)).sum();
    assert_eq!((filled.reused, *done.lock().unwrap()), (false, rows + filled.lines));
    assert_eq!(other.databases.state(&other.generator).unwrap(), State::Filled(filled.lines));
}

fn databases_with_other_contents_are_refused_and_stay(server: &Service) {
    let rig = Rig::empty(server, "foreign", 1);
    let refused = |rig: &Rig| in_one_line(&rig.fill().unwrap_err());
    let foreign = "holds something else than an Order-Entry database";
    rig.databases.create().unwrap();
    let filled = rig.databases.filled();
    run_in(&filled, "CREATE TABLE warehouse (w_id INT); INSERT INTO warehouse VALUES (7)");
    assert_eq!(refused(&rig), format!("use database `foreign`, which {foreign}"));
    assert_eq!(text(&filled, "SELECT w_id FROM warehouse"), "7");
    run_in(&filled, "DROP TABLE warehouse");
    assert!(!rig.fill().unwrap().reused);
    let other = Rig { generator: Generator::new(rig.generator.size, 2), ..rig };
    assert_eq!(
        refused(&other),
        "use database `foreign`, which was filled otherwise: warehouses = 2, scale = 0.01, seed = 1, version 1 of the workload"
    );
    let rig = Rig { generator: Generator::new(other.generator.size, 1), ..other };
    // A database of others in the place of the copy.
    run_in(&rig.databases.copy(), "DROP TABLE barograph_marker");
    assert_eq!(refused(&rig), format!("use database `foreign_run`, which {foreign}"));
}

/// Each kind is found by the check that is meant for it, as on other engines.
fn every_kind_of_corruption_is_found(server: &Service) {
    let rig = Rig::filled(server, "corrupt", 1);
    assert_eq!(rig.transact((2, 100), SETUP, &[]), (0, vec![]));
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let copy = rig.databases.copy();
    // The tables as the users have left them.
    let kept = |table: Table| format!("CREATE TABLE kept_{0} AS SELECT * FROM {0}", table.name());
    run_in(&copy, &Table::ALL.map(kept).join("; "));
    let back =
        |table: Table| format!("DELETE FROM {0}; INSERT INTO {0} SELECT * FROM kept_{0}", table.name());
    let lost = [
        ("DELETE FROM history LIMIT 1", "payments since the load"),
        ("UPDATE customer SET c_delivery_cnt = 0", "orders delivered since the load"),
    ];
    // Rows have no numbers here.
    let kinds = KINDS.into_iter().filter(|(sql, _)| !sql.contains("rowid"));
    for (sql, words) in kinds.chain(lost) {
        run_in(&copy, sql);
        let found = rig.wrong();
        assert!(found.iter().any(|finding| finding.contains(words)), "{sql}: {found:#?}");
        let changed = Table::ALL.into_iter().filter(|table| sql.contains(table.name()));
        run_in(&copy, &changed.map(back).collect::<Vec<_>>().join("; "));
    }
    assert_eq!(rig.wrong(), Vec::<String>::new());
}
