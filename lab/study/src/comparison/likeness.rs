//! Differences between two runs: in their plans, which must be intended, and in their surroundings, which
//! must be known.

use std::collections::BTreeMap;

use barograph_record::Run;

/// Keys of a plan without effect on figures: the place of the record.
const WITHOUT_EFFECT: [&str; 1] = ["runs"];
/// Facts of a machine that change by themselves.
const PASSING: [&str; 1] = ["local ports"];

/// A key with different values in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key, as in a plan.
    pub key: String,
    /// Its value in the baseline; `(none)` without one.
    pub baseline: String,
    /// Its value in the candidate.
    pub candidate: String,
}

impl Difference {
    /// Whether these keys allow it. A key includes all that begin with it and a dot or a bracket.
    pub(super) fn is_allowed(&self, allow: &[String]) -> bool {
        let covers = |key: &String| {
            self.key == *key || self.key.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        allow.iter().any(covers)
    }
}

/// All differences that make two runs different experiments: keys of the resolved plans, the workload with
/// its version, the scenario and the data.
pub(super) fn differences(baseline: &Run, candidate: &Run) -> Vec<Difference> {
    of_maps(&subject(baseline), &subject(candidate))
}

/// Differences in the surroundings of two runs with the same plan, in words.
pub(super) fn surroundings(baseline: &Run, candidate: &Run) -> Vec<String> {
    let mut said = Vec::new();
    let (one, other) = (&baseline.header.tool, &candidate.header.tool);
    if one != other {
        said.push(format!("another version of the tool: {one} and {other}"));
    }
    for difference in of_maps(&machine(baseline), &machine(candidate)) {
        said.push(format!(
            "another machine: {} {} and {}",
            difference.key, difference.baseline, difference.candidate
        ));
    }
    for difference in of_maps(&products(baseline), &products(candidate)) {
        said.push(format!("{}: {} and {}", difference.key, difference.baseline, difference.candidate));
    }
    said
}

fn of_maps(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<Difference> {
    let none = || "(none)".to_owned();
    let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    keys.into_iter()
        .filter(|key| one.get(*key) != other.get(*key))
        .map(|key| Difference {
            key: key.clone(),
            baseline: one.get(key).cloned().unwrap_or_else(none),
            candidate: other.get(key).cloned().unwrap_or_else(none),
        })
        .collect()
}

/// The subject of a run, by key.
fn subject(run: &Run) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    match run.plan.as_deref().map(str::parse::<toml::Table>) {
        Some(Ok(plan)) => {
            for (key, value) in plan {
                flatten(key, &value, &mut all);
            }
        }
        Some(Err(_)) => drop(all.insert("plan".to_owned(), "(cannot be read)".to_owned())),
        None => drop(all.insert("plan".to_owned(), "(not kept)".to_owned())),
    }
    for key in WITHOUT_EFFECT {
        all.remove(key);
    }
    for load in run.each_load() {
        let told = load.disclosure.as_ref().and_then(|told| match &load.load {
            Some(name) => told.get("loads")?.get(name),
            None => Some(told),
        });
        let key = |key: &str| load.load.as_ref().map_or(key.to_owned(), |load| format!("{load}/{key}"));
        let found = |pointer: &str| told.and_then(|told| told.pointer(pointer)).filter(|v| !v.is_null());
        all.extend(found("/workload/version").map(|v| (key("workload.version"), v.to_string())));
        // The whole text would fill the screen; length and checksum distinguish two texts.
        let scenario = found("/scenario/text").map(serde_json::Value::to_string);
        all.extend(scenario.map(|text| (key("scenario.text"), fingerprint(&text))));
        let stamp = load.fill().map(|fill| &fill.stamp).filter(|stamp| !stamp.is_empty());
        all.extend(stamp.map(|stamp| (key("data.stamp"), stamp.clone())));
    }
    all
}

fn flatten(key: String, value: &toml::Value, all: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (below, value) in table {
                flatten(format!("{key}.{below}"), value, all);
            }
        }
        toml::Value::Array(loads) if key == "loads" => {
            for (at, load) in loads.iter().enumerate() {
                flatten(format!("{key}[{at}]"), load, all);
            }
        }
        other => drop(all.insert(key, other.to_string())),
    }
}

/// FNV-1a: distinguishes texts that differ by accident, which suffices here.
fn fingerprint(text: &str) -> String {
    let sum = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, b| (sum ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{} bytes, {sum:016x}", text.len())
}

fn machine(run: &Run) -> BTreeMap<String, String> {
    let host = run.disclosure.as_ref().and_then(|told| told.get("host")).and_then(|host| host.as_object());
    let facts = host.into_iter().flatten().filter(|(name, _)| !PASSING.contains(&name.as_str()));
    facts
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

/// Products with their versions, which a plan does not always name.
fn products(run: &Run) -> BTreeMap<String, String> {
    let tiers = run.each_load().iter().flat_map(|load| {
        let of = load.load.as_ref().map_or(String::new(), |load| format!("{load}/"));
        let tiers = load.tiers().iter();
        tiers.map(move |tier| {
            (format!("tier {of}{}", tier.tier), format!("{} ({})", tier.product, tier.durability))
        })
    });
    let parts = run.topology().into_iter().flat_map(|topology| &topology.parts);
    tiers
        .chain(
            parts.map(|part| (format!("part {}", part.name), format!("{} {}", part.service, part.version))),
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(key: &str) -> Difference {
        Difference { key: key.to_owned(), baseline: String::new(), candidate: String::new() }
    }

    #[test]
    fn a_key_stands_for_those_below_it() {
        let allow = ["deploy".to_owned(), "load.users".to_owned()];
        for (key, may) in [
            ("deploy", true),
            ("deploy.bus", true),
            ("deployment", false),
            ("deploy[1].bus", true),
            ("load.users", true),
            ("load", false),
        ] {
            assert_eq!(difference(key).is_allowed(&allow), may, "{key}");
        }
    }

    #[test]
    fn keys_are_flat_and_values_as_written() {
        let mut all = BTreeMap::new();
        let plan: toml::Table = "a = 1\n[b]\nc = \"x\"\nd = [1, 2]\n[b.e]\nf = true".parse().unwrap();
        for (key, value) in plan {
            flatten(key, &value, &mut all);
        }
        let flat: Vec<String> = all.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(flat, ["a=1", "b.c=\"x\"", "b.d=[1, 2]", "b.e.f=true"]);
    }

    #[test]
    fn what_is_missing_differs_from_everything() {
        let map = |of: &[(&str, &str)]| of.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let found = of_maps(&map(&[("a", "1"), ("b", "2")]), &map(&[("a", "1"), ("c", "3")]));
        let said: Vec<String> =
            found.iter().map(|d| format!("{} {} {}", d.key, d.baseline, d.candidate)).collect();
        assert_eq!(said, ["b 2 (none)", "c (none) 3"]);
    }
}
