//! Counters and measures that all workloads on databases have: conflicts, waits for the write lock, and statements.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

use crate::Conflict;

/// Retries after [`Conflict::Busy`].
pub const BUSY: CounterId = CounterId(0);

/// Retries after [`Conflict::Snapshot`].
pub const SNAPSHOT: CounterId = CounterId(1);

/// Retries after [`Conflict::Deadlock`].
pub const DEADLOCKS: CounterId = CounterId(2);

/// Waits for the write lock of SQLite, in nanoseconds.
pub const LOCK_WAIT: CounterId = CounterId(3);

/// Transactions that write.
pub const WRITES: CounterId = CounterId(4);

/// Statements, those that begin and end transactions included.
pub const STATEMENTS: CounterId = CounterId(5);

/// The first counter of a workload.
pub const FIRST_OWN: u8 = 6;

/// Names of the counters; those of a workload follow.
pub const COUNTERS: [&str; FIRST_OWN as usize] = [
    "busy_retries",
    "snapshot_retries",
    "deadlock_retries",
    "lock_wait_ns",
    "write_transactions",
    "statements",
];

/// The counter of a conflict.
#[must_use]
pub fn counter(conflict: Conflict) -> CounterId {
    match conflict {
        Conflict::Busy => BUSY,
        Conflict::Snapshot => SNAPSHOT,
        Conflict::Deadlock => DEADLOCKS,
    }
}

/// Transactions of all kinds that ended well.
pub const TRANSACTIONS_PER_S: MeasureSpec = MeasureSpec {
    id: "transactions_per_s",
    title: "transactions",
    unit: "per second",
    better: BetterWhen::Higher,
    formula: Formula::per_second(Amount::Good(None)),
};

/// The mean wait for the write lock, on SQLite only.
pub const LOCK_WAIT_MS: MeasureSpec = MeasureSpec {
    id: "lock_wait_ms",
    title: "mean wait for the write lock",
    unit: "ms",
    better: BetterWhen::Lower,
    formula: Formula {
        per: MeasureDivisor::Amount(Amount::Counter(WRITES)),
        ..Formula::per_second(Amount::Counter(LOCK_WAIT)).times(1e-6)
    },
};

/// Retries for a lock.
pub const BUSY_RETRIES: MeasureSpec = retries("busy_retries_per_s", "retries for a lock", BUSY);

/// Retries for a snapshot.
pub const SNAPSHOT_RETRIES: MeasureSpec =
    retries("snapshot_retries_per_s", "retries for a snapshot", SNAPSHOT);

/// Retries for a deadlock, on servers only.
pub const DEADLOCK_RETRIES: MeasureSpec =
    retries("deadlock_retries_per_s", "retries for a deadlock", DEADLOCKS);

/// Statements per second.
pub const STATEMENT_RATE: MeasureSpec = MeasureSpec {
    id: "statements_per_s",
    title: "statements",
    unit: "per second",
    better: BetterWhen::Neither,
    formula: Formula::per_second(Amount::Counter(STATEMENTS)),
};

/// Statements of an operation, with those of its further tries.
pub const STATEMENTS_EACH: MeasureSpec = MeasureSpec {
    id: "statements_per_transaction",
    title: "statements per transaction",
    unit: "statements",
    better: BetterWhen::Neither,
    formula: Formula::per_operation(STATEMENTS),
};

const fn retries(id: &'static str, title: &'static str, counter: CounterId) -> MeasureSpec {
    let formula = Formula::per_second(Amount::Counter(counter));
    MeasureSpec { id, title, unit: "per second", better: BetterWhen::Lower, formula }
}
