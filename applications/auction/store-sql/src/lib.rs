//! The relational store of the auction application in PostgreSQL and in MariaDB or MySQL.
//!
//! There is one set of statements. `text` has the differences in notation, `postgres` and `maria` the
//! protocols; all else is independent of the product. Statements of one call that do not depend on each
//! other's answers are sent together, so that a call waits for the server once, or twice if it must lock
//! before it decides.
//!
//! Not covered: encrypted connections, and creation of databases or accounts. Durability is the server's
//! setting; it is read and described, never changed.

mod apply;
mod auctions;
mod audit;
mod fault;
mod fold;
mod items;
mod link;
mod loading;
mod maria;
mod open;
mod pages;
mod pool;
mod postgres;
mod registry;
mod rows;
mod schema;
mod seams;
mod search;
mod settings;
mod sheet;
mod sql;
#[cfg(test)]
mod tests;
mod text;
mod users;
mod value;

pub use open::{load, open};
pub use sql::Sql;

/// Description of the form in which a load leaves its rows: equal texts mean equal stores.
#[must_use]
pub fn form() -> String {
    let scripts = [
        schema::CREATE,
        schema::INDICES,
        schema::POSTGRES_SEARCH,
        schema::MARIA_SEARCH,
        schema::POSTGRES_ANALYZE,
        schema::MARIA_ANALYZE,
    ];
    format!("format {}\n{}", schema::FORMAT, scripts.join("\n"))
}
