//! The study of all platforms, on virtual machines.

use std::path::Path;

use crate::shipped_studies::runs_in_small_with;
use crate::smoke::Smoke;

/// Runs one kind of work of the study on virtual machines with and without containers in them.
fn work(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/micro-platforms.toml");
    let work = format!("work={name}");
    runs_in_small_with(&file, &Smoke::of(&file), &["platform=vm,container-in-vm", &work]);
}

#[test]
fn disks_are_compared_in_virtual_machines() {
    work("disk 70 to 30");
}

#[test]
fn networks_are_compared_in_virtual_machines() {
    work("round trip");
}

#[test]
fn processors_are_compared_in_virtual_machines() {
    work("linpack");
}
