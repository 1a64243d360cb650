//! Records exported and read back; figures sent to receivers, real and broken.

mod otlp;
mod receivers;
mod record;
mod service;
mod study;
mod tables;
