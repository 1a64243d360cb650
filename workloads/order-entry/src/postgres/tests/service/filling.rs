//! Filling, finding, copying and refusing databases.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use barograph_model::words::in_one_line;
use barograph_postgres::Client;
use barograph_reactor::block_on;

use super::rig::{Rig, digests};
use crate::generate::Generator;
use crate::plan::Form;
use crate::postgres::PostgresError;
use crate::postgres::databases::State;
use crate::tables::Table;

#[test]
fn a_filled_database_is_found_again_and_never_worn() {
    let Some(rig) = Rig::filled(1) else { return };
    let before = digests(&rig.databases.filled(""));
    assert_eq!(digests(&rig.databases.copy("")), before);
    assert_eq!(rig.transact((2, 50), (Form::Statements, ""), &[]), (0, vec![]));
    assert_ne!(digests(&rig.databases.copy("")), before);
    let again = rig.filling(Arc::new(|told| assert_eq!((told.stage.as_str(), told.done), ("copy", 0))));
    let again = again.run().unwrap();
    assert!(again.reused && again.lines > 0 && again.bytes > 1_000_000, "{again:?}");
    assert_eq!(digests(&rig.databases.filled("")), before);
    assert_eq!(digests(&rig.databases.copy("")), before);
    rig.databases.remove_copy().unwrap();
    let gone = block_on(Client::new(&rig.databases.copy("")).connect(0)).unwrap();
    assert!(in_one_line(&gone.err().unwrap()).contains("does not exist"));
}

#[test]
fn an_interrupted_fill_begins_anew() {
    let Some(rig) = Rig::empty(1) else { return };
    let stages: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&stages);
    let mut filling = rig.filling(Arc::new(|_| {}));
    let stopped = Arc::clone(&filling.stopped);
    filling.progress = Arc::new(move |progress| {
        stopped.fetch_or(progress.stage == "customer", Ordering::Relaxed);
        told.lock().unwrap().push(progress.stage);
    });
    let ended = filling.run();
    assert!(matches!(ended, Err(PostgresError::Stopped)), "{ended:?}");
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

#[test]
fn databases_with_other_contents_are_refused_and_stay() {
    let Some(rig) = Rig::empty(1) else { return };
    let refused = |rig: &Rig| in_one_line(&rig.fill().unwrap_err());
    let foreign = "holds something else than an Order-Entry database";
    rig.databases.create().unwrap();
    let filled = rig.databases.filled("");
    Rig::run(&filled, "CREATE TABLE warehouse (w_id integer); INSERT INTO warehouse VALUES (7)");
    assert_eq!(refused(&rig), format!("use database `orders`, which {foreign}"));
    // Contents of extensions are none, and neither are those of a schema without tables.
    Rig::run(&filled, "DROP TABLE warehouse; CREATE SCHEMA empty");
    assert!(!rig.fill().unwrap().reused);
    let other = Rig { generator: Generator::new(rig.generator.size, 2), ..rig };
    assert_eq!(
        refused(&other),
        "use database `orders`, which was filled otherwise: warehouses = 2, scale = 0.01, seed = 1, version 1 of the workload"
    );
    let rig = Rig { generator: Generator::new(other.generator.size, 1), ..other };
    // Sessions of others in the copy, and a database of others in its place.
    let copy = rig.databases.copy("");
    block_on(async {
        let _session = Client::new(&copy).connect(0).await.unwrap();
        let refused = std::thread::scope(|scope| scope.spawn(|| refused(&rig)).join().unwrap());
        assert_eq!(refused, "use database `orders_run`, in which others have sessions now");
    })
    .unwrap();
    Rig::run(&copy, "DROP TABLE barograph_marker");
    assert_eq!(refused(&rig), format!("use database `orders_run`, which {foreign}"));
}
