//! Smoke files: `NAME.smoke.toml` beside a plan or a study has keys that make it small and, in its table
//! `smoke`, further needs of a test.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// A smoke file.
pub(crate) struct Smoke {
    /// Keys in the form of `--set`.
    pub(crate) sets: Vec<String>,
    /// The table `smoke`.
    pub(crate) more: Table,
}

impl Smoke {
    /// Reads the smoke file of a plan or a study.
    pub(crate) fn of(file: &Path) -> Self {
        let path = file.with_extension("smoke.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|why| {
            panic!(
                "read {}: {why}. Write it: the keys that make {} run in seconds, as in a plan, and under [smoke] what else a \
                 test needs; the files beside it are examples",
                path.display(),
                file.display()
            )
        });
        let mut keys: Table = text.parse().unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        let more = match keys.remove("smoke") {
            Some(Value::Table(more)) => more,
            None => Table::new(),
            other => panic!("{}: `smoke` is a table: {other:?}", path.display()),
        };
        let mut sets = Vec::new();
        flatten("", &keys, &mut sets);
        assert!(!sets.is_empty(), "{} sets nothing", path.display());
        Smoke { sets, more }
    }

    /// Whether the application of the plan is filled through its address instead of from a data set of this
    /// machine.
    pub(crate) fn has_no_data_set(&self) -> bool {
        self.data() == Some("none")
    }

    /// Whether loads of the plan keep files of their own in the folder of the data.
    pub(crate) fn has_files(&self) -> bool {
        self.data() == Some("own")
    }

    fn data(&self) -> Option<&str> {
        self.more.get("data").and_then(Value::as_str)
    }
}

fn flatten(prefix: &str, table: &Table, sets: &mut Vec<String>) {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            Value::Table(below) => flatten(&format!("{key}."), below, sets),
            value => sets.push(format!("{key}={value}")),
        }
    }
}

/// Returns the value of a dotted key, as `load.users` or `loads[1].load.users`.
pub(crate) fn at<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    let Some((first, rest)) = key.split_once('.') else { return table.get(key) };
    let below = match first.strip_suffix(']').and_then(|first| first.split_once('[')) {
        Some((list, place)) => table.get(list)?.get(place.parse::<usize>().ok()?)?,
        None => table.get(first)?,
    };
    at(below.as_table()?, rest)
}

#[test]
fn keys_of_a_smoke_file_are_set_one_by_one() {
    let folder = tempfile::TempDir::new().unwrap();
    let plan = folder.path().join("p.toml");
    fs::write(
        folder.path().join("p.smoke.toml"),
        "seed = 2\n[load]\nstrategy = \"path\"\npath = [{ rate = 1 }]\n[smoke]\nactions_at_s = 6\n",
    )
    .unwrap();
    let smoke = Smoke::of(&plan);
    assert_eq!(smoke.sets, ["load.path=[{ rate = 1 }]", "load.strategy=\"path\"", "seed=2"]);
    assert_eq!(at(&smoke.more, "actions_at_s"), Some(&Value::Integer(6)));
    let plan: Table = "a.b = 1\n[[loads]]\nc = 2\n[[loads]]\nd.e = 3\n".parse().unwrap();
    let found = ["a.b", "loads[0].c", "loads[1].d.e", "loads[1].c", "loads[2].c"].map(|key| at(&plan, key));
    assert_eq!(found.map(|value| value.and_then(Value::as_integer)), [Some(1), Some(2), Some(3), None, None]);
}

/// A stray smoke file would look like one that is used.
#[test]
fn every_smoke_file_has_what_it_makes_small() {
    for folder in ["plans", "studies"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let smoke: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".smoke.toml")).collect();
        assert!(!smoke.is_empty());
        for stem in smoke {
            assert!(names.contains(&format!("{stem}.toml")), "{stem}.smoke.toml");
        }
    }
}
