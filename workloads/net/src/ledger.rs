//! The ledger of one end: bytes of the connections that were closed in order.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Counts of the closed connections of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Connections closed in order.
    pub(crate) closed: u64,
    /// Bytes sent on them.
    pub(crate) sent: u64,
    /// Bytes received on them.
    pub(crate) received: u64,
    /// Connections that broke. Their bytes do not count.
    pub(crate) broken: u64,
    /// Connections that received other bytes than were sent.
    pub(crate) wrong: u64,
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Close {
    /// Both ends have received everything.
    InOrder {
        /// Bytes sent.
        sent: u64,
        /// Bytes received.
        received: u64,
    },
    /// It broke.
    Broken,
    /// It received other bytes than were sent.
    Wrong,
}

/// Connections of a run at one end.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<LedgerState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LedgerState {
    open: u64,
    totals: Totals,
}

impl Ledger {
    /// Counts a connection as open.
    pub(crate) fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
    }

    /// Records the end of an open connection.
    pub(crate) fn close(&self, close: Close) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open = state.open.saturating_sub(1);
        let totals = &mut state.totals;
        match close {
            Close::InOrder { sent, received } => {
                totals.closed += 1;
                totals.sent += sent;
                totals.received += received;
            }
            Close::Broken => totals.broken += 1,
            Close::Wrong => totals.wrong += 1,
        }
        self.changed.notify_all();
    }

    /// Whether no connection is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open == 0
    }

    /// Waits until no connection is open and `closed` or more were closed in order, at most for `patience`.
    /// Returns the totals, and whether they are final.
    pub(crate) fn settled(&self, closed: u64, patience: Duration) -> (Totals, bool) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_early = |state: &mut LedgerState| state.open > 0 || state.totals.closed < closed;
        let waited = self.changed.wait_timeout_while(state, patience, is_early);
        let (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        (state.totals, !timeout.timed_out())
    }
}
