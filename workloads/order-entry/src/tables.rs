//! The nine tables: columns, keys and numbers of rows.

use barograph_database::TableSpec;

/// Districts of a warehouse.
pub(crate) const DISTRICTS: i64 = 10;

/// Items of the database, and rows of stock of a warehouse, in the published size.
const ITEMS: f64 = 100_000.0;

/// Customers of a district in the published size. Each has one loaded order.
const CUSTOMERS: f64 = 3_000.0;

/// Fewest customers of a district: Stock-Level looks at the lines of the latest 20 orders.
const FEWEST_CUSTOMERS: i64 = 30;

/// Fewest items: an order has up to 15 lines.
const FEWEST_ITEMS: i64 = 100;

/// The loaded payment of each customer, in cents.
pub(crate) const FIRST_PAYMENT: i64 = 1_000;

/// Loaded payments of a district, in cents.
pub(crate) const fn district_ytd(customers: i64) -> i64 {
    customers * FIRST_PAYMENT
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Item,
    Warehouse,
    Stock,
    District,
    Customer,
    History,
    Orders,
    OrderLine,
    NewOrder,
}

impl Table {
    /// All tables, in the order in which they are filled.
    pub(crate) const ALL: [Table; 9] = [
        Table::Item,
        Table::Warehouse,
        Table::Stock,
        Table::District,
        Table::Customer,
        Table::History,
        Table::Orders,
        Table::OrderLine,
        Table::NewOrder,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Table::Item => "item",
            Table::Warehouse => "warehouse",
            Table::Stock => "stock",
            Table::District => "district",
            Table::Customer => "customer",
            Table::History => "history",
            Table::Orders => "orders",
            Table::OrderLine => "order_line",
            Table::NewOrder => "new_order",
        }
    }

    /// Its columns in order, each with the letter of its type.
    pub(crate) const fn columns(self) -> &'static str {
        match self {
            Table::Item => "i_id i, i_im_id i, i_name t, i_price i, i_data t",
            Table::Warehouse => {
                "w_id i, w_name t, w_street_1 t, w_street_2 t, w_city t, w_state t, w_zip t, w_tax i, w_ytd b"
            }
            Table::Stock => {
                "s_w_id i, s_i_id i, s_quantity i, s_dist_01 t, s_dist_02 t, s_dist_03 t, s_dist_04 t, s_dist_05 t, \
                 s_dist_06 t, s_dist_07 t, s_dist_08 t, s_dist_09 t, s_dist_10 t, s_ytd b, s_order_cnt i, \
                 s_remote_cnt i, s_data t"
            }
            Table::District => {
                "d_w_id i, d_id i, d_name t, d_street_1 t, d_street_2 t, d_city t, d_state t, d_zip t, d_tax i, \
                 d_ytd b, d_next_o_id i"
            }
            Table::Customer => {
                "c_w_id i, c_d_id i, c_id i, c_first t, c_middle t, c_last t, c_street_1 t, c_street_2 t, c_city t, \
                 c_state t, c_zip t, c_phone t, c_since b, c_credit t, c_credit_lim i, c_discount i, c_balance b, \
                 c_ytd_payment b, c_payment_cnt i, c_delivery_cnt i, c_data l"
            }
            Table::History => {
                "h_c_w_id i, h_c_d_id i, h_c_id i, h_w_id i, h_d_id i, h_date b, h_amount i, h_data t"
            }
            Table::Orders => {
                "o_w_id i, o_d_id i, o_id i, o_c_id i, o_entry_d b, o_carrier_id i, o_ol_cnt i, o_all_local i"
            }
            Table::OrderLine => {
                "ol_w_id i, ol_d_id i, ol_o_id i, ol_number i, ol_i_id i, ol_supply_w_id i, ol_delivery_d b, \
                 ol_quantity i, ol_amount i, ol_dist_info t"
            }
            Table::NewOrder => "no_w_id i, no_d_id i, no_o_id i",
        }
    }

    /// The number of leading columns that are its key; 0 for history, which has none.
    pub(crate) const fn key(self) -> usize {
        match self {
            Table::History => 0,
            Table::Item | Table::Warehouse => 1,
            Table::Stock | Table::District => 2,
            Table::Customer | Table::Orders | Table::NewOrder => 3,
            Table::OrderLine => 4,
        }
    }

    /// The names of its columns.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.columns().split(", ").map(|column| column.split_once(' ').map_or(column, |(name, _)| name))
    }
}

impl barograph_database::Table for Table {
    fn all() -> &'static [Self] {
        &Table::ALL
    }

    /// Columns that are set by a delivery may be null.
    fn spec(self) -> TableSpec {
        let nullable = &["o_carrier_id", "ol_delivery_d"];
        TableSpec { name: self.name(), columns: self.columns(), key: self.key(), nullable }
    }
}

/// The size of a database.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Size {
    pub(crate) warehouses: i64,
    /// Items of the database, and rows of stock of each warehouse.
    pub(crate) items: i64,
    /// Customers of a district.
    pub(crate) customers: i64,
    /// Part of the published rows of a warehouse.
    pub(crate) scale: f64,
}

impl Size {
    /// The size of a number of warehouses, each with a part of its published rows.
    pub(crate) fn new(warehouses: u32, scale: f64) -> Self {
        let part = |whole: f64| (whole * scale).round() as i64;
        Size {
            warehouses: warehouses.into(),
            items: part(ITEMS).max(FEWEST_ITEMS),
            customers: part(CUSTOMERS).max(FEWEST_CUSTOMERS),
            scale,
        }
    }

    /// The latest delivered order of a loaded district. Seven of ten are delivered.
    pub(crate) fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// All districts.
    pub(crate) fn districts(&self) -> i64 {
        self.warehouses * DISTRICTS
    }

    /// Loaded rows of a table. Orders have ten lines on average.
    pub(crate) fn rows(&self, table: Table) -> u64 {
        let per_customer = self.districts() * self.customers;
        let rows = match table {
            Table::Item => self.items,
            Table::Warehouse => self.warehouses,
            Table::Stock => self.warehouses * self.items,
            Table::District => self.districts(),
            Table::Customer | Table::History | Table::Orders => per_customer,
            Table::OrderLine => per_customer * 10,
            Table::NewOrder => self.districts() * (self.customers - self.delivered()),
        };
        rows.unsigned_abs()
    }
}
