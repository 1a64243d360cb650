//! The workload on SQLite files and on servers: files, fill, transactions, checks.

mod files;
mod running;
mod service;
mod steady;
