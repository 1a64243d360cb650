//! `barograph export`: writes a record or a study as tables.

use anyhow::anyhow;
use barograph_export::{ExportError, Format, Histograms, TableFile};
use barograph_model::words::count;
use barograph_record::{ExitCode, read_study};

use super::record_folder::RecordFolder;
use super::{CommandFailure, CommandResult, study};
use crate::args::ExportArgs;
use crate::terminal;

/// Writes the tables and prints their paths.
pub(crate) fn export(args: &ExportArgs) -> CommandResult {
    let format = Format::from(args.format);
    let opened = RecordFolder::find(&args.record.runs, args.record.run.as_deref())?;
    let to = args.to.clone().unwrap_or_else(|| opened.results.join(format.name()));
    let written = if opened.is_study() {
        if args.histograms {
            let what = "write histograms of a study: they are in the records of its runs; leave --histograms out, or export one \
                        of these";
            return Err(CommandFailure::new(ExitCode::Refused, anyhow!(what)));
        }
        let (conclusions, read) = (study::again(&opened.folder)?, read_study(&opened.folder)?);
        barograph_export::export_study(&conclusions, &read.entries, format, &to)
    } else {
        let run = opened.run()?;
        for damage in &run.damage {
            terminal::say(&format!("left out  {damage}"));
        }
        let histograms = if args.histograms { Histograms::Written } else { Histograms::Left };
        let each = run.load_names().iter().zip(&run.loads);
        let each = each.map(|(name, load)| (load, to.join(name)));
        let all = std::iter::once((&run, to.clone())).chain(each);
        let written: Result<Vec<_>, _> =
            all.map(|(run, to)| barograph_export::export(run, format, &to, histograms)).collect();
        written.map(|each| each.into_iter().flatten().collect())
    };
    for TableFile { path, rows, .. } in written.map_err(failed)? {
        terminal::result(&format!("{:>10} rows  {}", count(rows), path.display()));
    }
    Ok(ExitCode::Fine)
}

fn failed(why: ExportError) -> CommandFailure {
    let code = match why {
        ExportError::Record(_) => ExitCode::Refused,
        _ => ExitCode::CannotWrite,
    };
    CommandFailure::new(code, why)
}
