//! Sweeps containers and engines that a ledger still names.

use std::collections::HashMap;
use std::path::PathBuf;

use barograph_platform::{Ledger, LedgerError, Leftover, Resource, SweepResult};

use crate::arguments::socket;
use crate::ending::end_engine;
use crate::engine::Engine;

/// Result for one thing.
enum RemovalOutcome {
    Removed,
    AlreadyGone,
    Failed(String),
}

/// Engines by address, or the reasons why they do not answer.
type Engines = HashMap<String, Result<Engine, String>>;

/// Sweeps the ledger, newest thing first. Things that could not be removed stay recorded. Must precede the
/// sweeps of processes, folders and namespaces, on which an engine of this platform depends.
pub(crate) async fn sweep(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let mut swept = SweepResult::default();
    let mut engines = Engines::new();
    let left = ledger.left();
    let own: Vec<PathBuf> = left.iter().filter_map(|left| folder_of(&left.thing)).collect();
    let is_own =
        |address: &str| own.iter().any(|folder| address == format!("unix://{}", socket(folder).display()));
    for Leftover { entry, thing } in left {
        let fate = match &thing {
            Resource::Engine { folder, data, group } => match end_engine(folder, data, group).await {
                Ok(true) => RemovalOutcome::Removed,
                Ok(false) => RemovalOutcome::AlreadyGone,
                Err(why) => RemovalOutcome::Failed(why),
            },
            Resource::Container { engine, name }
            | Resource::ContainerNetwork { engine, name }
            | Resource::Image { engine, name } => match connect(&mut engines, engine).await {
                Ok(found) => match remove(&found, &thing, name).await {
                    // It died meanwhile, as in the line below.
                    RemovalOutcome::Failed(_) if is_own(engine) => RemovalOutcome::AlreadyGone,
                    fate => fate,
                },
                // Its things are gone with its files, which have their own entry.
                Err(_) if is_own(engine) => RemovalOutcome::AlreadyGone,
                Err(why) => RemovalOutcome::Failed(format!(
                    "its engine does not answer ({why}), so it may be there still: start the engine and clean again"
                )),
            },
            // Created by another kind of platform, which sweeps it.
            _ => continue,
        };
        match fate {
            RemovalOutcome::Failed(why) => {
                swept.failed.push((thing, why));
                continue;
            }
            RemovalOutcome::Removed => swept.removed.push(thing),
            RemovalOutcome::AlreadyGone => swept.already_gone.push(thing),
        }
        ledger.removed(entry)?;
    }
    Ok(swept)
}

/// Records everything of an engine as gone, for callers that have ended the engine's machine.
pub fn gone_with(ledger: &Ledger, engine: &str) -> Result<SweepResult, LedgerError> {
    let mut swept = SweepResult::default();
    for Leftover { entry, thing } in ledger.left() {
        let of_it = match &thing {
            Resource::Container { engine: of, .. }
            | Resource::ContainerNetwork { engine: of, .. }
            | Resource::Image { engine: of, .. } => of == engine,
            _ => false,
        };
        if of_it {
            ledger.removed(entry)?;
            swept.already_gone.push(thing);
        }
    }
    Ok(swept)
}

fn folder_of(thing: &Resource) -> Option<PathBuf> {
    match thing {
        Resource::Engine { folder, .. } => Some(folder.clone()),
        _ => None,
    }
}

async fn connect(engines: &mut Engines, address: &str) -> Result<Engine, String> {
    if let Some(known) = engines.get(address) {
        return known.clone();
    }
    let found = Engine::connect(address).await.map_err(|error| error.to_string());
    engines.insert(address.to_owned(), found.clone());
    found
}

async fn remove(engine: &Engine, thing: &Resource, name: &str) -> RemovalOutcome {
    match engine.remove_thing(thing, name).await {
        Ok(true) => RemovalOutcome::Removed,
        Ok(false) => RemovalOutcome::AlreadyGone,
        Err(error) => RemovalOutcome::Failed(error.to_string()),
    }
}
