//! Names with the lifetime of the program.

/// Leaks a name so that it lives as long as the program.
///
/// The records and reports know operations by `&'static str`, since most workloads have theirs in source
/// code. A scenario is read once per process and has a bounded number of names, so the leaked memory is
/// bounded too.
#[must_use]
pub fn leak(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
