//! The data checks: conditions, numbers of rows, loaded values, and the counts of the driver.

use barograph_database::{Database, Findings, Violations, number};

use crate::conditions::{self, Condition};
use crate::generate::Generator;
use crate::tables::{DISTRICTS, Size, Table, district_ytd};
use crate::tally::{Counts, Totals};

/// Range of stock that the restock rule allows.
const STOCK: std::ops::RangeInclusive<i64> = 10..=100;

/// The quantity of a restock.
const FILLED_UP: i64 = 91;

/// Checks a database that `generator` has filled. `counted` are the driver's counts.
pub(crate) fn check<D: Database>(
    database: &mut D,
    generator: &Generator,
    counted: Totals,
) -> Result<Findings, D::Error> {
    let mut findings = Findings::default();
    for condition in &conditions::ALL {
        hold(&mut findings, database, condition, &generator.size)?;
    }
    constant_rows(&mut findings, database, &generator.size)?;
    stock(&mut findings, database, generator)?;
    prices(&mut findings, database, generator)?;
    reconcile(&mut findings, database, (&generator.size, counted))?;
    Ok(findings)
}

/// Holds a condition against the database.
fn hold<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    condition: &Condition,
    size: &Size,
) -> Result<(), D::Error> {
    let sql = condition.sql.replace("{customers}", &size.customers.to_string());
    let sql = sql.replace("{delivered}", &size.delivered().to_string());
    let mut places = Violations::default();
    database.rows(&sql, &mut |row| places.add(row))?;
    let name = match condition.number {
        Some(number) => format!("condition {number} ({})", condition.rule),
        None => format!("\"{}\"", condition.rule),
    };
    findings.places(&format!("{name} does not hold"), condition.keys, places);
    Ok(())
}

/// Tables of constant length.
fn constant_rows<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    size: &Size,
) -> Result<(), D::Error> {
    for table in [Table::Item, Table::Warehouse, Table::Stock, Table::District, Table::Customer] {
        let found = number(database, &format!("SELECT count(*) FROM {}", table.name()))?;
        findings.expect(&format!("rows of {}", table.name()), found, size.rows(table) as i64);
    }
    Ok(())
}

/// Stock is the loaded stock less the ordered quantity, plus any number of restocks.
fn stock<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let mut places = Violations::default();
    database.rows("SELECT s_w_id, s_i_id, s_quantity, s_ytd FROM stock", &mut |row| {
        let [w, i, quantity, ordered] = *row else { return };
        let filled_up = quantity + ordered - generator.stock(w, i);
        if !STOCK.contains(&quantity) || filled_up % FILLED_UP != 0 || filled_up < 0 {
            places.add(&[w, i]);
        }
    })?;
    findings.places("stock is not the loaded one less what was ordered", &["warehouse", "item"], places);
    Ok(())
}

fn prices<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let mut places = Violations::default();
    database.rows("SELECT i_id, i_price FROM item", &mut |row| {
        let [item, price] = *row else { return };
        if price != generator.price(item) {
            places.add(&[item]);
        }
    })?;
    findings.places("prices are not the loaded ones", &["item"], places);
    Ok(())
}

/// The database contains exactly the transactions that the driver saw committed, and of those in doubt any.
fn reconcile<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    (size, counted): (&Size, Totals),
) -> Result<(), D::Error> {
    let (Totals { committed, in_doubt }, loaded) = (counted, size.customers);
    let rows = size.rows(Table::History) as i64;
    let received = district_ytd(loaded) * DISTRICTS * size.warehouses;
    let numbers = [
        (
            "numbers of orders that were given",
            format!("SELECT sum(d_next_o_id - 1 - {loaded}) FROM district"),
        ),
        ("orders since the load", format!("SELECT count(*) FROM orders WHERE o_id > {loaded}")),
        ("payments since the load", format!("SELECT count(*) - {rows} FROM history")),
        ("cents received since the load", format!("SELECT sum(w_ytd) - {received} FROM warehouse")),
        ("orders delivered since the load", "SELECT sum(c_delivery_cnt) FROM customer".to_owned()),
    ];
    let of = |all: Counts| [all.orders, all.orders, all.payments, all.cents, all.delivered];
    findings.reconcile(database, numbers, [committed, in_doubt].map(of))
}
