//! The data checks: conditions, numbers of rows, balances and prices, and the counts of the driver.

use barograph_database::{Database, Findings, Violations, number};

use crate::conditions;
use crate::generate::{Generator, PARTS};
use crate::tables::Table;
use crate::tally::Tally;

/// Tables whose rows no transaction adds or removes.
const FIXED: [Table; 13] = [
    Table::Kinds,
    Table::Statuses,
    Table::Charges,
    Table::Rates,
    Table::Sectors,
    Table::Brokers,
    Table::Customers,
    Table::Accounts,
    Table::Companies,
    Table::Securities,
    Table::LastPrices,
    Table::DailyPrices,
    Table::WatchItems,
];

/// Checks a database that `generator` has filled. `tally` are the driver's counts.
pub(crate) fn check<D: Database>(
    database: &mut D,
    generator: &Generator,
    tally: &Tally,
) -> Result<Findings, D::Error> {
    let mut findings = Findings::default();
    findings.hold(database, &conditions::ALL, &[])?;
    for table in FIXED {
        let found = number(database, &format!("SELECT count(*) FROM {}", table.name()))?;
        findings.expect(&format!("rows of {}", table.name()), found, generator.size.rows(table) as i64);
    }
    accounts(&mut findings, database, generator)?;
    prices(&mut findings, database, generator)?;
    let (completed, loaded) = (generator.size.completed(), generator.size.loaded());
    let kept = number(database, &format!("SELECT count(*) FROM trades WHERE t_id <= {loaded}"))?;
    findings.expect("loaded trades", kept, loaded);
    let numbers = [
        ("placed orders", format!("SELECT count(*) FROM trades WHERE t_id > {loaded}")),
        ("orders with a limit", format!("SELECT count(*) FROM trades WHERE t_id > {loaded} AND t_limit > 0")),
        (
            "triggered orders",
            format!(
                "SELECT count(*) FROM trade_events WHERE e_trade > {completed} AND e_number = 2 AND e_status = 2"
            ),
        ),
        (
            "completed orders",
            format!("SELECT count(*) FROM trades WHERE t_id > {completed} AND t_status = 3"),
        ),
        (
            "cents of commissions",
            format!("SELECT sum(t_commission) FROM trades WHERE t_id > {completed} AND t_status = 3"),
        ),
        ("new prices", "SELECT sum(l_ticks) FROM last_prices".to_owned()),
        ("changes of settlements", "SELECT sum(m_changes) FROM settlements".to_owned()),
    ];
    findings.reconcile(database, numbers, [tally.counts.committed(), tally.counts.in_doubt()])?;
    Ok(findings)
}

/// Accounts have their customers and brokers, and the opening balance plus their cash entries.
fn accounts<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let (mut balances, mut owners) = (Violations::default(), Violations::default());
    let sql = "SELECT a_id, a_customer, a_broker, a_balance - coalesce(paid, 0) FROM accounts \
               LEFT JOIN (SELECT c_account, sum(c_amount) AS paid FROM cash_entries GROUP BY c_account) t \
               ON c_account = a_id";
    database.rows(sql, &mut |row| {
        let [account, customer, broker, opening] = *row else { return };
        if opening != generator.opening(account) {
            balances.add(&[account]);
        }
        if (customer, broker) != (Generator::customer(account), generator.broker(account)) {
            owners.add(&[account]);
        }
    })?;
    findings.places("balances are not the loaded ones and the cash entries", &["account"], balances);
    findings.places("accounts are of other customers or brokers", &["account"], owners);
    Ok(())
}

/// Prices are in the range of their security.
fn prices<D: Database>(
    findings: &mut Findings,
    database: &mut D,
    generator: &Generator,
) -> Result<(), D::Error> {
    let sql = "SELECT s_id, l_price, l_price FROM securities LEFT JOIN last_prices ON l_security = s_id \
               UNION ALL SELECT d_security, min(d_low), max(d_high) FROM daily_prices GROUP BY d_security";
    let mut places = Violations::default();
    database.rows(sql, &mut |row| {
        let [security, low, high] = *row else { return };
        let [least, most] = [PARTS.0, PARTS.1].map(|part| generator.price(security, part));
        if low < least || high > most {
            places.add(&[security]);
        }
    })?;
    findings.places("prices are not in the range of their security", &["security"], places);
    Ok(())
}
