//! `barograph clean`: removes everything that interrupted runs left, by their ledgers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use barograph_export::Format;
use barograph_platform::{Ledger, LedgerError};
use barograph_record::ExitCode;
use tokio::runtime::Runtime;

use super::run::runtime;
use super::study::runs_of;
use super::{CommandFailure, CommandResult};
use crate::args::CleanArgs;
use crate::{catalog, terminal};

/// Time in which a ledger must become free: a child that a killed program had just started holds it until it
/// executes its own program.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// Interval between attempts to open a ledger.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Age of an abandoned draft; a live writer touches its file more often.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// Folders of a record that are written after its run.
const TABLES: [Format; 2] = [Format::Csv, Format::Parquet];

/// Opens a ledger; a ledger that stays in use belongs to a live run.
fn open(path: &Path, runtime: &Runtime) -> Result<Ledger, LedgerError> {
    let retry = async {
        loop {
            match Ledger::open(path) {
                Err(LedgerError::InUse { .. }) => tokio::time::sleep(TRY_EVERY).await,
                opened => return opened,
            }
        }
    };
    let within = runtime.block_on(async { tokio::time::timeout(RELEASED_WITHIN, retry).await });
    within.unwrap_or_else(|_| Ledger::open(path))
}

/// Records of all runs, including those of studies, with the names of the runs.
fn records(runs: &Path) -> Result<Vec<(String, PathBuf)>, CommandFailure> {
    let of = |root: &Path| -> Result<Vec<(String, PathBuf)>, CommandFailure> {
        let ids = barograph_record::list(root)?.into_iter();
        Ok(ids.map(|id| (id.to_string(), root.join(id.as_str()))).collect())
    };
    let mut all = of(runs)?;
    for study in barograph_record::list_studies(runs)? {
        all.extend(of(&runs_of(&runs.join(study)))?);
    }
    Ok(all)
}

/// Removes snapshots of loaded stores and returns their number.
fn remove_snapshots(data: &Path) -> Result<usize, CommandFailure> {
    let done = barograph_harness::remove_snapshots(data)
        .with_context(|| format!("remove the snapshots in `{}`", data.display()))
        .map_err(|why| CommandFailure::new(ExitCode::PlatformFault, why))?;
    done.removed.iter().for_each(|path| terminal::result(&format!("removed snapshot {}", path.display())));
    let in_use = done.in_use.iter();
    in_use.for_each(|path| terminal::result(&format!("in use, left alone: snapshot {}", path.display())));
    Ok(done.removed.len() + done.in_use.len())
}

/// Sweeps every ledger in the folder of records. Safe to repeat.
pub(crate) fn clean(args: &CleanArgs) -> CommandResult {
    let mut swept = sweep(records(&args.runs)?, terminal::result)?;
    for study in barograph_record::list_studies(&args.runs)? {
        swept.drafts((&study, &args.runs.join(&study)), ABANDONED_AFTER, terminal::result);
    }
    if args.snapshots {
        swept.found += remove_snapshots(&args.data)?;
    }
    if swept.found + swept.left + swept.running == 0 {
        terminal::result("nothing was left behind");
    }
    Ok(if swept.left == 0 { ExitCode::Fine } else { ExitCode::PlatformFault })
}

/// Results of sweeping all ledgers.
#[derive(Default)]
struct CleanTotals {
    /// Number of removed things.
    found: usize,
    /// Number of things that could not be removed, and of unreadable ledgers and folders.
    left: usize,
    /// Number of ledgers of live runs.
    running: usize,
}

impl CleanTotals {
    /// Removes drafts from a folder that were not touched for `untouched_for`.
    fn drafts(&mut self, (owner, folder): (&str, &Path), untouched_for: Duration, tell: fn(&str)) {
        if !folder.is_dir() {
            return;
        }
        match barograph_record::remove_drafts(folder, untouched_for) {
            Ok(drafts) => {
                self.found += drafts.len();
                drafts.iter().for_each(|d| tell(&format!("{owner}: removed half a file {}", d.display())));
            }
            Err(why) => {
                // The rest is swept nevertheless.
                self.left += 1;
                terminal::complain(&why.into());
            }
        }
    }
}

/// Removes leftovers from the folder of a study before it is resumed. The caller holds its lock.
///
/// # Errors
/// If something cannot be removed, or a run of the study is still live: either would disturb the following
/// runs.
pub(super) fn of_study(study: &Path) -> Result<(), CommandFailure> {
    let mut all = sweep(records(&runs_of(study))?, terminal::say)?;
    all.drafts(("the study", study), Duration::ZERO, terminal::say);
    if all.left + all.running == 0 {
        return Ok(());
    }
    let why = anyhow!(
        "remove what the runs of `{}` left: {} things could not be removed, and {} runs still go on; `barograph clean` \
         tries again",
        study.display(),
        all.left,
        all.running
    );
    Err(CommandFailure::new(ExitCode::PlatformFault, why))
}

/// Sweeps the ledgers and drafts of these records, and reports each thing.
fn sweep(records: Vec<(String, PathBuf)>, tell: fn(&str)) -> Result<CleanTotals, CommandFailure> {
    let runtime = runtime()?;
    let mut all = CleanTotals::default();
    for (id, folder) in records {
        for tables in TABLES {
            all.drafts((&id, &folder.join(tables.name())), ABANDONED_AFTER, tell);
        }
        let path = folder.join("ledger.jsonl");
        if !path.exists() {
            all.drafts((&id, &folder), ABANDONED_AFTER, tell);
            continue;
        }
        let ledger = match open(&path, &runtime) {
            Ok(ledger) => ledger,
            Err(LedgerError::InUse { .. }) => {
                all.running += 1;
                tell(&format!("{id}: still running, left alone"));
                continue;
            }
            Err(why) => {
                // The other runs are swept nevertheless.
                all.left += 1;
                terminal::complain(&why.into());
                continue;
            }
        };
        all.drafts((&id, &folder), Duration::ZERO, tell);
        let swept = match runtime.block_on(barograph_harness::sweep(catalog::platforms(), &ledger)) {
            Ok(swept) => swept,
            Err(why) => {
                all.left += 1;
                terminal::complain(&why.into());
                continue;
            }
        };
        all.found += swept.removed.len() + swept.already_gone.len();
        all.left += swept.failed.len();
        swept.removed.iter().for_each(|t| tell(&format!("{id}: removed {t}")));
        swept.already_gone.iter().for_each(|t| tell(&format!("{id}: was gone already: {t}")));
        for (thing, why) in &swept.failed {
            tell(&format!("{id}: could not remove {thing}: {why}"));
        }
        if ledger.left().is_empty()
            && let Err(why) = std::fs::remove_file(&path)
        {
            all.left += 1;
            terminal::complain(&anyhow::Error::new(why).context(format!("remove `{}`", path.display())));
        }
    }
    Ok(all)
}
