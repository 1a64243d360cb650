//! The relational store of the auction application in PostgreSQL and in MariaDB or MySQL.
//!
//! There is one set of statements. What the products write differently is in `text`, how they are spoken to in
//! `postgres` and `maria`, and nothing else knows which product it is. Statements of one call that do not depend on each
//! other's answers go together, so that a call waits for the server once, or twice where it must lock before it decides.
//!
//! Not here: encrypted connections, and making databases or accounts. Durability is the server's setting; it is read and
//! described, never changed.

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

/// Everything that decides in which form a load leaves its rows: equal texts, equal stores.
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
