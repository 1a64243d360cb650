//! Files: filled, found again, copied, refused.

use std::fs;
use std::path::Path;

use barograph_model::words::in_one_line;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Files, SqliteError, found};
use crate::{Batch, Contents, Indices, Table, TableSpec, row};

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
        let (name, columns) = match self {
            Family::Parent => ("parent", "p_id i, p_name t"),
            Family::Child => ("child", "c_id i, c_parent i"),
        };
        TableSpec { name, columns, key: 1, nullable: &[] }
    }
}

/// A number of parents with two children each.
#[derive(Debug)]
struct Families(i64);

impl Contents for Families {
    type Table = Family;

    /// A parent.
    type Piece = i64;

    const APPLICATION_ID: i32 = 7;

    const KIND: &'static str = "a database of families";

    const INDICES: Indices = Indices {
        all: &["CREATE INDEX child_parent ON child (c_parent)"],
        sqlite: &[],
        postgres: &[],
        mariadb: &[],
    };

    fn stamp(&self) -> String {
        format!("parents = {}", self.0)
    }

    fn expected_rows(&self, table: Family) -> u64 {
        self.0.unsigned_abs() * if table == Family::Parent { 1 } else { 2 }
    }

    fn pieces(&self) -> impl Iterator<Item = i64> + Send {
        1..=self.0
    }

    fn piece(&self, parent: i64, take: &mut dyn FnMut(Batch<Family>) -> bool) -> bool {
        let mut values = Vec::new();
        row!(values, parent, "a name");
        let mut children = Vec::new();
        row!(children, 2 * parent, parent, 2 * parent + 1, parent);
        take(Batch { table: Family::Parent, values, rows: 1 })
            && take(Batch { table: Family::Child, values: children, rows: 2 })
    }
}

fn files(path: &Path) -> Files<Families> {
    Files::take(path).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_file_is_filled_once_found_again_and_copied_for_each_run() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("folder/f.db");
    let files = files(&path);
    let mut told = [0; 2];
    let filled = files.fill(&Families(3), |table, rows| {
        told[table as usize] += rows;
        true
    });
    let filled = filled.unwrap();
    let rows = vec![("parent".to_owned(), 3), ("child".to_owned(), 6)];
    assert_eq!((filled.reused, &filled.rows, told), (false, &rows, [3, 6]));
    let again = files.fill(&Families(3), |_, _| panic!("nothing is filled again")).unwrap();
    assert!(again.reused && again.rows == rows && again.bytes == filled.bytes, "{again:?}");
    let copy = files.reset().unwrap();
    Connection::open(&copy).unwrap().execute("DELETE FROM child", []).unwrap();
    let children = |path: &Path| -> i64 {
        Connection::open(path).unwrap().query_row("SELECT count(*) FROM child", [], |row| row.get(0)).unwrap()
    };
    assert_eq!((children(&copy), children(&path)), (0, 6));
    files.reset().unwrap();
    assert_eq!(children(&copy), 6);
    Files::<Families>::remove_copy(&path).unwrap();
    assert!(!copy.exists());
}

/// The text of every row, by table.
fn texts(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let of = |sql: &str| {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(|text| text.unwrap()).collect::<Vec<String>>()
    };
    let parents = of("SELECT p_id || ' ' || p_name FROM parent ORDER BY p_id");
    [parents, of("SELECT c_id || ' ' || c_parent FROM child ORDER BY c_id")].concat()
}

#[test]
fn a_fill_that_was_stopped_goes_on_after_its_last_piece() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f.db");
    let files = files(&path);
    let mut parents = 0;
    let stopped = files.fill(&Families(5), |table, rows| {
        parents += if table == Family::Parent { rows } else { 0 };
        parents < 4
    });
    assert!(matches!(stopped, Err(SqliteError::Stopped)), "{stopped:?}");
    let mut left = names(folder.path());
    left.sort();
    assert_eq!(left, ["f.db.lock", "f.db.part"]);
    assert!(found(&path, &Families(5)).unwrap().is_none());
    // A row that is not made again.
    let part = Connection::open(folder.path().join("f.db.part")).unwrap();
    assert_eq!(part.execute("UPDATE parent SET p_name = 'another' WHERE p_id = 3", []), Ok(1));
    drop(part);
    let mut told = Vec::new();
    let filled = files.fill(&Families(5), |table, rows| {
        told.push((table, rows));
        true
    });
    assert_eq!(filled.unwrap().rows, [("parent".to_owned(), 5), ("child".to_owned(), 10)]);
    assert_eq!(told[..3], [(Family::Parent, 3), (Family::Child, 6), (Family::Parent, 1)]);
    let whole = folder.path().join("whole.db");
    self::files(&whole).fill(&Families(5), |_, _| true).unwrap();
    let mut expected = texts(&whole);
    expected[2] = "3 another".to_owned();
    assert_eq!(texts(&path), expected);
    assert_eq!(names(folder.path()).iter().filter(|name| name.starts_with("f.db")).count(), 2);
}

#[test]
fn a_fill_goes_on_with_the_files_that_a_kill_leaves_within_a_piece() {
    let folder = TempDir::new().unwrap();
    let (path, killed) = (folder.path().join("f.db"), folder.path().join("killed.db"));
    let mut rows = 0;
    let filled = files(&path).fill(&Families(40), |_, more| {
        rows += more;
        // Within the 31st piece.
        if rows == 91 {
            fs::copy(folder.path().join("f.db.part"), folder.path().join("killed.db.part")).unwrap();
            let journal = folder.path().join("f.db.part-journal");
            fs::copy(journal, folder.path().join("killed.db.part-journal")).unwrap();
        }
        true
    });
    assert!(!filled.unwrap().reused);
    let mut first = None;
    let filled = files(&killed).fill(&Families(40), |_, rows| {
        first.get_or_insert(rows);
        true
    });
    assert_eq!((filled.unwrap().reused, first), (false, Some(30)));
    assert_eq!(texts(&killed), texts(&path));
}

#[test]
fn an_unfinished_file_of_another_size_or_start_of_the_machine_begins_anew() {
    for (change, size) in [("", 4), ("UPDATE barograph_fill_pieces SET stamp = stamp || 'x'", 3)] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("f.db");
        let files = files(&path);
        let mut rows = 0;
        let stopped = files.fill(&Families(3), |_, more| {
            rows += more;
            rows < 9
        });
        assert!(stopped.is_err());
        Connection::open(folder.path().join("f.db.part")).unwrap().execute_batch(change).unwrap();
        let mut first = None;
        let filled = files.fill(&Families(size), |_, rows| {
            first.get_or_insert(rows);
            true
        });
        assert_eq!((filled.unwrap().rows[0].1, first), (size.unsigned_abs(), Some(1)), "{change}");
    }
}

#[test]
fn one_run_at_a_time_has_a_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f.db");
    let first = files(&path);
    let second = Files::<Families>::take(&path).unwrap_err();
    assert!(in_one_line(&second).ends_with("which another load or run uses now"), "{second}");
    drop(first);
    files(&path);
}

/// The refusal of a file that `make` makes. The file stays as it is.
fn refused(make: impl FnOnce(&Path)) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f.db");
    make(&path);
    let before = fs::read(&path).unwrap();
    let why = files(&path).fill(&Families(3), |_, _| true).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), before);
    in_one_line(&why).replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn files_with_other_contents_are_refused_and_stay() {
    let other = "use `FOLDER/f.db`, which holds something else than a database of families";
    assert_eq!(refused(|path| fs::write(path, "a letter").unwrap()), other);
    let table = "CREATE TABLE parent (p_id INTEGER); INSERT INTO parent VALUES (1);";
    assert_eq!(refused(|path| Connection::open(path).unwrap().execute_batch(table).unwrap()), other);
    let without_marker = "PRAGMA application_id = 7; CREATE TABLE parent (p_id INTEGER);";
    assert_eq!(refused(|path| Connection::open(path).unwrap().execute_batch(without_marker).unwrap()), other);
    let filled = |path: &Path| {
        files(path).fill(&Families(2), |_, _| true).unwrap();
    };
    assert_eq!(refused(filled), "use `FOLDER/f.db`, which was filled otherwise: parents = 2");
}

#[test]
fn the_place_of_the_copy_is_not_taken_from_another_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("f.db");
    let files = files(&path);
    files.fill(&Families(1), |_, _| true).unwrap();
    let copy = Files::<Families>::copy(&path);
    fs::write(&copy, "a letter").unwrap();
    let why = files.reset().unwrap_err();
    assert!(in_one_line(&why).contains("f.db.run`, which holds something else"), "{why}");
    assert_eq!(fs::read(&copy).unwrap(), b"a letter");
}
