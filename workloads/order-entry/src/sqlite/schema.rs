//! Tables and indices as SQLite has them.

use crate::tables::Table;

/// Marks the files of this workload in their header: "BOEn" in ASCII.
pub(super) const APPLICATION_ID: i32 = 0x424f_456e;

/// Version, size and seed of the rows. It is written last: a file without it is incomplete.
pub(super) const MARKER: &str = "
CREATE TABLE barograph_marker (version INTEGER, warehouses INTEGER, scale REAL, seed TEXT, lines INTEGER) STRICT;
";

/// Secondary indices, made after the rows.
pub(super) const INDICES: &str = "
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id);
CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
";

/// The statement that makes a table.
pub(super) fn create(table: Table) -> String {
    let columns: Vec<String> = table.columns().split(", ").map(column).collect();
    let (name, columns) = (table.name(), columns.join(", "));
    let key: Vec<&str> = table.names().take(table.key()).collect();
    match key.join(", ") {
        key if key.is_empty() => format!("CREATE TABLE {name} ({columns}) STRICT;"),
        key => format!("CREATE TABLE {name} ({columns}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID;"),
    }
}

/// The definition of a column. Only columns that are set by a delivery may be null.
fn column(column: &str) -> String {
    let (name, kind) = column.split_once(' ').unwrap_or((column, "t"));
    let kind = if kind == "i" { "INTEGER" } else { "TEXT" };
    match name {
        "o_carrier_id" | "ol_delivery_d" => format!("{name} {kind}"),
        _ => format!("{name} {kind} NOT NULL"),
    }
}

/// The statement that inserts a row.
pub(super) fn insert(table: Table) -> String {
    let places: Vec<&str> = table.names().map(|_| "?").collect();
    format!("INSERT INTO {} VALUES ({})", table.name(), places.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_clustered_by_their_keys() {
        assert_eq!(
            create(Table::NewOrder),
            "CREATE TABLE new_order (no_w_id INTEGER NOT NULL, no_d_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id)) STRICT, WITHOUT ROWID;"
        );
        assert!(create(Table::History).ends_with("h_data TEXT NOT NULL) STRICT;"));
        assert!(create(Table::Orders).contains("o_carrier_id INTEGER,"));
        assert_eq!(insert(Table::NewOrder), "INSERT INTO new_order VALUES (?, ?, ?)");
    }
}
