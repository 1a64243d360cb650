//! The data checks: the conditions, the rows that never change in number, and what the driver counted.

use barograph_model::words::count;

use crate::conditions::{self, Condition};
use crate::generate::Generator;
use crate::tables::{DISTRICTS, FIRST_PAYMENT, Size, Table, district_ytd};
use crate::tally::Counted;

/// Fewest of an item that the rule of stock leaves, and most.
const STOCK: std::ops::RangeInclusive<i64> = 10..=100;

/// By how much stock is filled up.
const FILLED_UP: i64 = 91;

/// Asks the database a query of whole numbers and hands out each row.
pub(crate) trait Ask {
    type Error;

    fn ask(&mut self, sql: &str, row: &mut dyn FnMut(&[i64])) -> Result<(), Self::Error>;
}

/// What the checks found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// What is wrong, in sentences.
    pub(crate) wrong: Vec<String>,
}

/// Checks a database that was filled by `generator`. `counted` is what was committed since then, where it is known.
pub(crate) fn check<A: Ask>(
    database: &mut A,
    generator: &Generator,
    counted: Option<Counted>,
) -> Result<Checked, A::Error> {
    let mut checked = Checked::default();
    for condition in &conditions::ALL {
        let broken = broken(database, condition, &generator.size)?;
        checked.wrong.extend(broken);
    }
    checked.constant_rows(database, &generator.size)?;
    checked.stock(database, generator)?;
    checked.prices(database, generator)?;
    if let Some(counted) = counted {
        checked.reconcile(database, &generator.size, counted)?;
    }
    Ok(checked)
}

/// How a condition is broken, if it is.
fn broken<A: Ask>(database: &mut A, condition: &Condition, size: &Size) -> Result<Option<String>, A::Error> {
    let sql = condition.sql.replace("{customers}", &size.customers.to_string());
    let sql = sql.replace("{delivered}", &size.delivered().to_string());
    let mut places = Places::default();
    database.ask(&sql, &mut |row| places.add(row))?;
    let name = match condition.number {
        Some(number) => format!("condition {number} ({})", condition.rule),
        None => format!("\"{}\"", condition.rule),
    };
    Ok(places.first.map(|first| {
        let named = condition.keys.iter().zip(first).map(|(key, value)| format!("{key} {value}"));
        let named: Vec<String> = named.collect();
        format!("{name} does not hold in {}, the first is {}", times(places.count), named.join(", "))
    }))
}

fn times(places: u64) -> String {
    if places == 1 { "1 place".to_owned() } else { format!("{} places", count(places)) }
}

/// Places where something is wrong.
#[derive(Default)]
struct Places {
    count: u64,
    first: Option<Vec<i64>>,
}

impl Places {
    fn add(&mut self, place: &[i64]) {
        self.count += 1;
        self.first.get_or_insert_with(|| place.to_vec());
    }
}

/// The number that a query gives; 0 where it gives none.
fn number<A: Ask>(database: &mut A, sql: &str) -> Result<i64, A::Error> {
    let mut number = 0;
    database.ask(sql, &mut |row| number = row.first().copied().unwrap_or(0))?;
    Ok(number)
}

impl Checked {
    fn expect(&mut self, what: &str, found: i64, expected: i64) {
        if found != expected {
            self.wrong.push(format!("{what}: {found}, where {expected} are right"));
        }
    }

    /// Tables to which nothing is added and of which nothing is removed.
    fn constant_rows<A: Ask>(&mut self, database: &mut A, size: &Size) -> Result<(), A::Error> {
        for table in [Table::Item, Table::Warehouse, Table::Stock, Table::District, Table::Customer] {
            let found = number(database, &format!("SELECT count(*) FROM {}", table.name()))?;
            self.expect(&format!("rows of {}", table.name()), found, size.rows(table) as i64);
        }
        Ok(())
    }

    /// The stock of an item follows from the loaded one and what was ordered, up to fillings of 91.
    fn stock<A: Ask>(&mut self, database: &mut A, generator: &Generator) -> Result<(), A::Error> {
        let mut places = Places::default();
        database.ask("SELECT s_w_id, s_i_id, s_quantity, s_ytd FROM stock", &mut |row| {
            let [w, i, quantity, ordered] = *row else { return };
            let filled_up = quantity + ordered - generator.stock(w, i);
            if !STOCK.contains(&quantity) || filled_up % FILLED_UP != 0 || filled_up < 0 {
                places.add(&[w, i]);
            }
        })?;
        if let Some([w, i, ..]) = places.first.as_deref() {
            self.wrong.push(format!(
                "stock is not the loaded one less what was ordered in {}, the first is warehouse {w}, item {i}",
                times(places.count)
            ));
        }
        Ok(())
    }

    fn prices<A: Ask>(&mut self, database: &mut A, generator: &Generator) -> Result<(), A::Error> {
        let mut places = Places::default();
        database.ask("SELECT i_id, i_price FROM item", &mut |row| {
            let [item, price] = *row else { return };
            if price != generator.price(item) {
                places.add(&[item]);
            }
        })?;
        if let Some([item, ..]) = places.first.as_deref() {
            let count = times(places.count);
            self.wrong.push(format!("prices are not the loaded ones in {count}, the first is item {item}"));
        }
        Ok(())
    }

    /// The database has what the driver was told is committed, and no more.
    fn reconcile<A: Ask>(&mut self, database: &mut A, size: &Size, counted: Counted) -> Result<(), A::Error> {
        let loaded = size.customers;
        let rows = size.rows(Table::History) as i64;
        let received = district_ytd(loaded) * DISTRICTS * size.warehouses;
        debug_assert_eq!(received, rows * FIRST_PAYMENT);
        for (what, sql, expected) in [
            (
                "numbers of orders that were given",
                format!("SELECT sum(d_next_o_id - 1 - {loaded}) FROM district"),
                counted.orders,
            ),
            (
                "orders since the load",
                format!("SELECT count(*) FROM orders WHERE o_id > {loaded}"),
                counted.orders,
            ),
            ("payments since the load", format!("SELECT count(*) - {rows} FROM history"), counted.payments),
            (
                "cents received since the load",
                format!("SELECT sum(w_ytd) - {received} FROM warehouse"),
                counted.cents,
            ),
            (
                "orders delivered since the load",
                "SELECT sum(c_delivery_cnt) FROM customer".to_owned(),
                counted.delivered,
            ),
        ] {
            let found = number(database, &sql)?;
            self.expect(&format!("{what}, by the driver's count"), found, expected);
        }
        Ok(())
    }
}
