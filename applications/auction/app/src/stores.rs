//! Opening of the stores in the settings: the list of all that exist.

use std::sync::Arc;

use barograph_auction_store::{Events, Registry, Relational};
use barograph_store_sqlite::WriterThreads;

use crate::app::StartError;
use crate::fill::Marker;
use crate::settings::Stores;

/// Connections for beats and decisions: one in use, and one in case it is stuck.
const RESERVED: usize = 2;

/// The stores of a node.
pub(crate) struct NodeStores {
    pub(crate) relational: Arc<dyn Relational>,
    /// The same store over separate connections.
    pub(crate) decisions: Arc<dyn Relational>,
    pub(crate) events: Arc<dyn Events>,
    pub(crate) registry: Arc<dyn Registry>,
    /// Threads that write the embedded stores.
    pub(crate) files: Option<WriterThreads>,
}

/// Opens the stores; embedded ones as copies of the filled ones.
pub(crate) async fn open(stores: &Stores, threads: usize) -> Result<NodeStores, StartError> {
    match stores {
        Stores::Embedded { data_dir, state_dir } => {
            if !Marker::path(data_dir).is_file() {
                return Err(StartError::NotFilled { path: data_dir.clone() });
            }
            barograph_store_sqlite::reset(data_dir, state_dir).map_err(|source| StartError::Copy {
                from: data_dir.clone(),
                to: state_dir.clone(),
                source,
            })?;
            // One reader per thread and one to spare, so that requests do not wait while a check or a start
            // reads.
            let (files, writers) = barograph_store_sqlite::open(state_dir, threads.max(1) + 1)?;
            Ok(NodeStores {
                relational: Arc::clone(&files) as Arc<dyn Relational>,
                decisions: Arc::clone(&files) as Arc<dyn Relational>,
                events: Arc::clone(&files) as Arc<dyn Events>,
                registry: files,
                files: Some(writers),
            })
        }
        Stores::Servers { relational, events, connections } => {
            let stamp = barograph_store_documents::stamp(&events.0).await?;
            let sql = barograph_store_sql::open(&relational.0, *connections).await?;
            if sql.stamp() != stamp {
                return Err(StartError::Unlike { relational: sql.stamp().to_owned(), events: stamp });
            }
            let events = barograph_store_documents::open(&events.0, *connections).await?;
            // Beats and decisions have separate connections: under overload requests wait for theirs, and a
            // node that could not beat would lose its auctions, and then the next node.
            let decisions = barograph_store_sql::open(&relational.0, RESERVED).await?;
            let registry = barograph_store_sql::open(&relational.0, RESERVED).await?;
            Ok(NodeStores {
                relational: Arc::new(sql),
                decisions: Arc::new(decisions),
                events,
                registry: Arc::new(registry),
                files: None,
            })
        }
    }
}
