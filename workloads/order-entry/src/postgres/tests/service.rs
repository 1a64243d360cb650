//! PostgreSQL: fills, transactions, checks, crashes.

mod checking;
mod filling;
mod rig;
mod running;
mod transacting;
