//! Tables, keys and indices as MariaDB has them.

use crate::tables::Table;

/// The name of the marker.
pub(super) const MARKER: &str = "barograph_marker";

/// Size and seed of the rows, and the number of order lines. It is made first, and `order_lines` is set last: without it the
/// database is incomplete.
pub(super) const CREATE_MARKER: &str =
    "CREATE TABLE barograph_marker (filled VARCHAR(500) NOT NULL, order_lines BIGINT) ENGINE=InnoDB";

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

/// The longest text.
const LONG: &str = "c_data";

/// The statement that makes a table. Rows lie in the order of the key, in which they are loaded. Texts are sorted by their
/// bytes, as on other engines.
pub(super) fn create(table: Table) -> String {
    let mut parts: Vec<String> = table.columns().split(", ").map(column).collect();
    let key: Vec<&str> = table.names().take(table.key()).collect();
    if !key.is_empty() {
        parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    }
    format!(
        "CREATE TABLE {} ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
        table.name(),
        parts.join(", ")
    )
}

/// The definition of a column. Only columns that are set by a delivery may be null.
fn column(column: &str) -> String {
    let (name, kind) = column.split_once(' ').unwrap_or((column, "t"));
    let kind = match kind {
        "i" if WIDE.contains(&name) => "BIGINT",
        "i" => "INT",
        _ if name == LONG => "VARCHAR(500)",
        _ => "VARCHAR(50)",
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
            "CREATE TABLE new_order (no_w_id INT NOT NULL, no_d_id INT NOT NULL, no_o_id INT NOT NULL, \
             PRIMARY KEY (no_w_id, no_d_id, no_o_id)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
        );
        let orders = create(Table::Orders);
        assert!(orders.contains("o_entry_d BIGINT NOT NULL, o_carrier_id INT, "), "{orders}");
        assert!(create(Table::Item).contains("i_name VARCHAR(50) NOT NULL"));
        assert!(!create(Table::History).contains("KEY"));
    }

    #[test]
    fn columns_with_types_of_their_own_exist() {
        let names: Vec<&str> = Table::ALL.into_iter().flat_map(Table::names).collect();
        assert!(WIDE.iter().chain([&LONG]).all(|own| names.contains(own)));
    }
}
