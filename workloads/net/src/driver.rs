//! The driver's end: users in groups of one connection each.

mod connection;
mod flow;
mod group;
mod link;
mod worker;

#[cfg(test)]
pub(crate) use self::group::NetGroup;
pub(crate) use self::worker::{NetUsers, PreparedLoad};
