//! The loaded rows of all tables, as a function of size and seed. Each piece of a table can be made on its own.

use barograph_data::{Stream, Streams};
use barograph_database::{Contents, Indices, Value, digits, number_at, row, text};
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::draw::{Constants, data, last_name};
use crate::tables::{DISTRICTS, FIRST_PAYMENT, Size, Table, district_ytd};

/// Some rows of a table, one after the other.
pub(crate) type Batch = barograph_database::Batch<Table>;

/// Rows of a batch: some hundred kilobytes.
const BATCH: usize = 2_000;

/// The date of all loaded rows: the first second of 2026, in seconds since 1970.
const LOADED_AT: i64 = 1_767_225_600;

/// Credit limit of every customer, in cents.
const CREDIT_LIMIT: i64 = 5_000_000;

/// The quantity of every loaded order line.
const QUANTITY: i64 = 5;

/// The rows of a table that belong to a warehouse, a district, or the whole database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) table: Table,
    /// 0 for items.
    warehouse: i64,
    /// 0 for what belongs to no district.
    district: i64,
}

/// Generates the rows of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    pub(crate) size: Size,
    pub(crate) seed: u64,
    streams: Streams,
    constants: Constants,
}

impl Generator {
    pub(crate) fn new(size: Size, seed: u64) -> Self {
        Generator { size, seed, streams: Streams::new(seed), constants: Constants::of_seed(seed) }
    }

    /// The first and last number of a piece: items, customers or orders.
    fn numbers(&self, piece: Piece) -> (i64, i64) {
        match piece.table {
            Table::Item | Table::Stock => (1, self.size.items),
            Table::Warehouse => (piece.warehouse, piece.warehouse),
            Table::District => (piece.district, piece.district),
            Table::Customer | Table::History | Table::Orders | Table::OrderLine => (1, self.size.customers),
            Table::NewOrder => (self.size.delivered() + 1, self.size.customers),
        }
    }

    /// The customers of a district in the sequence of their orders.
    fn buyers(&self, rng: &mut Stream) -> Vec<i64> {
        let mut buyers: Vec<i64> = (1..=self.size.customers).collect();
        buyers.shuffle(rng);
        buyers
    }

    /// Appends the rows of a number: the lines of an order, or one row of any other table.
    fn rows(&self, at: Piece, (number, buyers): (i64, &[i64]), rng: &mut Stream, rows: &mut Vec<Value>) {
        let (w, d) = (at.warehouse, at.district);
        match at.table {
            Table::Item => {
                let (image, price) = (rng.random_range(1..=10_000), self.price(number));
                row!(rows, number, image, text(14..=24, rng), price, data(rng));
            }
            Table::Warehouse => {
                row!(rows, w, text(6..=10, rng));
                address(rng, rows);
                row!(rows, rng.random_range(0..=2_000), district_ytd(self.size.customers) * DISTRICTS);
            }
            Table::Stock => {
                row!(rows, w, number, self.stock(w, number));
                rows.extend((0..DISTRICTS).map(|_| Value::from(text(24..=24, rng))));
                row!(rows, 0, 0, 0, data(rng));
            }
            Table::District => {
                row!(rows, w, d, text(6..=10, rng));
                address(rng, rows);
                let tax = rng.random_range(0..=2_000);
                row!(rows, tax, district_ytd(self.size.customers), self.size.customers + 1);
            }
            Table::Customer => self.customer((w, d, number), rng, rows),
            Table::History => {
                row!(rows, w, d, number, w, d, LOADED_AT, FIRST_PAYMENT, text(12..=24, rng));
            }
            Table::Orders => {
                let carrier = match number <= self.size.delivered() {
                    true => Value::Int(rng.random_range(1..=10)),
                    false => Value::Null,
                };
                row!(rows, w, d, number, buyers[number as usize - 1], LOADED_AT);
                rows.push(carrier);
                row!(rows, self.lines((w, d, number)), 1);
            }
            Table::OrderLine => self.order_lines((w, d, number), rng, rows),
            Table::NewOrder => row!(rows, w, d, number),
        }
    }

    fn customer(&self, (w, d, number): (i64, i64, i64), rng: &mut Stream, rows: &mut Vec<Value>) {
        let mut last = String::new();
        last_name(self.constants.loaded_name((number, self.size.customers), rng), &mut last);
        row!(rows, w, d, number, text(8..=16, rng), "OE", last);
        address(rng, rows);
        let credit = if rng.random_range(0..10) == 0 { "BC" } else { "GC" };
        row!(rows, digits(16, rng), LOADED_AT, credit, CREDIT_LIMIT, rng.random_range(0..=5_000));
        row!(rows, -FIRST_PAYMENT, FIRST_PAYMENT, 1, 0, text(300..=500, rng));
    }

    /// Delivered lines have a date and amount 0; open lines have an amount and no date.
    fn order_lines(&self, (w, d, order): (i64, i64, i64), rng: &mut Stream, rows: &mut Vec<Value>) {
        let is_delivered = order <= self.size.delivered();
        for line in 1..=self.lines((w, d, order)) {
            row!(rows, w, d, order, line, rng.random_range(1..=self.size.items), w);
            rows.push(if is_delivered { Value::Int(LOADED_AT) } else { Value::Null });
            let amount = if is_delivered { 0 } else { rng.random_range(1..=999_999) };
            row!(rows, QUANTITY, amount, text(24..=24, rng));
        }
    }

    /// The price of an item, in cents.
    pub(crate) fn price(&self, item: i64) -> i64 {
        number_at(self.seed, "price", [0, 0, item], (100, 10_000))
    }

    /// The loaded stock of an item.
    pub(crate) fn stock(&self, warehouse: i64, item: i64) -> i64 {
        number_at(self.seed, "stock", [warehouse, 0, item], (10, 100))
    }

    /// The number of lines of a loaded order.
    fn lines(&self, (w, d, order): (i64, i64, i64)) -> i64 {
        number_at(self.seed, "lines", [w, d, order], (5, 15))
    }
}

impl Contents for Generator {
    type Table = Table;
    type Piece = Piece;

    /// "BOEn" in ASCII.
    const APPLICATION_ID: i32 = 0x424f_456e;

    const KIND: &'static str = "an Order-Entry database";

    const INDICES: Indices = Indices {
        all: &[
            "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)",
            "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
        ],
        sqlite: &[],
        postgres: &[],
        mariadb: &[],
    };

    fn stamp(&self) -> String {
        let Size { warehouses, scale, .. } = self.size;
        let (seed, version) = (self.seed, crate::VERSION);
        format!(
            "warehouses = {warehouses}, scale = {scale}, seed = {seed}, version {version} of the workload"
        )
    }

    fn expected_rows(&self, table: Table) -> u64 {
        self.size.rows(table)
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + Send {
        let warehouses = self.size.warehouses;
        let of = move |table: Table| {
            let (first, last) = if table == Table::Item { (0, 0) } else { (1, warehouses) };
            let whole = matches!(table, Table::Item | Table::Warehouse | Table::Stock);
            let districts = if whole { 0..=0 } else { 1..=DISTRICTS };
            (first..=last).flat_map(move |warehouse| {
                districts.clone().map(move |district| Piece { table, warehouse, district })
            })
        };
        Table::ALL.into_iter().flat_map(of)
    }

    fn piece(&self, piece: Piece, take: &mut dyn FnMut(Batch) -> bool) -> bool {
        let place = (piece.warehouse * (DISTRICTS + 1) + piece.district).unsigned_abs();
        let mut rng = self.streams.stream(piece.table.name(), place);
        let columns = piece.table.names().count();
        let (first, last) = self.numbers(piece);
        let buyers = if piece.table == Table::Orders { self.buyers(&mut rng) } else { Vec::new() };
        let mut values = Vec::new();
        for number in first..=last {
            self.rows(piece, (number, &buyers), &mut rng, &mut values);
            if values.len() >= BATCH * columns || number == last {
                let rows = (values.len() / columns) as u64;
                if !take(Batch { table: piece.table, values: std::mem::take(&mut values), rows }) {
                    return false;
                }
            }
        }
        true
    }
}

/// Two lines of a street, city, state and zip code.
fn address(rng: &mut Stream, rows: &mut Vec<Value>) {
    row!(rows, text(10..=20, rng), text(10..=20, rng), text(10..=20, rng), text(2..=2, rng), digits(9, rng));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn all(size: Size, seed: u64) -> BTreeMap<&'static str, Vec<Vec<Value>>> {
        let generator = Generator::new(size, seed);
        let mut tables = BTreeMap::<_, Vec<Vec<Value>>>::new();
        for piece in generator.pieces() {
            let columns = piece.table.names().count();
            let whole = generator.piece(piece, &mut |batch| {
                assert_eq!(batch.values.len(), batch.rows as usize * columns, "{}", batch.table.name());
                let rows = batch.values.chunks(columns).map(<[Value]>::to_vec);
                tables.entry(batch.table.name()).or_default().extend(rows);
                true
            });
            assert!(whole);
        }
        tables
    }

    #[test]
    fn a_seed_repeats_all_rows_and_another_changes_them() {
        let size = Size::new(2, 0.01);
        let (one, again, other) = (all(size, 1), all(size, 1), all(size, 2));
        assert!(one == again);
        for table in Table::ALL.into_iter().filter(|table| *table != Table::NewOrder) {
            assert_ne!(one[table.name()], other[table.name()], "{}", table.name());
        }
    }

    #[test]
    fn tables_have_their_rows_and_keys_come_in_order() {
        let size = Size::new(2, 0.02);
        for (name, rows) in all(size, 7) {
            let table = Table::ALL.into_iter().find(|table| table.name() == name).unwrap();
            let expected = size.rows(table);
            match table {
                Table::OrderLine => {
                    let off = rows.len() as f64 / expected as f64;
                    assert!((0.97..1.03).contains(&off), "{} lines", rows.len());
                }
                _ => assert_eq!(rows.len() as u64, expected, "{name}"),
            }
            let key = |row: &[Value]| -> Vec<i64> {
                row[..table.key()].iter().map(|v| if let Value::Int(n) = v { *n } else { -1 }).collect()
            };
            assert!(table.key() == 0 || rows.is_sorted_by(|a, b| key(a) < key(b)), "{name}");
        }
    }

    #[test]
    fn the_published_size_is_that_of_its_tables() {
        let size = Size::new(3, 1.0);
        let rows = [100_000, 3, 300_000, 30, 90_000, 90_000, 90_000, 900_000, 27_000];
        assert_eq!(Table::ALL.map(|table| size.rows(table)), rows);
        assert_eq!((size.delivered(), district_ytd(size.customers)), (2_100, 3_000_000));
    }

    #[test]
    fn one_of_ten_customers_has_bad_credit_and_the_first_have_each_name_once() {
        let size = Size { customers: 1_500, ..Size::new(1, 0.01) };
        let customers = &all(size, 3)["customer"];
        let at = |name| Table::Customer.names().position(|column| column == name).unwrap();
        let bad = customers.iter().filter(|row| row[at("c_credit")] == Value::from("BC")).count();
        assert!((1_300..1_700).contains(&bad), "{bad} of {}", customers.len());
        let names = customers[..1_000].iter().map(|row| format!("{:?}", row[at("c_last")]));
        assert_eq!(names.collect::<std::collections::BTreeSet<_>>().len(), 1_000);
    }
}
