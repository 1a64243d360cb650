//! Sweeps what a ledger still names in clusters.

use std::collections::HashMap;
use std::path::PathBuf;

use barograph_platform::{Ledger, LedgerError, Leftover, Resource, SweepResult};
use kube::Client;

use crate::access::Access;
use crate::removal;

/// Clients by file and context, or the reasons why a cluster is not reached.
type Clients = HashMap<(Option<PathBuf>, Option<String>), Result<Client, String>>;

/// Sweeps the ledger, newest thing first. Things that could not be removed stay recorded.
pub(crate) async fn sweep(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let mut swept = SweepResult::default();
    let mut clients = Clients::new();
    for Leftover { entry, thing } in ledger.left() {
        let Resource::Cluster { access, context, .. } = &thing else { continue };
        let access = Access { file: access.clone(), context: context.clone() };
        let removed = match connect(&mut clients, access).await {
            Ok(client) => removal::remove(&client, &thing).await,
            Err(why) => Err(format!("{why}, so it may be there still: start the cluster and clean again")),
        };
        match removed {
            Err(why) => {
                swept.failed.push((thing, why));
                continue;
            }
            Ok(true) => swept.removed.push(thing),
            Ok(false) => swept.already_gone.push(thing),
        }
        ledger.removed(entry)?;
    }
    Ok(swept)
}

async fn connect(clients: &mut Clients, access: Access) -> Result<Client, String> {
    let key = (access.file.clone(), access.context.clone());
    if let Some(known) = clients.get(&key) {
        return known.clone();
    }
    let found = access.connect().await.map(|(client, _)| client).map_err(|missing| missing.what);
    clients.insert(key, found.clone());
    found
}
