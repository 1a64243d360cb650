//! The program that the tests of this crate start as a supervisor.
//!
//! Usage: the words of the command.

fn main() -> std::io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    barograph_supervisor::supervise(&words)
}
