//! The workload on real servers: transactions, checks, crashes, the same on each product.

mod checking;
mod rig;
mod running;
mod transacting;
