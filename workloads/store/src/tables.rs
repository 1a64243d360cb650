//! The eight tables: columns, keys and numbers of rows.

use barograph_database::TableSpec;

/// Categories of products.
pub(crate) const CATEGORIES: i64 = 16;

/// Most actors: first names times last names.
const MOST_ACTORS: i64 = crate::words::NAMES * crate::words::NAMES;

/// Products of an actor on average.
const PRODUCTS_OF_AN_ACTOR: i64 = 20;

/// The distance from one sold-out product to the next. Such a product has no stock and gets none.
const SOLD_OUT_EVERY: i64 = 100;

/// Rows of a megabyte of a SQLite file.
mod rows {
    pub(super) const CUSTOMERS: i64 = 2_800;
    pub(super) const PRODUCTS: i64 = 560;
    pub(super) const ORDERS: i64 = 1_680;
}

/// Lines of a loaded order on average.
pub(crate) const MEAN_LINES: i64 = 5;

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Categories,
    Products,
    Inventory,
    Customers,
    Orders,
    OrderLines,
    History,
    Reorder,
}

impl Table {
    /// All tables, in the order in which they are filled.
    pub(crate) const ALL: [Table; 8] = [
        Table::Categories,
        Table::Products,
        Table::Inventory,
        Table::Customers,
        Table::Orders,
        Table::OrderLines,
        Table::History,
        Table::Reorder,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Categories => "categories",
            Table::Products => "products",
            Table::Inventory => "inventory",
            Table::Customers => "customers",
            Table::Orders => "orders",
            Table::OrderLines => "order_lines",
            Table::History => "history",
            Table::Reorder => "reorder",
        }
    }

    const fn columns(self) -> &'static str {
        match self {
            Table::Categories => "g_id i, g_name t",
            Table::Products => {
                "p_id i, p_category i, p_title t, p_actor t, p_price i, p_special i, p_common i"
            }
            Table::Inventory => "i_product i, i_stock i, i_sold i",
            Table::Customers => {
                "c_id n, c_username t, c_password t, c_first t, c_last t, c_address1 t, c_address2 t, c_city t, \
                 c_state t, c_zip t, c_country t, c_region i, c_email t, c_phone t, c_card_type i, c_card t, \
                 c_card_expires t, c_age i, c_income i, c_gender t"
            }
            Table::Orders => "o_id n, o_customer i, o_date b, o_lines i, o_net i, o_tax i, o_total i",
            Table::OrderLines => "l_order i, l_number i, l_product i, l_quantity i, l_cents i",
            Table::History => "h_customer i, h_order i, h_number i, h_product i",
            Table::Reorder => "r_product i, r_date b, r_low i, r_quantity i",
        }
    }

    const fn key(self) -> usize {
        match self {
            Table::Reorder => 0,
            Table::Categories | Table::Products | Table::Inventory | Table::Customers | Table::Orders => 1,
            Table::OrderLines => 2,
            Table::History => 3,
        }
    }
}

impl barograph_database::Table for Table {
    fn all() -> &'static [Self] {
        &Table::ALL
    }

    fn spec(self) -> TableSpec {
        TableSpec { name: self.name(), columns: self.columns(), key: self.key(), nullable: &[] }
    }
}

/// The size of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Megabytes of a SQLite file, to within a few percent.
    pub(crate) megabytes: i64,
    pub(crate) customers: i64,
    pub(crate) products: i64,
    /// Loaded orders.
    pub(crate) orders: i64,
}

impl Size {
    /// The size of a number of megabytes. All rows grow in proportion.
    pub(crate) const fn new(megabytes: u32) -> Self {
        let megabytes = megabytes as i64;
        Size {
            megabytes,
            customers: megabytes * rows::CUSTOMERS,
            products: megabytes * rows::PRODUCTS,
            orders: megabytes * rows::ORDERS,
        }
    }

    /// Different actors.
    pub(crate) fn actors(&self) -> i64 {
        (self.products / PRODUCTS_OF_AN_ACTOR).clamp(1, MOST_ACTORS)
    }

    /// Products that are sold out.
    pub(crate) const fn sold_out(&self) -> i64 {
        self.products / SOLD_OUT_EVERY
    }

    /// Products in stock.
    pub(crate) const fn in_stock(&self) -> i64 {
        self.products - self.sold_out()
    }

    /// Loaded rows of a table. Those of order lines and history are expected ones.
    pub(crate) fn rows(&self, table: Table) -> u64 {
        let rows = match table {
            Table::Categories => CATEGORIES,
            Table::Products | Table::Inventory => self.products,
            Table::Customers => self.customers,
            Table::Orders => self.orders,
            Table::OrderLines | Table::History => self.orders * MEAN_LINES,
            Table::Reorder => 0,
        };
        rows.unsigned_abs()
    }
}

/// Whether a product is sold out.
pub(crate) const fn is_sold_out(product: i64) -> bool {
    product % SOLD_OUT_EVERY == 0
}

/// The sold-out product with this index, from 0.
pub(crate) const fn sold_out(index: i64) -> i64 {
    (index + 1) * SOLD_OUT_EVERY
}

/// The product in stock with this index, from 0.
pub(crate) const fn in_stock(index: i64) -> i64 {
    index + index / (SOLD_OUT_EVERY - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_either_in_stock_or_sold_out() {
        let size = Size::new(1);
        let mut all: Vec<i64> = (0..size.in_stock()).map(in_stock).collect();
        assert!(all.iter().all(|product| !is_sold_out(*product)));
        let without: Vec<i64> = (0..size.sold_out()).map(sold_out).collect();
        assert!(without.iter().all(|product| is_sold_out(*product)));
        all.extend(without);
        all.sort_unstable();
        assert_eq!(all, (1..=size.products).collect::<Vec<_>>());
    }

    #[test]
    fn sizes_grow_in_proportion() {
        for (megabytes, customers, products, orders, actors) in [
            (1, 2_800, 560, 1_680, 28),
            (100, 280_000, 56_000, 168_000, 2_800),
            (100_000, 280_000_000, 56_000_000, 168_000_000, 40_000),
        ] {
            let size = Size::new(megabytes);
            let found = (size.customers, size.products, size.orders, size.actors());
            assert_eq!(found, (customers, products, orders, actors), "{megabytes}");
        }
    }
}
