//! `barograph list`: the catalogue.

use std::path::Path;

use barograph_record::{ExitCode, Run, StudyEntry};

use super::{CommandFailure, CommandResult};
use crate::args::{ListArgs, ListKind};
use crate::{catalog, shipped, terminal};

/// Lists all things of one kind, one per line.
pub(crate) fn list(args: &ListArgs) -> CommandResult {
    match args.what {
        ListKind::Workloads => workloads(),
        ListKind::Platforms => platforms(),
        ListKind::Services => services(),
        ListKind::Sizes => sizes(),
        ListKind::Plans => plans(),
        ListKind::Scenarios => scenarios(),
        ListKind::Studies => studies(),
        ListKind::Runs => runs(args)?,
        ListKind::Keys => keys(),
    }
    Ok(ExitCode::Fine)
}

fn workloads() {
    for factory in catalog::WORKLOADS.all {
        terminal::result(&format!("{}  {}", factory.name(), factory.about()));
        factory.hint().into_iter().for_each(|hint| terminal::result(&format!("  {hint}")));
        let Some(workload) = factory.built_in() else { continue };
        let profiles = workload.profiles().join(", ");
        terminal::result(&format!("  version {}, profiles {profiles}", workload.version()));
        for op in workload.ops() {
            terminal::result(&format!("  {:<22} {}", op.name, op.about));
        }
    }
}

fn platforms() {
    for kind in catalog::WORKLOADS.platforms {
        terminal::result(kind.name);
        kind.abilities.iter().for_each(|ability| terminal::result(&format!("  {}", ability.words())));
    }
}

fn services() {
    for service in barograph_services::all() {
        let here = match service.missing() {
            None => service.version().unwrap_or_else(|_| "version unknown".to_owned()),
            Some(_) => format!("not here; {}", service.install()),
        };
        terminal::result(&format!("{:<12} {:<22} {here}", service.name(), service.title()));
    }
}

fn sizes() {
    let sets = catalog::WORKLOADS
        .built_in()
        .filter_map(|workload| Some((workload.name(), workload.application()?.data_sets()?)));
    for (name, sets) in sets {
        for size in sets.sizes() {
            terminal::result(&format!("{name:<10} {:<10} {:>7} users", size.name, size.max_users));
        }
    }
}

/// Description of a file in its first line, without comment sign or key.
fn about(line: &str) -> &str {
    let said = line.strip_prefix("about = \"").and_then(|rest| rest.strip_suffix('"'));
    said.unwrap_or_else(|| line.trim_start_matches(['#', ' ']))
}

/// Lists the shipped files of a folder with their descriptions; returns false if the folder does not exist.
fn files(folder: &str) -> bool {
    let Ok(files) = shipped::files(Path::new(folder)) else { return false };
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        terminal::result(&format!("{:<30} {}", path.display(), about(text.lines().next().unwrap_or(""))));
    }
    true
}

fn plans() {
    if !files("plans") {
        terminal::say("no folder `plans` here; the plan of the main job is built in: `barograph run`");
    }
}

fn scenarios() {
    if !files("scenarios") {
        terminal::say("no folder `scenarios` here; `barograph new scenario` writes a first one");
    }
}

fn studies() {
    if !files("studies") {
        terminal::say("no folder `studies` here; docs/studies.md says how one is written");
    }
}

fn runs(args: &ListArgs) -> Result<(), CommandFailure> {
    for id in barograph_record::list(&args.runs)? {
        let line = match Run::open(&args.runs.join(id.as_str())) {
            Ok(run) => run
                .verdict()
                .map_or_else(|| "no verdict: it did not come to its end".to_owned(), |v| v.sentence.clone()),
            Err(why) => format!("cannot be read: {why}"),
        };
        terminal::result(&format!("{id}  {line}"));
    }
    for name in barograph_record::list_studies(&args.runs)? {
        let read = barograph_record::read_study(&args.runs.join(&name));
        let line = match read.as_ref().map(|study| study.entries.as_slice()) {
            Ok([.., StudyEntry::Finished {}]) => "complete".to_owned(),
            Ok(_) => format!("not complete: `barograph study --resume {name}` goes on"),
            Err(why) => format!("cannot be read: {why}"),
        };
        terminal::result(&format!("{name}  {line}"));
    }
    Ok(())
}

/// Prints a plan of all defaults, one key per line with its allowed values; keys that an empty plan lacks are
/// comments.
fn keys() {
    let plan = catalog::WORKLOADS.read("defaults", "", &[]).expect("the defaults are a plan");
    let empty: toml::Value = plan.resolved.parse::<toml::Table>().expect("a resolved plan is TOML").into();
    for (key, known) in catalog::WORKLOADS.keys() {
        let is_there = key.split('.').try_fold(&empty, |table, name| table.get(name)).is_some();
        let begin = if is_there { "" } else { "# " };
        let setting = format!("{begin}{key} = {}", known.default);
        terminal::result(&format!("{setting:<38} # {}", known.allowed));
    }
}
