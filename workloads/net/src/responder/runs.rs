//! The runs that a responder knows, by token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::content::Content;
use crate::ledger::Ledger;
use crate::wire::RunSettings;

/// Most runs that are kept. The oldest one without connections makes room.
const MOST: usize = 256;

/// A run at the responder.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) settings: RunSettings,
    pub(crate) content: Content,
    pub(crate) ledger: Ledger,
}

/// The runs, by token.
#[derive(Debug, Default)]
pub(crate) struct Runs(Mutex<KnownRuns>);

#[derive(Debug, Default)]
struct KnownRuns {
    last: u64,
    all: BTreeMap<u64, Arc<Run>>,
}

impl Runs {
    /// Adds a run; returns its token, or `None` if too many runs have open connections.
    pub(crate) fn begin(&self, settings: RunSettings) -> Option<u64> {
        let content = Content::new(settings.largest());
        let run = Arc::new(Run { settings, content, ledger: Ledger::default() });
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.all.len() >= MOST {
            let oldest = known.all.iter().find(|(_, run)| run.ledger.is_idle()).map(|(token, _)| *token)?;
            known.all.remove(&oldest);
        }
        known.last += 1;
        let token = known.last;
        known.all.insert(token, run);
        Some(token)
    }

    /// The run of a token.
    pub(crate) fn find(&self, token: u64) -> Option<Arc<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all.get(&token).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Close;
    use crate::pattern::Pattern;

    #[test]
    fn the_oldest_run_without_connections_makes_room() {
        let runs = Runs::default();
        let settings = RunSettings {
            pattern: Pattern::To,
            verifies: false,
            discards: false,
            delays: false,
            message: 1,
            request: 1,
            answer: 1,
            read: 1,
            send_buffer: 0,
            receive_buffer: 0,
        };
        for token in 1..=MOST as u64 {
            assert_eq!(runs.begin(settings), Some(token));
            runs.find(token).unwrap().ledger.open();
        }
        assert_eq!(runs.begin(settings), None, "all have a connection");
        runs.find(2).unwrap().ledger.close(Close::Broken);
        assert_eq!(runs.begin(settings), Some(MOST as u64 + 1));
        assert!(runs.find(2).is_none() && runs.find(1).is_some());
    }
}
