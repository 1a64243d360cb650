//! Records exported and read back; figures sent to receivers, real and broken.

mod otlp;
mod prometheus;
mod receivers;
mod record;
mod study;
mod tables;
