//! Clusters of processes that were killed: the next start removes them.
//!
//! A cluster that is in use holds the lock of its ledger, which the kernel releases with its process.

use std::fs;
use std::io;
use std::path::Path;

use barograph_platform::{Ledger, Platform};
use barograph_platform_namespace::NamespacePlatform;
use barograph_platform_process::ProcessPlatform;

use crate::cluster::no_relay;
use crate::leftovers::Outside;

/// Beginning of the names of clusters' folders.
pub(crate) const PREFIX: &str = "barograph-kubernetes-";

/// Ledger of a cluster, in its folder.
pub(crate) const LEDGER: &str = "ledger";

/// File with the name of a cluster and its number of nodes. It is written when the ledger is locked.
const NAME: &str = "cluster";

/// Keeps what a later start needs to remove a cluster.
pub(crate) fn mark(folder: &Path, id: &str, nodes: usize) -> io::Result<()> {
    fs::write(folder.join(NAME), format!("{id} {nodes}"))
}

/// Removes all clusters that no process uses. What cannot be removed is tried again by the next start.
pub(crate) async fn remove() {
    let folders = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for folder in folders.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let folder = folder.path();
        let Ok(name) = fs::read_to_string(folder.join(NAME)) else { continue };
        let Some((id, nodes)) = name.split_once(' ') else { continue };
        if let (Ok(ledger), Ok(nodes)) = (Ledger::open(folder.join(LEDGER)), nodes.parse()) {
            remove_one(&Outside::of(&folder, id, nodes), &ledger).await;
        }
    }
}

async fn remove_one(outside: &Outside, ledger: &Ledger) {
    // Containers and their mounts end before files are removed, and again after the programs that start them.
    let _ = outside.remove();
    let _ = ProcessPlatform.sweep(ledger).await;
    let _ = outside.remove();
    let _ = NamespacePlatform::new(no_relay()).sweep(ledger).await;
    let _ = ProcessPlatform.sweep(ledger).await;
    if ledger.left().is_empty() {
        let _ = fs::remove_dir_all(&outside.folder);
    }
}
