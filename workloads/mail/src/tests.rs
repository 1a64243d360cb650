//! The workload run by the engine, against the embedded server and Dovecot.

mod loads;
mod rig;
