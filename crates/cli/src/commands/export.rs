//! `barograph export`: a record as tables.

use barograph_export::{ExportError, Format, Histograms, Written};
use barograph_model::words::count;
use barograph_record::ExitCode;

use super::{Done, Failed, show};
use crate::args::ExportArgs;
use crate::terminal;

/// Writes the tables and names them.
pub(crate) fn export(args: &ExportArgs) -> Done {
    let run = show::open(&args.record)?;
    let format = Format::from(args.format);
    let folder = args.to.clone().unwrap_or_else(|| run.dir.join(format.name()));
    let histograms = if args.histograms { Histograms::Written } else { Histograms::Left };
    let written = barograph_export::export(&run, format, &folder, histograms).map_err(failed)?;
    for damage in &run.damage {
        terminal::say(&format!("left out  {damage}"));
    }
    for Written { path, rows, .. } in written {
        terminal::result(&format!("{:>10} rows  {}", count(rows), path.display()));
    }
    Ok(ExitCode::Fine)
}

fn failed(why: ExportError) -> Failed {
    let code = match why {
        ExportError::Record(_) => ExitCode::Refused,
        _ => ExitCode::CannotWrite,
    };
    Failed::new(code, why)
}
