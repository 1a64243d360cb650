//! The driver's end: users in groups of one connection each.

mod connection;
mod group;
mod worker;

pub(crate) use self::worker::{NetUsers, PreparedLoad};
