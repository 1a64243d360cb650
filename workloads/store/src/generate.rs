//! The loaded rows of all tables, as a function of size, seed and number of the row.

use barograph_data::{Stream, Streams};
use barograph_database::{Batch, Contents, Indices, Span, Value, digits, number_at, row, text};
use rand::RngExt;

use crate::shuffle::Shuffle;
use crate::tables::{CATEGORIES, Size, Table, is_sold_out};
use crate::words::{TITLE_WORDS, Word};

/// The date of the first loaded order: the first second of 2025, in seconds since 1970. The last is of the end of the year.
const FIRST_DATE: i64 = 1_735_689_600;

/// Seconds of that year.
const YEAR: i64 = 365 * 86_400;

/// Products for each special offer, beside the first product of each category.
const SPECIAL_EVERY: i64 = 100;

/// Countries of customers outside of the first half.
const COUNTRIES: [&str; 10] =
    ["Austria", "Brazil", "Canada", "Denmark", "Estonia", "France", "Ghana", "Hungary", "India", "Japan"];

/// The stock after a restock.
pub(crate) const FULL: i64 = 250;

/// A product with less stock is restocked.
pub(crate) const LEAST_STOCK: i64 = 3;

/// The highest loaded stock.
pub(crate) const MOST_STOCK: i64 = 500;

/// The tax on a net amount, in cents: 8.25 %, rounded.
pub(crate) const fn tax(net: i64) -> i64 {
    (net * 825 + 5_000) / 10_000
}

/// Generates the rows of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    pub(crate) size: Size,
    pub(crate) seed: u64,
    streams: Streams,
    /// Customers by their orders.
    buyers: Shuffle,
}

impl Generator {
    pub(crate) fn new(size: Size, seed: u64) -> Self {
        Generator { size, seed, streams: Streams::new(seed), buyers: Shuffle::new(size.customers, seed) }
    }

    fn number(&self, what: &str, (a, b): (i64, i64), range: (i64, i64)) -> i64 {
        number_at(self.seed, what, [a, b, 0], range)
    }

    /// The price of a product, in cents.
    pub(crate) fn price(&self, product: i64) -> i64 {
        99 + 100 * self.number("price", (product, 0), (9, 29))
    }

    /// The loaded stock of a product.
    pub(crate) fn stock(&self, product: i64) -> i64 {
        if is_sold_out(product) { 0 } else { self.number("stock", (product, 0), (LEAST_STOCK, MOST_STOCK)) }
    }

    /// The words of a title.
    pub(crate) fn title(&self, product: i64) -> [Word; 3] {
        [1, 2, 3].map(|place| Word::of_title(self.number("title", (product, place), (0, TITLE_WORDS - 1))))
    }

    /// First and last name of the actor of a product.
    pub(crate) fn actor(&self, product: i64) -> [Word; 2] {
        Word::of_actor(self.number("actor", (product, 0), (0, self.size.actors() - 1)))
    }

    /// The password of a loaded customer.
    pub(crate) fn password(&self, customer: i64) -> i64 {
        self.number("password", (customer, 0), (10_000_000, 99_999_999))
    }

    /// Appends the row of a new customer, without its number.
    pub(crate) fn customer(
        (name, password): (String, i64),
        is_near: bool,
        rng: &mut Stream,
        row: &mut Vec<Value>,
    ) {
        let email = format!("{name}@store.example");
        row!(row, name, password.to_string(), text(6..=6, rng), text(10..=10, rng), text(12..=20, rng));
        row!(row, if rng.random_bool(0.5) { text(6..=10, rng) } else { String::new() }, text(7..=7, rng));
        match is_near {
            true => row!(row, text(2..=2, rng), digits(5, rng), "US", 1),
            false => row!(row, "", "0", COUNTRIES[rng.random_range(0..COUNTRIES.len())], 2),
        }
        let expires = format!("{}/{:02}", rng.random_range(2026..=2030), rng.random_range(1..=12));
        row!(row, email, digits(10, rng), rng.random_range(1..=5), digits(16, rng), expires);
        row!(row, rng.random_range(18..=90), 20_000 * rng.random_range(1..=5));
        row!(row, if rng.random_bool(0.5) { "F" } else { "M" });
    }

    /// Lines of a loaded order.
    fn lines(&self, order: i64) -> i64 {
        self.number("lines", (order, 0), (1, 9))
    }

    /// Product and quantity of a line of a loaded order.
    fn line(&self, order: i64, number: i64) -> (i64, i64) {
        let product = self.number("product", (order, number), (1, self.size.products));
        (product, self.number("quantity", (order, number), (1, 3)))
    }

    /// Rows are made for each number: of an order all lines, of a customer all lines of its history.
    fn numbers(&self, table: Table) -> i64 {
        match table {
            Table::Categories => CATEGORIES,
            Table::Products | Table::Inventory => self.size.products,
            Table::Customers | Table::History => self.size.customers,
            Table::Orders | Table::OrderLines => self.size.orders,
            Table::Reorder => 0,
        }
    }

    /// Appends the rows of a number.
    fn rows(&self, table: Table, number: i64, rows: &mut Vec<Value>) {
        match table {
            Table::Categories => row!(rows, number, format!("category {number}")),
            Table::Products => self.product(number, rows),
            Table::Inventory => row!(rows, number, self.stock(number), 0),
            Table::Customers => {
                let mut rng = self.streams.stream("customer", number.unsigned_abs());
                row!(rows, number);
                let login = (user_name(number), self.password(number));
                Generator::customer(login, number <= self.size.customers / 2, &mut rng, rows);
            }
            Table::Orders => self.order(number, rows),
            Table::OrderLines => {
                for line in 1..=self.lines(number) {
                    let (product, quantity) = self.line(number, line);
                    row!(rows, number, line, product, quantity, quantity * self.price(product));
                }
            }
            Table::History => {
                let order = self.buyers.place(number - 1) + 1;
                let lines = if order <= self.size.orders { self.lines(order) } else { 0 };
                for line in 1..=lines {
                    row!(rows, number, order, line, self.line(order, line).0);
                }
            }
            Table::Reorder => {}
        }
    }

    fn product(&self, product: i64, rows: &mut Vec<Value>) {
        let is_first = product <= CATEGORIES;
        let category =
            if is_first { product } else { self.number("category", (product, 0), (1, CATEGORIES)) };
        let is_special = is_first || self.number("special", (product, 0), (1, SPECIAL_EVERY)) == 1;
        let ([one, two, three], [first, last]) = (self.title(product), self.actor(product));
        row!(rows, product, category, format!("{one} {two} {three}"), format!("{first} {last}"));
        let common = self.number("common", (product, 0), (1, self.size.products));
        row!(rows, self.price(product), i64::from(is_special), common);
    }

    fn order(&self, order: i64, rows: &mut Vec<Value>) {
        let lines = self.lines(order);
        let cents = |(product, quantity): (i64, i64)| quantity * self.price(product);
        let net: i64 = (1..=lines).map(|line| cents(self.line(order, line))).sum();
        let date =
            FIRST_DATE + (i128::from(order - 1) * i128::from(YEAR) / i128::from(self.size.orders)) as i64;
        row!(rows, order, self.buyers.at(order - 1) + 1, date, lines, net, tax(net), net + tax(net));
    }
}

/// The name of a loaded customer.
pub(crate) fn user_name(customer: i64) -> String {
    format!("user{customer}")
}

impl Contents for Generator {
    type Table = Table;
    type Piece = Span<Table>;

    /// "BSto" in ASCII.
    const APPLICATION_ID: i32 = 0x4253_746f;

    const KIND: &'static str = "a Store database";

    /// The text index of SQLite has each word with its column and products, and that of MariaDB words of any text. All are made
    /// once, as titles and actors stay.
    const INDICES: Indices = Indices {
        all: &[
            "CREATE UNIQUE INDEX customers_username ON customers (c_username)",
            "CREATE INDEX products_special ON products (p_category, p_special, p_id)",
            "CREATE INDEX orders_customer ON orders (o_customer, o_id)",
        ],
        sqlite: &[
            "CREATE VIRTUAL TABLE products_text \
             USING fts5 (title, actor, content = '', detail = column, columnsize = 0)",
            "INSERT INTO products_text (rowid, title, actor) SELECT p_id, p_title, p_actor FROM products",
            "INSERT INTO products_text (products_text) VALUES ('optimize')",
        ],
        postgres: &[
            "CREATE INDEX products_title ON products USING gin (to_tsvector('simple', p_title))",
            "CREATE INDEX products_actor ON products USING gin (to_tsvector('simple', p_actor))",
        ],
        mariadb: &[
            "CREATE FULLTEXT INDEX products_title ON products (p_title)",
            "CREATE FULLTEXT INDEX products_actor ON products (p_actor)",
        ],
    };

    fn stamp(&self) -> String {
        let (megabytes, seed, version) = (self.size.megabytes, self.seed, crate::VERSION);
        format!("megabytes = {megabytes}, seed = {seed}, version {version} of the workload")
    }

    fn expected_rows(&self, table: Table) -> u64 {
        self.size.rows(table)
    }

    fn pieces(&self) -> impl Iterator<Item = Self::Piece> + Send {
        Span::all(|table| self.numbers(table))
    }

    fn piece(&self, piece: Self::Piece, take: &mut dyn FnMut(Batch<Table>) -> bool) -> bool {
        piece.batches(|table, number, rows| self.rows(table, number, rows), take)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn all(seed: u64) -> BTreeMap<&'static str, Vec<Vec<Value>>> {
        let mut tables = BTreeMap::<_, Vec<Vec<Value>>>::new();
        let generator = Generator::new(Size::new(1), seed);
        let mut take = |batch: Batch<Table>| {
            let columns = barograph_database::Table::spec(batch.table).names().count();
            assert_eq!(batch.values.len(), batch.rows as usize * columns, "{}", batch.table.name());
            let rows = batch.values.chunks(columns).map(<[Value]>::to_vec);
            tables.entry(batch.table.name()).or_default().extend(rows);
            true
        };
        assert!(generator.pieces().all(|piece| generator.piece(piece, &mut take)));
        tables
    }

    #[test]
    fn a_seed_repeats_all_rows_and_another_changes_them() {
        let (one, again, other) = (all(1), all(1), all(2));
        assert!(one == again);
        for (name, rows) in &one {
            assert_eq!(*rows == other[name], *name == "categories", "{name}");
        }
    }

    #[test]
    fn tables_have_their_rows_and_keys_come_in_order() {
        let tables = all(3);
        for table in Table::ALL {
            let spec = barograph_database::Table::spec(table);
            let (rows, expected) =
                (tables.get(table.name()).map_or(&[][..], |rows| rows), Size::new(1).rows(table));
            let off = rows.len().abs_diff(expected as usize);
            let most =
                if matches!(table, Table::OrderLines | Table::History) { expected as usize / 20 } else { 0 };
            assert!(off <= most, "{} rows of {}", rows.len(), spec.name);
            let key = |row: &[Value]| -> Vec<i64> {
                row[..spec.key].iter().map(|v| if let Value::Int(n) = v { *n } else { -1 }).collect()
            };
            assert!(rows.is_sorted_by(|a, b| key(a) < key(b)), "{}", spec.name);
        }
    }

    #[test]
    fn taxes_are_rounded_to_cents() {
        assert_eq!([0, 6, 7, 100, 10_000, 99_999].map(tax), [0, 0, 1, 8, 825, 8_250]);
    }
}
