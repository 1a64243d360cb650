//! Fills a folder and tells how long it took: `cargo run --release -p barograph-auction --example fill -- DIR SIZE
//! HISTORY IMAGES`.

use barograph_auction::fill::{FillPlan, fill};
use barograph_auction::sizes;

#[expect(clippy::print_stdout, reason = "an example speaks to whoever runs it")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, size, history, images] = arguments.as_slice() else {
        return Err("wanted: DIR SIZE HISTORY IMAGES".into());
    };
    let size = sizes::find(size).ok_or("unknown size")?;
    let factors = sizes::Factors::new(history.parse()?, images.parse()?)?;
    let threads = std::thread::available_parallelism()?.get();
    let plan = FillPlan { dir: dir.into(), size, factors, seed: 1, threads };
    let started = std::time::Instant::now();
    let mut stage = None;
    let filled = fill(&plan, &mut |progress| {
        if stage.replace(progress.stage) != Some(progress.stage) {
            println!("{:6.2} s {progress:?}", started.elapsed().as_secs_f64());
        }
    })?;
    println!("{filled:#?}");
    Ok(())
}
