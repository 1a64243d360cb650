//! The parts of data checks: queries, the places at which a condition is violated, and findings.

use std::ops::RangeInclusive;

use barograph_model::words::count;

/// A database that can be queried.
pub trait Database {
    /// The error of a query.
    type Error;

    /// Calls `row` with the numbers of each row that a query returns. Null is 0.
    ///
    /// # Errors
    /// The database refused.
    fn rows(&mut self, sql: &str, row: &mut dyn FnMut(&[i64])) -> Result<(), Self::Error>;
}

/// The number that a query returns; 0 for no row.
///
/// # Errors
/// The database refused.
pub fn number<D: Database>(database: &mut D, sql: &str) -> Result<i64, D::Error> {
    let mut number = 0;
    database.rows(sql, &mut |row| number = row.first().copied().unwrap_or(0))?;
    Ok(number)
}

/// Places of a violation.
#[derive(Debug, Default)]
pub struct Violations {
    count: u64,
    first: Option<Vec<i64>>,
}

impl Violations {
    /// Adds a place, which is named by numbers.
    pub fn add(&mut self, place: &[i64]) {
        self.count += 1;
        self.first.get_or_insert_with(|| place.to_vec());
    }
}

/// A condition of a consistent database, as a query over whole tables in the SQL that all engines share.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The condition in words.
    pub rule: &'static str,
    /// Names of the columns of the query.
    pub keys: &'static [&'static str],
    /// The query, which returns the places at which the condition is violated.
    pub sql: &'static str,
}

/// The result of data checks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Violations, in sentences.
    pub violations: Vec<String>,
}

impl Findings {
    /// Holds a number against the right one.
    pub fn expect(&mut self, what: &str, found: i64, expected: i64) {
        self.expect_within(what, found, expected..=expected);
    }

    /// Holds a number against the range of right ones.
    pub fn expect_within(&mut self, what: &str, found: i64, right: RangeInclusive<i64>) {
        if right.contains(&found) {
            return;
        }
        let (least, most) = right.into_inner();
        let right = if least == most { least.to_string() } else { format!("{least} to {most}") };
        self.violations.push(format!("{what}: {found}, where {right} are right"));
    }

    /// Holds conditions against a database. In their queries each word of `values` in braces stands for a number.
    ///
    /// # Errors
    /// The database refused.
    pub fn hold<D: Database>(
        &mut self,
        database: &mut D,
        conditions: &[Condition],
        values: &[(&str, i64)],
    ) -> Result<(), D::Error> {
        for condition in conditions {
            let with = |sql: String, (word, value): &(&str, i64)| {
                sql.replace(&format!("{{{word}}}"), &value.to_string())
            };
            let sql = values.iter().fold(condition.sql.to_owned(), with);
            let mut places = Violations::default();
            database.rows(&sql, &mut |row| places.add(row))?;
            self.places(&format!("\"{}\" does not hold", condition.rule), condition.keys, places);
        }
        Ok(())
    }

    /// Holds numbers of the database, each with its name and its query, against the driver's counts. Commits in doubt may be there
    /// or not.
    ///
    /// # Errors
    /// The database refused.
    pub fn reconcile<D: Database, const N: usize>(
        &mut self,
        database: &mut D,
        numbers: [(&str, String); N],
        [committed, in_doubt]: [[i64; N]; 2],
    ) -> Result<(), D::Error> {
        for ((what, sql), (committed, in_doubt)) in
            numbers.into_iter().zip(committed.into_iter().zip(in_doubt))
        {
            let found = number(database, &sql)?;
            self.expect_commits(&format!("{what}, by the driver's count"), found, (committed, in_doubt));
        }
        Ok(())
    }

    /// Holds a number of the database against acknowledged commits and those in doubt, which may be there or not.
    pub fn expect_commits(&mut self, what: &str, found: i64, (committed, in_doubt): (i64, i64)) {
        self.expect_within(what, found, committed..=committed + in_doubt);
        if let (Some(violation), true) = (self.violations.last_mut(), found < committed) {
            violation.push_str(&format!(": {} lost", committed - found));
        }
    }

    /// A violation at some places, if there are any. `keys` name the numbers of a place.
    pub fn places(&mut self, what: &str, keys: &[&str], places: Violations) {
        let Some(first) = places.first else { return };
        let named: Vec<String> =
            keys.iter().zip(first).map(|(key, value)| format!("{key} {value}")).collect();
        let times = match places.count {
            1 => "1 place".to_owned(),
            many => format!("{} places", count(many)),
        };
        self.violations.push(format!("{what} in {times}, the first is {}", named.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_the_number_of_places_and_the_first() {
        let mut findings = Findings::default();
        findings.places("an order has no lines", &["order"], Violations::default());
        findings.expect("orders", 3, 3);
        assert_eq!(findings, Findings::default());
        let mut places = Violations::default();
        places.add(&[3, 4]);
        findings.places("an order has no lines", &["day", "order"], places);
        let mut places = Violations::default();
        (0..1_200).for_each(|order| places.add(&[order]));
        findings.places("an order has no lines", &["order"], places);
        findings.expect("orders", 3, 4);
        findings.expect_within("orders", 6, 4..=6);
        findings.expect_within("orders", 7, 4..=6);
        findings.expect_commits("payments", 4, (4, 2));
        findings.expect_commits("payments", 7, (4, 2));
        findings.expect_commits("payments", 1, (4, 2));
        let expected = [
            "an order has no lines in 1 place, the first is day 3, order 4",
            "an order has no lines in 1,200 places, the first is order 0",
            "orders: 3, where 4 are right",
            "orders: 7, where 4 to 6 are right",
            "payments: 7, where 4 to 6 are right",
            "payments: 1, where 4 to 6 are right: 3 lost",
        ];
        assert_eq!(findings.violations, expected);
    }
}
