//! The workload run by the engine, against the embedded server, Dovecot and Postfix.

mod loads;
mod rig;
