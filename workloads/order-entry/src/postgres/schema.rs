//! Tables, keys and indices as PostgreSQL has them.

use crate::tables::Table;

/// Size and seed of the rows, and the number of order lines. It is made first, and `lines` is set last: without `lines` the
/// database is incomplete.
pub(super) const MARKER: &str = "CREATE TABLE barograph_marker (filled text NOT NULL, lines bigint)";

/// Secondary indices, made after the rows.
pub(super) const INDICES: [&str; 2] = [
    "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
];

/// Numbers that can exceed 32 bits: sums of amounts, and dates.
const WIDE: [&str; 9] = [
    "w_ytd",
    "s_ytd",
    "d_ytd",
    "c_balance",
    "c_ytd_payment",
    "c_since",
    "h_date",
    "o_entry_d",
    "ol_delivery_d",
];

/// The statement that makes a table, without its key.
pub(super) fn create(table: Table) -> String {
    let columns: Vec<String> = table.columns().split(", ").map(column).collect();
    format!("CREATE TABLE {} ({})", table.name(), columns.join(", "))
}

/// The statement that makes the key of a table.
pub(super) fn key(table: Table) -> Option<String> {
    let key: Vec<&str> = table.names().take(table.key()).collect();
    (!key.is_empty()).then(|| format!("ALTER TABLE {} ADD PRIMARY KEY ({})", table.name(), key.join(", ")))
}

/// The definition of a column. Texts are sorted by their bytes, as on other engines. Only columns that are set by a delivery may
/// be null.
fn column(column: &str) -> String {
    let (name, kind) = column.split_once(' ').unwrap_or((column, "t"));
    let kind = match kind {
        "i" if WIDE.contains(&name) => "bigint",
        "i" => "integer",
        _ => "text COLLATE \"C\"",
    };
    match name {
        "o_carrier_id" | "ol_delivery_d" => format!("{name} {kind}"),
        _ => format!("{name} {kind} NOT NULL"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_types_of_their_values() {
        assert_eq!(
            create(Table::NewOrder),
            "CREATE TABLE new_order (no_w_id integer NOT NULL, no_d_id integer NOT NULL, no_o_id integer NOT NULL)"
        );
        let orders = create(Table::Orders);
        assert!(orders.contains("o_entry_d bigint NOT NULL, o_carrier_id integer, "), "{orders}");
        assert!(create(Table::Item).contains("i_name text COLLATE \"C\" NOT NULL"));
        assert_eq!(key(Table::Stock).unwrap(), "ALTER TABLE stock ADD PRIMARY KEY (s_w_id, s_i_id)");
        assert_eq!(key(Table::History), None);
    }

    #[test]
    fn wide_columns_exist() {
        let names: Vec<&str> = Table::ALL.into_iter().flat_map(Table::names).collect();
        assert!(WIDE.iter().all(|wide| names.contains(wide)));
    }
}
