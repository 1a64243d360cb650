//! Renders the report of a made-up run, to look at: `cargo run -p barograph-report --example synthetic -- DIRECTORY [killed]`.

#[path = "../tests/report/synthetic.rs"]
mod synthetic;

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(root) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err("name a directory to write to".into());
    };
    let killed = std::env::args_os().nth(2).is_some_and(|word| word == "killed");
    let extent = if killed { synthetic::Extent::Killed } else { synthetic::Extent::Whole };
    let dir = synthetic::write(&root, extent)?;
    let run = barograph_record::Run::open(&dir)?;
    std::fs::write(dir.join("report.html"), barograph_report::render_html(&run)?)?;
    std::fs::write(dir.join("summary.txt"), barograph_report::terminal_summary(&run))?;
    Ok(())
}
