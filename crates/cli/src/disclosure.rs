//! Everything another person needs to repeat a run: versions, machine, settings.

use barograph_harness::{Checked, Target};
use serde_json::{Map, Value, json};

use crate::catalog::Found;

/// The disclosure of a run.
pub(crate) fn disclosure(checked: &Checked, found: &Found, command: &str) -> Value {
    let host: Map<String, Value> =
        barograph_probe::host_facts().into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    let kind = &found.kind;
    let mut all = json!({
        "tool": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("BAROGRAPH_COMMIT"),
            "build": if cfg!(debug_assertions) { "debug: figures mean nothing" } else { "release" },
            "command": command,
        },
        "workload": { "name": kind.name(), "version": kind.version(), "profile": checked.plan.profile },
        "seed": checked.plan.seed,
        "host": host,
    });
    if let Some(scenario) = found.scenario.as_ref().map(|kind| kind.scenario()) {
        all["scenario"] = json!({ "file": scenario.name, "text": scenario.resolved });
    }
    match &checked.target {
        Target::There { url } => all["target"] = json!({ "url": url, "made_by_the_run": false }),
        Target::Deployed => deployed(checked, &mut all),
    }
    all
}

/// What is known of an application that the run makes itself.
fn deployed(checked: &Checked, all: &mut Value) {
    if let Some(data) = &checked.data {
        let factors: Map<String, Value> =
            data.factors.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
        all["data"] = json!({ "size": data.size, "stamp": data.stamp, "factors": factors });
    }
    all["application"] = json!({
        "passwords": "argon2id, 64 KiB, 1 pass, 1 lane: cheap on purpose, so that a login measures the application",
    });
}
