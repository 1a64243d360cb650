//! Every file in `studies/`: at small scale, and unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barograph_record::{Run, StudyEntry, read_study};
use toml::Table;

use crate::going::RunningProgram;
use crate::place::TestFolders;
use crate::smoke::{Smoke, at};
use crate::studies::{folder, whole};

/// A test for each study of the repository, at small scale.
mod smoke {
    use super::runs_in_small as each;

    include!(concat!(env!("OUT_DIR"), "/studies.rs"));
}

/// A test for each study of the repository, unchanged.
mod as_it_is {
    use super::is_possible as each;

    include!(concat!(env!("OUT_DIR"), "/studies.rs"));
}

/// A copy of the shipped study in which every run is made once. Runs of seconds are seldom valid, so each would
/// be made again, and the control repeats a configuration; a study of one configuration compares only that.
/// The values in `small` replace those of levels: a key that a factor varies cannot be set beside it.
fn in_small(place: &TestFolders, file: &Path, small: Option<&Table>) -> PathBuf {
    let mut study: Table = fs::read_to_string(file).unwrap().parse().unwrap();
    let plan = file.parent().unwrap().join(study["plan"].as_str().unwrap());
    study["plan"] = plan.to_str().unwrap().into();
    study.insert("again".to_owned(), 0.into());
    study.insert("control".to_owned(), (!study.contains_key("factor")).into());
    for (key, value) in small.into_iter().flatten() {
        let factors = study.get_mut("factor").into_iter().flat_map(|all| all.as_array_mut().unwrap());
        let mut is_set = false;
        for level in factors.flat_map(|factor| factor["levels"].as_array_mut().unwrap()) {
            if let Some(old) = level["set"].as_table_mut().unwrap().get_mut(key) {
                *old = value.clone();
                is_set = true;
            }
        }
        assert!(is_set, "no level sets {key}");
    }
    let copy = place.root().join(file.file_name().unwrap());
    fs::write(&copy, study.to_string()).unwrap();
    copy
}

/// `barograph study` of a file, one block, with the keys of its smoke file and only some levels, as in `FACTOR=LEVEL,LEVEL`.
fn command(place: &TestFolders, file: &Path, smoke: &Smoke, only: &[&str]) -> Command {
    let mut command = place.program(&["study"]);
    command.arg(file).args(["--repeats", "1"]);
    if !smoke.has_no_data_set() {
        command.arg("--set").arg(format!("data.dir={}", place.data().display()));
    }
    for set in &smoke.sets {
        command.args(["--set", set]);
    }
    for only in only {
        command.args(["--only", only]);
    }
    command
}

fn runs_in_small(file: &Path) {
    let smoke = Smoke::of(file);
    let only: Vec<&str> = match smoke.more.get("only") {
        Some(toml::Value::Array(all)) => all.iter().map(|only| only.as_str().unwrap()).collect(),
        only => only.into_iter().map(|only| only.as_str().unwrap()).collect(),
    };
    runs_in_small_with(file, &smoke, &only);
}

/// Runs some levels of a shipped study in small: all runs are made, and nothing of them is left.
pub(crate) fn runs_in_small_with(file: &Path, smoke: &Smoke, only: &[&str]) {
    let place = TestFolders::new();
    let levels = smoke.more.get("levels").map(|levels| levels.as_table().unwrap());
    let file = in_small(&place, file, levels);
    let mut command_dry = command(&place, &file, smoke, only);
    command_dry.arg("--dry-run");
    let dry = RunningProgram::start(command_dry).end();
    if dry.code == Some(2) && dry.out.contains("missing   ") {
        return barograph_test_services::skip(&format!("{}: {}", file.display(), dry.out));
    }
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert!(dry.out.contains("order     block 1: ") && dry.out.contains("duration  at most"), "{}", dry.out);
    assert!(!place.runs().exists(), "a dry run creates nothing");
    let ended = RunningProgram::start(command(&place, &file, smoke, only)).end();
    let conclusions = whole(&place, &ended);
    assert_eq!(conclusions.blocks, 1, "{ended:?}");
    assert!(ended.out.contains(&conclusions.question), "{}", ended.out);
    let study: Table = fs::read_to_string(&file).unwrap().parse().unwrap();
    let seen = runs_are_what_the_study_says(&folder(&place), &study, smoke);
    assert_eq!(seen, conclusions.configurations.len());
    place.assert_nothing_left();
}

/// Checks that the plan of every run has the keys of its level, and that its record states what a commit
/// survives, if the smoke file has words for it. Returns the number of configurations.
fn runs_are_what_the_study_says(folder: &Path, study: &Table, smoke: &Smoke) -> usize {
    let mut seen = std::collections::BTreeSet::new();
    for entry in read_study(folder).unwrap().entries {
        let StudyEntry::RunEnded(ended) = entry else { continue };
        let run = Run::open(&folder.join("runs").join(&ended.started.run)).unwrap();
        let configuration = &ended.started.configuration;
        let plan: Table = run.plan.as_ref().unwrap().parse().unwrap();
        for (key, value) in set_by_level(study, configuration) {
            // A plan has the loads of all tiles in place of their number.
            let found =
                if key == "tiles" { tiles_of(&plan) } else { at(&plan, &key).map(ToString::to_string) };
            assert_eq!(found, Some(value), "{configuration}: {key}");
        }
        if let Some(durability) = smoke.more.get("durability") {
            let tier =
                run.tiers().iter().find(|tier| durability["tier"].as_str() == Some(&*tier.tier)).unwrap();
            let other = durability["except"].get(configuration).unwrap_or(&durability["words"]);
            let said = &tier.durability;
            assert!(said.starts_with(other.as_str().unwrap()), "{configuration}: {said}");
        }
        seen.insert(configuration.clone());
    }
    seen.len()
}

/// The number of tiles in a plan: loads of the first member.
fn tiles_of(plan: &Table) -> Option<String> {
    let names: Vec<&str> =
        plan.get("loads")?.as_array()?.iter().map(|load| load["name"].as_str().unwrap()).collect();
    let tiles = names
        .iter()
        .filter_map(|name| name.rsplit_once('-'))
        .filter_map(|(_, tile)| tile.parse::<u32>().ok());
    Some(tiles.max().unwrap_or(1).to_string())
}

/// Keys and values of the levels that give a configuration its name.
fn set_by_level(study: &Table, configuration: &str) -> Vec<(String, String)> {
    let mut sets = Vec::new();
    for factor in study.get("factor").into_iter().flat_map(|all| all.as_array().unwrap()) {
        let name = factor["name"].as_str().unwrap();
        for level in factor["levels"].as_array().unwrap() {
            let named = format!("{name} {}", level["name"].as_str().unwrap());
            if configuration.split(", ").any(|part| part == named) {
                add("", level["set"].as_table().unwrap(), &mut sets);
            }
        }
    }
    sets
}

fn add(prefix: &str, table: &Table, sets: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            toml::Value::Table(below) => add(&format!("{key}."), below, sets),
            value => sets.push((key, value.to_string())),
        }
    }
}

/// Checks that the whole study, with every platform, can be read and checked here.
fn is_possible(file: &Path) {
    let place = TestFolders::without_data();
    let mut command = place.program(&["study"]);
    command.arg(file).arg("--dry-run");
    let dry = RunningProgram::start(command).end();
    // Arrays that do not exceed the caches of this machine are refused.
    if dry.code == Some(2) && dry.err.contains(" here: ") {
        return barograph_test_services::skip(&format!("{}: {}", file.display(), dry.err));
    }
    let told = dry.code == Some(0) || (dry.code == Some(2) && dry.out.contains("missing   "));
    assert!(told && dry.out.contains("compared  "), "{}: {dry:?}", file.display());
}
