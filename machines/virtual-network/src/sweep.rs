//! Sweeps namespaces and links that a ledger still names.

use barograph_platform::{Ledger, LedgerError, Leftover, Resource, SweepResult};

use crate::ip::no_work;
use crate::namespace;
use crate::state::delete_link;

/// Sweeps the ledger, newest thing first; safe to repeat. Things that could not be removed stay recorded.
/// Processes in the namespaces belong to the process platform: a namespace without a name ends with its last
/// process.
pub async fn sweep(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let of = ledger.clone();
    match tokio::task::spawn_blocking(move || sweep_now(&of)).await {
        Ok(swept) => swept,
        // The program ends; the ledger is unchanged.
        Err(_) => Ok(SweepResult::default()),
    }
}

fn sweep_now(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let mut swept = SweepResult::default();
    // Released at once, as the tools of this sweep need it.
    drop(no_work());
    for Leftover { entry, thing } in ledger.left() {
        let removed = match &thing {
            Resource::Namespace { name } => namespace::remove(name).map_err(|error| said(&error)),
            Resource::Link { name } => delete_link(name).map_err(|error| said(&error)),
            // Created by another kind of platform, which sweeps it.
            _ => continue,
        };
        match removed {
            Ok(true) => swept.removed.push(thing),
            Ok(false) => swept.already_gone.push(thing),
            Err(why) => {
                swept.failed.push((thing, why));
                continue;
            }
        }
        ledger.removed(entry)?;
    }
    Ok(swept)
}

fn said(error: &crate::SwitchError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
