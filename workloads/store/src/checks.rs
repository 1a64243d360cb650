//! The data checks: conditions, numbers of rows, loaded values, stock, and the counts of the driver.

use barograph_database::{Database, Findings, Violations, number};

use crate::conditions;
use crate::generate::{FULL, Generator, LEAST_STOCK, MOST_STOCK};
use crate::tables::{Size, Table, is_sold_out};
use crate::tally::{Counts, Totals};

/// Checks a database that `generator` has filled. `counted` are the driver's counts.
pub(crate) fn check<D: Database>(
    database: &mut D,
    generator: &Generator,
    counted: Totals,
) -> Result<Findings, D::Error> {
    let mut findings = Findings::default();
    let values = [("orders", generator.size.orders), ("least", LEAST_STOCK), ("full", FULL)];
    findings.hold(database, &conditions::ALL, &values)?;
    for table in [Table::Categories, Table::Products, Table::Inventory] {
        let found = number(database, &format!("SELECT count(*) FROM {}", table.name()))?;
        findings.expect(&format!("rows of {}", table.name()), found, generator.size.rows(table) as i64);
    }
    prices(&mut findings, database, generator)?;
    stock(&mut findings, database, generator)?;
    reconcile(&mut findings, database, (&generator.size, counted))?;
    Ok(findings)
}

fn prices<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let mut places = Violations::default();
    database.rows("SELECT p_id, p_price FROM products", &mut |row| {
        if let [product, price] = *row
            && price != generator.price(product)
        {
            places.add(&[product]);
        }
    })?;
    findings.places("prices are not the loaded ones", &["product"], places);
    Ok(())
}

/// Stock and sold units are the loaded stock and restocked units. Stock never stays below the least, and that of a sold-out
/// product is 0.
fn stock<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let sql = "SELECT i_product, i_stock, i_sold, coalesce(restocked, 0) FROM inventory \
               LEFT JOIN (SELECT r_product, sum(r_quantity) AS restocked FROM reorder GROUP BY r_product) r \
               ON r_product = i_product";
    let (mut sums, mut ranges) = (Violations::default(), Violations::default());
    database.rows(sql, &mut |row| {
        let [product, stock, sold, restocked] = *row else { return };
        if stock + sold != generator.stock(product) + restocked {
            sums.add(&[product]);
        }
        let allowed = if is_sold_out(product) { 0..=0 } else { LEAST_STOCK..=MOST_STOCK };
        if !allowed.contains(&stock) {
            ranges.add(&[product]);
        }
    })?;
    findings.places("stock and sold units are not the loaded stock and restocked units", &["product"], sums);
    findings.places("stock is not what the restock rule leaves", &["product"], ranges);
    let unknown =
        "SELECT r_product FROM reorder LEFT JOIN inventory ON i_product = r_product WHERE i_product IS NULL";
    let mut places = Violations::default();
    database.rows(unknown, &mut |row| places.add(row))?;
    findings.places("products are restocked that are not there", &["product"], places);
    Ok(())
}

/// The database contains exactly the transactions that the driver saw committed, and of those in doubt any.
fn reconcile<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    (size, counted): (&Size, Totals),
) -> Result<(), D::Error> {
    let (loaded, since) = (size.customers, size.orders);
    for (what, sql, rows) in [
        ("loaded customers", format!("SELECT count(*) FROM customers WHERE c_id <= {loaded}"), loaded),
        ("loaded orders", format!("SELECT count(*) FROM orders WHERE o_id <= {since}"), since),
    ] {
        findings.expect(what, number(database, &sql)?, rows);
    }
    let numbers = [
        ("new customers", format!("SELECT count(*) FROM customers WHERE c_id > {loaded}")),
        ("orders since the load", format!("SELECT count(*) FROM orders WHERE o_id > {since}")),
        ("lines since the load", format!("SELECT count(*) FROM order_lines WHERE l_order > {since}")),
        ("units sold", "SELECT sum(i_sold) FROM inventory".to_owned()),
        ("cents of orders since the load", format!("SELECT sum(o_net) FROM orders WHERE o_id > {since}")),
        ("restocks", "SELECT count(*) FROM reorder".to_owned()),
    ];
    findings.reconcile(database, numbers, [counted.committed, counted.in_doubt].map(Counts::numbers))
}
