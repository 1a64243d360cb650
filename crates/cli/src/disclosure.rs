//! Everything another person needs to repeat a run: versions, machine, settings.

use barograph_harness::{Checked, Target};
use barograph_workload::{DataSet, Workload};
use serde_json::{Map, Value, json};

/// The disclosure of a run.
pub(crate) fn disclosure(checked: &Checked, workload: &dyn Workload, command: &str) -> Value {
    let host: Map<String, Value> =
        barograph_probe::host_facts().into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    let mut all = json!({
        "tool": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("BAROGRAPH_COMMIT"),
            "build": if cfg!(debug_assertions) { "debug: figures mean nothing" } else { "release" },
            "command": command,
        },
        "workload": { "name": workload.name(), "version": workload.version(), "profile": checked.plan.profile },
        "seed": checked.plan.seed,
        "host": host,
    });
    let mut sections = workload.disclose();
    match &checked.target {
        Target::There { url } => {
            sections.insert("target".to_owned(), json!({ "url": url, "made_by_the_run": false }));
        }
        Target::Deployed => {
            sections.extend(checked.data.as_ref().map(|data| ("data".to_owned(), of_data(data))));
            sections
                .extend(workload.application().into_iter().flat_map(|application| application.disclose()));
        }
    }
    all.as_object_mut().expect("it was made as one").extend(sections);
    all
}

fn of_data(data: &DataSet) -> Value {
    let factors: Map<String, Value> = data.factors.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    json!({ "size": data.size, "stamp": data.stamp, "factors": factors })
}
