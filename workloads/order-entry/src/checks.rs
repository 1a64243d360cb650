//! The data checks: conditions, numbers of rows, loaded values, and the counts of the driver.

use barograph_model::words::count;

use crate::conditions::{self, Condition};
use crate::generate::Generator;
use crate::tables::{DISTRICTS, Size, Table, district_ytd};
use crate::tally::Totals;

/// Range of stock that the restock rule allows.
const STOCK: std::ops::RangeInclusive<i64> = 10..=100;

/// The quantity of a restock.
const FILLED_UP: i64 = 91;

/// A database that can be queried.
pub(crate) trait Database {
    type Error;

    fn rows(&mut self, sql: &str, row: &mut dyn FnMut(&[i64])) -> Result<(), Self::Error>;
}

/// The result of the checks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Violations, in sentences.
    pub(crate) violations: Vec<String>,
}

/// Checks a database that `generator` has filled. `counted` are the driver's counts.
pub(crate) fn check<D: Database>(
    database: &mut D,
    generator: &Generator,
    counted: Totals,
) -> Result<Findings, D::Error> {
    let mut findings = Findings::default();
    for condition in &conditions::ALL {
        let broken = broken(database, condition, &generator.size)?;
        findings.violations.extend(broken);
    }
    findings.constant_rows(database, &generator.size)?;
    findings.stock(database, generator)?;
    findings.prices(database, generator)?;
    findings.reconcile(database, &generator.size, counted)?;
    Ok(findings)
}

/// The violation of a condition, if there is one.
fn broken<D: Database>(
    database: &mut D,
    condition: &Condition,
    size: &Size,
) -> Result<Option<String>, D::Error> {
    let sql = condition.sql.replace("{customers}", &size.customers.to_string());
    let sql = sql.replace("{delivered}", &size.delivered().to_string());
    let mut places = Places::default();
    database.rows(&sql, &mut |row| places.add(row))?;
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

/// Places of a violation.
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

/// The number that a query returns; 0 for no row.
fn number<D: Database>(database: &mut D, sql: &str) -> Result<i64, D::Error> {
    let mut number = 0;
    database.rows(sql, &mut |row| number = row.first().copied().unwrap_or(0))?;
    Ok(number)
}

impl Findings {
    fn expect(&mut self, what: &str, found: i64, (expected, in_doubt): (i64, i64)) {
        let most = expected + in_doubt;
        if !(expected..=most).contains(&found) {
            let right = if in_doubt == 0 { expected.to_string() } else { format!("{expected} to {most}") };
            self.violations.push(format!("{what}: {found}, where {right} are right"));
        }
    }

    /// Tables of constant length.
    fn constant_rows<D: Database>(&mut self, database: &mut D, size: &Size) -> Result<(), D::Error> {
        for table in [Table::Item, Table::Warehouse, Table::Stock, Table::District, Table::Customer] {
            let found = number(database, &format!("SELECT count(*) FROM {}", table.name()))?;
            self.expect(&format!("rows of {}", table.name()), found, (size.rows(table) as i64, 0));
        }
        Ok(())
    }

    /// Stock is the loaded stock less the ordered quantity, plus any number of restocks.
    fn stock<D: Database>(&mut self, database: &mut D, generator: &Generator) -> Result<(), D::Error> {
        let mut places = Places::default();
        database.rows("SELECT s_w_id, s_i_id, s_quantity, s_ytd FROM stock", &mut |row| {
            let [w, i, quantity, ordered] = *row else { return };
            let filled_up = quantity + ordered - generator.stock(w, i);
            if !STOCK.contains(&quantity) || filled_up % FILLED_UP != 0 || filled_up < 0 {
                places.add(&[w, i]);
            }
        })?;
        if let Some([w, i, ..]) = places.first.as_deref() {
            self.violations.push(format!(
                "stock is not the loaded one less what was ordered in {}, the first is warehouse {w}, item {i}",
                times(places.count)
            ));
        }
        Ok(())
    }

    fn prices<D: Database>(&mut self, database: &mut D, generator: &Generator) -> Result<(), D::Error> {
        let mut places = Places::default();
        database.rows("SELECT i_id, i_price FROM item", &mut |row| {
            let [item, price] = *row else { return };
            if price != generator.price(item) {
                places.add(&[item]);
            }
        })?;
        if let Some([item, ..]) = places.first.as_deref() {
            let count = times(places.count);
            self.violations
                .push(format!("prices are not the loaded ones in {count}, the first is item {item}"));
        }
        Ok(())
    }

    /// The database contains exactly the transactions that the driver saw committed, and of those in doubt any.
    fn reconcile<D: Database>(
        &mut self,
        database: &mut D,
        size: &Size,
        counted: Totals,
    ) -> Result<(), D::Error> {
        let (Totals { committed, in_doubt }, loaded) = (counted, size.customers);
        let rows = size.rows(Table::History) as i64;
        let received = district_ytd(loaded) * DISTRICTS * size.warehouses;
        for (what, sql, expected) in [
            (
                "numbers of orders that were given",
                format!("SELECT sum(d_next_o_id - 1 - {loaded}) FROM district"),
                (committed.orders, in_doubt.orders),
            ),
            (
                "orders since the load",
                format!("SELECT count(*) FROM orders WHERE o_id > {loaded}"),
                (committed.orders, in_doubt.orders),
            ),
            (
                "payments since the load",
                format!("SELECT count(*) - {rows} FROM history"),
                (committed.payments, in_doubt.payments),
            ),
            (
                "cents received since the load",
                format!("SELECT sum(w_ytd) - {received} FROM warehouse"),
                (committed.cents, in_doubt.cents),
            ),
            (
                "orders delivered since the load",
                "SELECT sum(c_delivery_cnt) FROM customer".to_owned(),
                (committed.delivered, in_doubt.delivered),
            ),
        ] {
            let found = number(database, &sql)?;
            self.expect(&format!("{what}, by the driver's count"), found, expected);
        }
        Ok(())
    }
}
