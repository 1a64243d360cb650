//! A file of statements, read and checked.

use std::ops::RangeInclusive;

use barograph_data::Popularity;
use barograph_database::{Access, TableSpec};
use barograph_database_engines::Rules;
use barograph_model::OpSpec;

use crate::parameters::Text;

/// Most parameters of a statement.
pub(crate) const MOST_PARAMETERS: usize = 32;

/// A file of statements.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The stem of its path.
    pub(crate) name: String,
    /// The tables that it fills.
    pub(crate) tables: Vec<ScriptTable>,
    /// Statements after the last row.
    pub(crate) indices: &'static [&'static str],
    /// The values that it draws, by their slots.
    pub(crate) values: Vec<DrawSpec>,
    /// Slots of all values: those that are drawn, and after them those that are kept of rows.
    pub(crate) slots: usize,
    /// The statements of all transactions, by their numbers.
    pub(crate) statements: Vec<Statement>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) checks: Vec<Check>,
}

/// A table with the draws of its columns.
#[derive(Debug)]
pub(crate) struct ScriptTable {
    pub(crate) spec: TableSpec,
    /// Rows for a unit of the scale.
    pub(crate) rows: u64,
    pub(crate) columns: Vec<DrawSpec>,
}

/// The draw of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DrawSpec {
    /// The number of the row of a table; blocks of rows of this length have the same number.
    Row(u64),
    /// A number.
    Number { least: i64, range: Range, popularity: Popularity },
    /// A text.
    Text(String),
    /// A text with random digits in place of `#` and random letters in place of `@`.
    Like(String),
}

impl DrawSpec {
    /// Always 0.
    pub(crate) const ZERO: DrawSpec =
        DrawSpec::Number { least: 0, range: Range::Fixed(1), popularity: Popularity::Uniform };
}

/// The number of different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// As many as stated.
    Fixed(u64),
    /// As many as the table has rows, by its index.
    Table(usize),
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement {
    /// Its place among all statements.
    pub(crate) number: usize,
    pub(crate) sqlite: Text,
    pub(crate) postgres: Text,
    pub(crate) mariadb: Text,
    /// Slots that are drawn before each execution.
    pub(crate) anew: Vec<usize>,
    /// Slots of the columns of its last row.
    pub(crate) kept: Vec<usize>,
    /// Rows that it must return or change.
    pub(crate) rows: Option<RangeInclusive<u64>>,
    /// Executions in a row.
    pub(crate) times: u32,
}

/// A transaction.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) spec: OpSpec,
    /// Share of all transactions in proportion to the sum of weights.
    pub(crate) weight: f64,
    pub(crate) access: Access,
    /// It has a begin and a commit. Without them its one statement is a transaction of its own.
    pub(crate) has_begin: bool,
    /// Numbers of its statements.
    pub(crate) statements: std::ops::Range<usize>,
    /// Slots that are drawn before it.
    pub(crate) drawn: Vec<usize>,
    pub(crate) rules: Rules,
}

/// A data check.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) rule: String,
    pub(crate) sql: String,
    /// The transaction whose commits are the right answer; `None` where each row is a violation.
    pub(crate) counted: Option<usize>,
}
