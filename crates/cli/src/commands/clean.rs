//! `barograph clean`: removes whatever interrupted runs left, by their ledgers.

use anyhow::Context;
use barograph_platform::{Ledger, LedgerError};
use barograph_record::ExitCode;

use super::{Done, Failed};
use crate::args::CleanArgs;
use crate::{catalog, terminal};

/// Sweeps every ledger in the folder of records. Safe to repeat.
pub(crate) fn clean(args: &CleanArgs) -> Done {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start a runtime")
        .map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
    let mut left = 0;
    let mut running = 0;
    let mut found = 0;
    for id in barograph_record::list(&args.runs)? {
        let path = args.runs.join(id.as_str()).join("ledger.jsonl");
        if !path.exists() {
            continue;
        }
        let ledger = match Ledger::open(&path) {
            Ok(ledger) => ledger,
            Err(LedgerError::InUse { .. }) => {
                running += 1;
                terminal::result(&format!("{id}: still running, left alone"));
                continue;
            }
            Err(why) => return Err(Failed::new(ExitCode::PlatformFault, why)),
        };
        for platform in catalog::PLATFORMS {
            let swept = runtime.block_on(platform.sweep(&ledger));
            let swept = swept.map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
            found += swept.removed.len() + swept.already_gone.len();
            swept.removed.iter().for_each(|t| terminal::result(&format!("{id}: removed {t}")));
            swept.already_gone.iter().for_each(|t| terminal::result(&format!("{id}: was gone already: {t}")));
            for (thing, why) in &swept.failed {
                left += 1;
                terminal::result(&format!("{id}: could not remove {thing}: {why}"));
            }
        }
        if ledger.left().is_empty() {
            std::fs::remove_file(&path)
                .with_context(|| format!("remove `{}`", path.display()))
                .map_err(|why| Failed::new(ExitCode::PlatformFault, why))?;
        }
    }
    if found + left + running == 0 {
        terminal::result("nothing was left behind");
    }
    Ok(if left == 0 { ExitCode::Fine } else { ExitCode::PlatformFault })
}
