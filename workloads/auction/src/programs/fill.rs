//! `barograph fill auction`: makes a data set, or reuses an existing one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_auction::fill::{FillPlan, FillResult, Progress, Stage, fill_unless};
use barograph_auction::sizes::{self, Factors};
use barograph_record::ExitCode;
use barograph_workload::{CommandError, Outside, Program};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::arguments::FillArgs;
use crate::fill::Line;

/// The filling program.
pub(crate) struct Fill;

impl Program for Fill {
    fn arguments(&self, command: Command) -> Command {
        FillArgs::augment_args(command)
    }

    fn run(&self, typed: &ArgMatches, outside: &Outside) -> Result<(), CommandError> {
        fill(&FillArgs::from_arg_matches(typed).map_err(CommandError::refused)?, outside)
    }
}

fn fill(args: &FillArgs, outside: &Outside) -> Result<(), CommandError> {
    let size = sizes::find(&args.size).ok_or_else(|| {
        let why = format!("there is no size `{}`: `barograph list sizes` shows them", args.size);
        CommandError::refused(why)
    })?;
    let factors = Factors::new(args.history, args.images).map_err(CommandError::refused)?;
    let plan = FillPlan { dir: args.data.clone(), size, factors, seed: args.seed, threads: outside.cores };
    let stop = Arc::new(AtomicBool::new(false));
    if args.supervised {
        let stop = Arc::clone(&stop);
        (outside.when_input_ends)(Box::new(move || stop.store(true, Ordering::Relaxed)));
    }
    let mut last = None;
    let mut show = |progress: Progress| {
        if args.supervised {
            let (stage, done, total) = (stage_name(progress.stage).to_owned(), progress.done, progress.total);
            print_line(outside, &Line::Progress { stage, done, total });
        } else {
            show_progress(outside, progress, &mut last);
        }
    };
    let filled =
        fill_unless(&plan, &stop, &mut show).map_err(|why| CommandError::new(ExitCode::CannotWrite, why))?;
    if args.supervised {
        let FillResult { marker, reused } = filled;
        print_line(outside, &Line::Filled { marker: Box::new(marker), reused });
    } else {
        let result = outside.result;
        let how = if filled.reused { "found" } else { "filled" };
        let marker = &filled.marker;
        result(&format!("{how} in {}: {}", args.data.display(), marker.describe()));
        result(&format!("{:#?}", marker.rows));
        let (stores, images) = (marker.store_bytes as f64 / 1e9, marker.image_bytes as f64 / 1e9);
        result(&format!("stores {stores:.3} GB, pictures {images:.3} GB, {:.1} s", marker.seconds));
    }
    Ok(())
}

fn print_line(outside: &Outside, line: &Line) {
    (outside.result)(&serde_json::to_string(line).expect("a line of plain fields is JSON"));
}

/// Prints a line for each tenth of a stage.
fn show_progress(outside: &Outside, progress: Progress, last: &mut Option<(Stage, u64)>) {
    let tenth = progress.done * 10 / progress.total.max(1);
    if *last != Some((progress.stage, tenth)) {
        *last = Some((progress.stage, tenth));
        (outside.say)(&format!("{:<10} {} of {}", stage_name(progress.stage), progress.done, progress.total));
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
