//! The driver's end: users in groups of one connection each.

mod connection;
mod group;
mod worker;

#[cfg(test)]
pub(crate) use self::group::NetGroup;
pub(crate) use self::worker::{NetUsers, PreparedLoad};
