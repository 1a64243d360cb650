//! `barograph clean`: removes whatever interrupted runs left, by their ledgers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use barograph_platform::{Ledger, LedgerError};
use barograph_record::ExitCode;
use tokio::runtime::Runtime;

use super::run::runtime;
use super::{Done, Failed};
use crate::args::CleanArgs;
use crate::{catalog, terminal};

/// A child that a killed program had just started holds the ledger until it runs its own program.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// How often it is tried until then.
const TRY_EVERY: Duration = Duration::from_millis(50);

/// Opens a ledger; one that stays in use belongs to a run that goes on.
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

/// Where the ledgers of all runs may be, those of studies too, with the names of the runs.
fn ledgers(runs: &Path) -> Result<Vec<(String, PathBuf)>, Failed> {
    let of = |root: &Path| -> Result<Vec<(String, PathBuf)>, Failed> {
        let ids = barograph_record::list(root)?.into_iter();
        Ok(ids.map(|id| (id.to_string(), root.join(id.as_str()).join("ledger.jsonl"))).collect())
    };
    let mut all = of(runs)?;
    for study in barograph_record::list_studies(runs)? {
        all.extend(of(&super::study::runs_of(&runs.join(study)))?);
    }
    Ok(all)
}

/// Removes snapshots of loaded stores; gives how many there were.
fn remove_snapshots(data: &Path) -> Result<usize, Failed> {
    let done = barograph_harness::remove_snapshots(data)
        .with_context(|| format!("remove the snapshots in `{}`", data.display()))
        .map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
    done.removed.iter().for_each(|path| terminal::result(&format!("removed snapshot {}", path.display())));
    let in_use = done.in_use.iter();
    in_use.for_each(|path| terminal::result(&format!("in use, left alone: snapshot {}", path.display())));
    Ok(done.removed.len() + done.in_use.len())
}

/// Sweeps every ledger in the folder of records. Safe to repeat.
pub(crate) fn clean(args: &CleanArgs) -> Done {
    let mut swept = sweep(ledgers(&args.runs)?, terminal::result)?;
    if args.snapshots {
        swept.found += remove_snapshots(&args.data)?;
    }
    if swept.found + swept.left + swept.running == 0 {
        terminal::result("nothing was left behind");
    }
    Ok(if swept.left == 0 { ExitCode::Fine } else { ExitCode::PlatformFault })
}

/// What was found in ledgers.
#[derive(Default)]
struct All {
    /// Things that are gone now.
    found: usize,
    /// Things that could not be removed, and ledgers that cannot be read.
    left: usize,
    /// Ledgers of runs that go on.
    running: usize,
}

/// Removes what the runs of a study left, before it goes on.
pub(super) fn of_study(runs: &Path) -> Result<(), Failed> {
    sweep(ledgers(runs)?, terminal::say).map(|_| ())
}

/// Sweeps these ledgers, and tells what became of each thing.
fn sweep(ledgers: Vec<(String, PathBuf)>, tell: fn(&str)) -> Result<All, Failed> {
    let runtime = runtime()?;
    let mut all = All::default();
    for (id, path) in ledgers {
        if !path.exists() {
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
                // The other runs are swept all the same.
                all.left += 1;
                terminal::complain(&why.into());
                continue;
            }
        };
        for draft in barograph_record::remove_drafts(path.parent().unwrap_or(&path))? {
            all.found += 1;
            tell(&format!("{id}: removed half a file {}", draft.display()));
        }
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
        if ledger.left().is_empty() {
            std::fs::remove_file(&path)
                .with_context(|| format!("remove `{}`", path.display()))
                .map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
        }
    }
    Ok(all)
}
