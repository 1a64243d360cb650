//! Everything another person needs to repeat a run: versions, machine, settings.

use barograph_harness::{Checked, WorkloadKind};
use serde_json::{Map, Value, json};

/// The disclosure of a run.
pub(crate) fn disclosure(checked: &Checked, kind: &dyn WorkloadKind, command: &str) -> Value {
    let host: Map<String, Value> =
        barograph_probe::host_facts().into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    let factors: Map<String, Value> =
        checked.data.factors.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    json!({
        "tool": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("BAROGRAPH_COMMIT"),
            "build": if cfg!(debug_assertions) { "debug: figures mean nothing" } else { "release" },
            "command": command,
        },
        "workload": { "name": kind.name(), "version": kind.version(), "profile": checked.plan.profile },
        "data": { "size": checked.data.size, "stamp": checked.data.stamp, "factors": factors },
        "seed": checked.plan.seed,
        "application": {
            "stores": "SQLite, write-ahead log, synchronous = NORMAL: a power cut may lose the last transactions, never consistency",
            "passwords": "argon2id, 64 KiB, 1 pass, 1 lane: cheap on purpose, so that a login measures the application",
        },
        "host": host,
    })
}
