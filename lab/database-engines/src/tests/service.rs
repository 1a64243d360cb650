//! Fills and copies of a small database, the same on each product.

mod pipeline;
mod statistics;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use barograph_database::{Batch, Contents, FillResult, Indices, Table, TableSpec, row};
use barograph_model::words::in_one_line;
use barograph_test_services::{Service, mariadb, or_skip, postgres};
use barograph_workload::OnProgress;

use crate::ServerError;
use crate::databases::{Databases, State};
use crate::fill::DatabaseFill;
use crate::mariadb::Mariadb;
use crate::postgres::Postgres;
use crate::product::Product;

/// Tables of parents and their children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Parent,
    Child,
}

impl Table for Family {
    fn all() -> &'static [Self] {
        &[Family::Parent, Family::Child]
    }

    fn spec(self) -> TableSpec {
        match self {
            Family::Parent => {
                TableSpec { name: "parent", columns: "p_id n, p_name t", key: 1, nullable: &[] }
            }
            Family::Child => TableSpec {
                name: "child",
                columns: "c_id i, c_parent i, c_born b, c_data l",
                key: 1,
                nullable: &["c_born"],
            },
        }
    }
}

/// A number of parents with two children each, of which one was born.
#[derive(Clone, Debug)]
struct Families(i64);

impl Contents for Families {
    type Table = Family;
    type Piece = (Family, i64);

    const APPLICATION_ID: i32 = 7;

    const KIND: &'static str = "a database of families";

    const INDICES: Indices = Indices {
        all: &["CREATE INDEX child_parent ON child (c_parent)"],
        sqlite: &[],
        postgres: &["CREATE INDEX parent_name ON parent USING gin (to_tsvector('simple', p_name))"],
        mariadb: &["CREATE FULLTEXT INDEX parent_name ON parent (p_name)"],
    };

    fn stamp(&self) -> String {
        format!("parents = {}", self.0)
    }

    fn expected_rows(&self, table: Family) -> u64 {
        self.0.unsigned_abs() * if table == Family::Parent { 1 } else { 2 }
    }

    fn pieces(&self) -> impl Iterator<Item = (Family, i64)> + Send {
        let all = 1..=self.0;
        Family::all().iter().flat_map(move |table| all.clone().map(move |parent| (*table, parent)))
    }

    fn piece(&self, (table, parent): (Family, i64), take: &mut dyn FnMut(Batch<Family>) -> bool) -> bool {
        let mut values = Vec::new();
        match table {
            Family::Parent => row!(values, parent, format!("parent {parent}")),
            Family::Child => {
                row!(values, 2 * parent, parent, i64::MAX, "a child");
                row!(values, 2 * parent + 1, parent);
                values.push(barograph_database::Value::Null);
                row!(values, "b".repeat(500));
            }
        }
        let rows = values.len() as u64 / if table == Family::Parent { 2 } else { 4 };
        take(Batch { table, values, rows })
    }
}

/// A server with the databases of a name.
struct Rig<P: Product>(Databases<P>);

impl<P: Product> Rig<P> {
    fn new(server: &Service, name: &str) -> Self {
        let (scheme, user, port) = (P::SCHEMES[0], P::USER, server.port());
        Rig(Databases::at(&format!("{scheme}://{user}@127.0.0.1:{port}/{name}")).unwrap())
    }

    fn fill(&self, parents: i64) -> Result<FillResult, ServerError> {
        self.filling(parents, Arc::new(|_| {}), Arc::default())
    }

    fn filling(
        &self,
        parents: i64,
        progress: OnProgress,
        stopped: Arc<AtomicBool>,
    ) -> Result<FillResult, ServerError> {
        DatabaseFill::new(&self.0, &Families(parents), progress, stopped).run()
    }

    fn refused(&self, parents: i64) -> String {
        in_one_line(&self.fill(parents).unwrap_err())
    }

    fn run(&self, database: &str, sql: &str) {
        self.0.run(database, ("change", database), sql).unwrap();
    }

    fn text(&self, database: &str, sql: &str) -> String {
        self.0.row(database, ("read", database), sql).unwrap().unwrap().remove(0)
    }
}

#[test]
fn databases_of_postgres_are_filled_copied_and_refused() {
    let Some(mut server) = or_skip(postgres()) else { return };
    databases_are_filled_copied_and_refused::<Postgres>(&server);
    a_fill_goes_on_after_the_death_of_its_server::<Postgres>(&mut server, "CHECKPOINT");
    a_copy_with_sessions_of_others_is_refused(&server);
    let none = [false; 5];
    anomalies_are_seen(
        &server,
        "postgres://postgres",
        [[false, true, true, true, true], [false, false, false, false, true], none],
    );
}

#[test]
fn databases_of_mariadb_are_filled_copied_and_refused() {
    let Some(mut server) = or_skip(mariadb()) else { return };
    databases_are_filled_copied_and_refused::<Mariadb>(&server);
    a_fill_goes_on_after_the_death_of_its_server::<Mariadb>(&mut server, "SELECT 1");
    let none = [false; 5];
    anomalies_are_seen(
        &server,
        "mysql://auction",
        [[false, true, true, true, true], [false, false, false, true, true], none],
    );
}

/// Which of the anomalies are seen at each isolation level.
fn anomalies_are_seen(server: &Service, who: &str, expected: [[bool; 5]; 3]) {
    let url = format!("{who}@127.0.0.1:{}/anomalies", server.port());
    for (level, expected) in crate::ISOLATIONS.into_iter().zip(expected) {
        let found = crate::anomalies(&url, level).unwrap();
        assert_eq!(
            found.iter().map(|(_, is_seen)| *is_seen).collect::<Vec<_>>(),
            expected,
            "{level}: {found:?}"
        );
    }
}

fn databases_are_filled_copied_and_refused<P: Product>(server: &Service) {
    a_filled_database_is_found_again_and_never_worn(&Rig::<P>::new(server, "filled"));
    an_interrupted_fill_of_another_size_begins_anew(&Rig::<P>::new(server, "interrupted"));
    databases_with_other_contents_are_refused_and_stay(&Rig::<P>::new(server, "foreign"));
}

fn a_filled_database_is_found_again_and_never_worn<P: Product>(rig: &Rig<P>) {
    let filled = rig.fill(50).unwrap();
    let rows = vec![("parent".to_owned(), 50), ("child".to_owned(), 100)];
    assert_eq!((filled.reused, &filled.rows), (false, &rows));
    for database in ["filled", "filled_run"] {
        let sums = "SELECT concat_ws(' ', count(*), sum(c_id), count(c_born), min(c_born), max(length(c_data))) FROM child";
        assert_eq!(rig.text(database, sums), "100 5150 50 9223372036854775807 500", "{database}");
    }
    // New rows get the following numbers.
    rig.run("filled_run", "INSERT INTO parent (p_name) VALUES ('new'), ('newer')");
    assert_eq!(rig.text("filled_run", "SELECT max(p_id) FROM parent"), "52");
    rig.run("filled_run", "DELETE FROM child");
    let again = rig.filling(
        50,
        Arc::new(|told| assert_eq!((told.stage.as_str(), told.done), ("copy", 0))),
        Arc::default(),
    );
    let again = again.unwrap();
    assert!(again.reused && again.rows == rows && again.bytes > 10_000, "{again:?}");
    for database in ["filled", "filled_run"] {
        assert_eq!(rig.text(database, "SELECT count(*) FROM child"), "100", "{database}");
    }
    rig.0.remove_copy::<Families>().unwrap();
    assert!(rig.0.run("filled_run", ("read", "it"), "SELECT 1").is_err());
}

/// `settle` brings what is committed to the disk.
fn a_fill_goes_on_after_the_death_of_its_server<P: Product>(server: &mut Service, settle: &str) {
    const PARENTS: i64 = 2_000;
    let sums = |rig: &Rig<P>| {
        let parents = "SELECT concat_ws(' ', count(*), sum(p_id), count(DISTINCT p_name)) FROM parent";
        let children = "SELECT concat_ws(' ', count(*), sum(c_id), sum(c_parent), count(c_born)) FROM child";
        [parents, children].map(|sql| rig.text(&rig.0.copy_name(), sql))
    };
    let whole = Rig::<P>::new(server, "whole");
    whole.fill(PARENTS).unwrap();
    let rig = Rig::<P>::new(server, "cut");
    // Half of the rows are there: the fill waits for the death of the server.
    let (reached, half) = sync_channel(1);
    let (killed, death) = sync_channel::<()>(1);
    let death = Mutex::new(death);
    let progress: OnProgress = Arc::new(move |progress| {
        if progress.done > progress.total / 2 && reached.try_send(()).is_ok() {
            assert!(death.lock().unwrap().recv().is_err());
        }
    });
    let ended = std::thread::scope(|scope| {
        let filling = scope.spawn(|| rig.filling(PARENTS, progress, Arc::default()));
        half.recv().unwrap();
        rig.run("cut", settle);
        server.kill();
        drop(half);
        drop(killed);
        filling.join().unwrap()
    });
    assert!(matches!(ended, Err(ServerError::Failed { .. })), "{ended:?}");
    server.restart();
    // It goes on, and is stopped once more between the last steps.
    let seen: Arc<Mutex<Vec<(String, u64)>>> = Arc::default();
    let (told, stopped) = (Arc::clone(&seen), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&stopped);
    let progress: OnProgress = Arc::new(move |progress| {
        let mut told = told.lock().unwrap();
        let steps = told.iter().filter(|(stage, _)| stage == "keys").count();
        stop.fetch_or(progress.stage == "keys" && steps == 1, Ordering::Relaxed);
        told.push((progress.stage, progress.done));
    });
    let ended = rig.filling(PARENTS, progress, stopped);
    assert!(matches!(ended, Err(ServerError::Stopped)), "{ended:?}");
    let first = seen.lock().unwrap()[0].1;
    assert!(first > 64 && first < 6_000, "{first} rows at first");
    let filled = rig.fill(PARENTS).unwrap();
    let rows = [("parent".to_owned(), 2_000), ("child".to_owned(), 4_000)];
    assert_eq!((filled.reused, &filled.rows[..]), (false, &rows[..]));
    assert_eq!(sums(&rig), sums(&whole));
    assert_eq!(rig.0.done(&Families(PARENTS)).unwrap(), None);
}

fn an_interrupted_fill_of_another_size_begins_anew<P: Product>(rig: &Rig<P>) {
    let stages: Arc<Mutex<Vec<String>>> = Arc::default();
    let (told, stopped) = (Arc::clone(&stages), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&stopped);
    let progress: OnProgress = Arc::new(move |progress| {
        stop.fetch_or(progress.stage == "child", Ordering::Relaxed);
        told.lock().unwrap().push(progress.stage);
    });
    let ended = rig.filling(20, progress, stopped);
    assert!(matches!(ended, Err(ServerError::Stopped)), "{ended:?}");
    assert!(!stages.lock().unwrap().contains(&"keys".to_owned()));
    assert_eq!(rig.0.state(&Families(20)).unwrap(), State::Unfilled);
    let done = Arc::new(Mutex::new(0));
    let told = Arc::clone(&done);
    let filled =
        rig.filling(21, Arc::new(move |progress| *told.lock().unwrap() = progress.done), Arc::default());
    assert_eq!((filled.unwrap().reused, *done.lock().unwrap()), (false, 63));
    assert_eq!(rig.0.state(&Families(21)).unwrap(), State::Filled(vec![21, 42]));
}

fn databases_with_other_contents_are_refused_and_stay<P: Product>(rig: &Rig<P>) {
    let other = "holds something else than a database of families";
    rig.0.create().unwrap();
    rig.run("foreign", "CREATE TABLE parent (p_id INT); INSERT INTO parent VALUES (7)");
    assert_eq!(rig.refused(3), format!("use database `foreign`, which {other}"));
    assert_eq!(rig.text("foreign", "SELECT p_id FROM parent"), "7");
    rig.run("foreign", "DROP TABLE parent");
    assert!(!rig.fill(3).unwrap().reused);
    assert_eq!(rig.refused(4), "use database `foreign`, which was filled otherwise: parents = 3");
    // A database of others in the place of the copy.
    rig.run("foreign_run", "DROP TABLE barograph_fill");
    assert_eq!(rig.refused(3), format!("use database `foreign_run`, which {other}"));
}

fn a_copy_with_sessions_of_others_is_refused(server: &Service) {
    let rig = Rig::<Postgres>::new(server, "shared");
    rig.fill(3).unwrap();
    let refused = barograph_reactor::block_on(async {
        let copy = rig.0.target(&rig.0.copy_name());
        let _session = barograph_postgres::Client::new(&copy).connect(0).await.unwrap();
        std::thread::scope(|scope| scope.spawn(|| rig.refused(3)).join().unwrap())
    });
    assert_eq!(refused.unwrap(), "use database `shared_run`, in which others have sessions now");
}
