//! The only place of the simulations that writes to the terminal.

/// Prints a line.
#[expect(clippy::print_stdout, reason = "a command for people; this is its one door to the terminal")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
