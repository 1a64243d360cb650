//! `barograph fill`: makes a data set, or finds it made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use barograph_auction::fill::{FillPlan, Filled, Progress, Stage, fill_unless};
use barograph_auction::sizes::{self, Factors};
use barograph_record::ExitCode;
use barograph_workload_auction::fill::Line;

use super::{Done, Failed};
use crate::args::FillArgs;
use crate::{machine, terminal};

/// Fills.
pub(crate) fn fill(args: &FillArgs) -> Done {
    let refused = |why: anyhow::Error| Failed::new(ExitCode::Refused, why);
    let size = sizes::find(&args.size).ok_or_else(|| {
        refused(anyhow!("there is no size `{}`: `barograph list sizes` shows them", args.size))
    })?;
    let factors = Factors::new(args.history, args.images).map_err(|why| refused(why.into()))?;
    let plan = FillPlan { dir: args.data.clone(), size, factors, seed: args.seed, threads: machine::cores() };
    let stop = Arc::new(AtomicBool::new(false));
    if args.supervised {
        let stop = Arc::clone(&stop);
        super::serve::when_input_ends(move || stop.store(true, Ordering::Relaxed));
    }
    let mut last = None;
    let mut show = |progress: Progress| {
        if args.supervised {
            let (stage, done, total) = (stage_name(progress.stage).to_owned(), progress.done, progress.total);
            print_line(&Line::Progress { stage, done, total });
        } else {
            show_progress(progress, &mut last);
        }
    };
    let filled =
        fill_unless(&plan, &stop, &mut show).map_err(|why| Failed::new(ExitCode::CannotWrite, why))?;
    if args.supervised {
        let Filled { marker, reused } = filled;
        print_line(&Line::Filled { marker: Box::new(marker), reused });
    } else {
        let how = if filled.reused { "found" } else { "filled" };
        let marker = &filled.marker;
        terminal::result(&format!("{how} in {}: {}", args.data.display(), marker.describe()));
        terminal::result(&format!("{:#?}", marker.rows));
        let (stores, images) = (marker.store_bytes as f64 / 1e9, marker.image_bytes as f64 / 1e9);
        terminal::result(&format!("stores {stores:.3} GB, pictures {images:.3} GB, {:.1} s", marker.seconds));
    }
    Ok(ExitCode::Fine)
}

fn print_line(line: &Line) {
    terminal::result(&serde_json::to_string(line).expect("a line of plain fields is JSON"));
}

/// A line whenever another tenth of a stage is done.
fn show_progress(progress: Progress, last: &mut Option<(Stage, u64)>) {
    let tenth = progress.done * 10 / progress.total.max(1);
    if *last != Some((progress.stage, tenth)) {
        *last = Some((progress.stage, tenth));
        terminal::say(&format!("{:<10} {} of {}", stage_name(progress.stage), progress.done, progress.total));
    }
}

const fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Library => "pictures",
        Stage::Users => "users",
        Stage::Auctions => "auctions",
        Stage::Stores => "indices",
        Stage::Flush => "flush",
    }
}
