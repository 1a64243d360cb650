//! Names that live as long as the program.

/// Makes a name live as long as the program.
///
/// The records and reports know operations by `&'static str`, since most workloads have theirs in source code. A
/// scenario is read once per process and has a bounded number of names, so the memory given away here is bounded too.
#[must_use]
pub fn leak(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
