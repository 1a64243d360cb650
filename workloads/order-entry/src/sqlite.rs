//! The embedded engine: a SQLite file in this process, with a connection for each user.

mod session;
#[cfg(test)]
pub(crate) mod tests;
