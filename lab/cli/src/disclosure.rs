//! Disclosure: versions, machine and settings, everything needed to repeat a run.

use barograph_harness::{CheckedLoad, Target};
use barograph_workload::DataSet;
use serde_json::{Map, Value, json};

/// Builds the disclosure of a run. Each of several loads has a section under its name.
pub(crate) fn disclosure(loads: &[CheckedLoad], command: &str) -> Value {
    let host: Map<String, Value> =
        barograph_probe::host_facts().into_iter().map(|(key, value)| (key, Value::String(value))).collect();
    let mut all = json!({
        "tool": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("BAROGRAPH_COMMIT"),
            "build": if cfg!(debug_assertions) { "debug: figures mean nothing" } else { "release" },
            "command": command,
        },
        "seed": loads[0].checked.plan.seed,
        "host": host,
    });
    let sections = match loads {
        [only] => of_load(only),
        several => {
            let each =
                several.iter().map(|load| (load.checked.plan.load.clone(), Value::Object(of_load(load))));
            Map::from_iter([("loads".to_owned(), Value::Object(each.collect()))])
        }
    };
    all.as_object_mut().expect("it was made as one").extend(sections);
    all
}

/// Section of a load.
fn of_load(CheckedLoad { checked, workload }: &CheckedLoad) -> Map<String, Value> {
    let mut sections = workload.disclose();
    let about =
        json!({ "name": workload.name(), "version": workload.version(), "profile": checked.plan.profile });
    sections.insert("workload".to_owned(), about);
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
    sections
}

fn of_data(data: &DataSet) -> Value {
    let factors: Map<String, Value> = data.factors.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    json!({ "size": data.size, "stamp": data.stamp, "factors": factors })
}
