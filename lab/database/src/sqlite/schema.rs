//! Tables as SQLite has them.

use crate::{Column, TableSpec};

/// The stamp of the contents, and the loaded rows of each table. It is written last: a file without it is incomplete.
pub(super) const MARKER: &str = "CREATE TABLE barograph_fill (stamp TEXT, name TEXT, rows INTEGER) STRICT;";

/// The pieces of an unfinished file, each with the stamp of its fill.
pub(super) const PIECES: &str = "CREATE TABLE barograph_fill_pieces (stamp TEXT, piece INTEGER) STRICT;";

/// The statement that adds a piece.
pub(super) const INSERT_PIECE: &str = "INSERT INTO barograph_fill_pieces VALUES (?, ?)";

/// The statement that makes a table.
pub(super) fn create(table: TableSpec) -> String {
    let columns: Vec<String> = table.columns().map(definition).collect();
    let (name, columns) = (table.name, columns.join(", "));
    match table.key_columns() {
        None => format!("CREATE TABLE {name} ({columns}) STRICT;"),
        Some(key) => format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID;"),
    }
}

/// The definition of a column.
fn definition(column: Column) -> String {
    let kind = if column.kind.is_text() { "TEXT" } else { "INTEGER" };
    let limit = if column.is_nullable { "" } else { " NOT NULL" };
    format!("{} {kind}{limit}", column.name)
}

/// The statement that inserts a row.
pub(super) fn insert(table: TableSpec) -> String {
    let places: Vec<&str> = table.names().map(|_| "?").collect();
    format!("INSERT INTO {} VALUES ({})", table.name, places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_clustered_by_their_keys() {
        let lines =
            TableSpec { name: "lines", columns: "o i, n i, info t, sent i", key: 2, nullable: &["sent"] };
        assert_eq!(
            create(lines),
            "CREATE TABLE lines (o INTEGER NOT NULL, n INTEGER NOT NULL, info TEXT NOT NULL, sent INTEGER, \
             PRIMARY KEY (o, n)) STRICT, WITHOUT ROWID;"
        );
        assert_eq!(insert(lines), "INSERT INTO lines VALUES (?, ?, ?, ?)");
        assert!(create(TableSpec { key: 0, ..lines }).ends_with("sent INTEGER) STRICT;"));
    }
}
