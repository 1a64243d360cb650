//! MariaDB: fills, transactions, checks, crashes. Servers start slowly, so the tests of a file share one.

mod filling;
mod rig;
mod running;
mod transacting;
