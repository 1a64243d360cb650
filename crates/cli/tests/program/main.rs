//! Tests of the whole program: what a person sees, with what code it ends, and that nothing stays behind.
//!
//! Every test has folders of its own; all share one small set of filled data, which runs only read.

mod actions;
mod alone;
mod bad_input;
mod bad_target;
mod cluster;
mod commands;
mod compare;
mod control;
mod custom;
mod data;
mod deployments;
mod emulated;
mod engines;
mod export;
mod failed;
mod fake;
mod fill;
mod full_disk;
mod full_part;
mod gates;
mod going;
mod http;
mod http_ways;
mod imports;
mod interrupted_in;
mod interrupts;
mod killed;
mod killed_in;
mod loads;
mod nodes;
mod open_files;
mod phases;
mod place;
mod plans;
mod push;
mod report;
mod rootless;
mod scenarios;
mod screen;
mod shipped_studies;
mod smoke;
mod snapshots;
mod studies;
mod tls;
