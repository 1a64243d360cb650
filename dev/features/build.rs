//! Does nothing: cargo resolves build-dependencies only with a build script.

fn main() {}
