//! `barograph list`: the catalogue.

use barograph_record::{ExitCode, Run};

use super::{Done, Failed};
use crate::args::{ListArgs, Listed};
use crate::{catalog, terminal};

/// Lists one kind of thing, a line each.
pub(crate) fn list(args: &ListArgs) -> Done {
    match args.what {
        Listed::Workloads => workloads(),
        Listed::Platforms => catalog::PLATFORMS.iter().for_each(|p| terminal::result(p.name())),
        Listed::Sizes => sizes(),
        Listed::Plans => plans(),
        Listed::Runs => runs(args)?,
        Listed::Keys => keys(),
    }
    Ok(ExitCode::Fine)
}

fn workloads() {
    for kind in catalog::WORKLOADS {
        terminal::result(&format!(
            "{}  version {}, profiles {}",
            kind.name(),
            kind.version(),
            kind.profiles().join(", ")
        ));
        for op in kind.ops() {
            terminal::result(&format!("  {:<22} {}", op.name, op.about));
        }
    }
}

fn sizes() {
    for kind in catalog::WORKLOADS {
        for size in kind.sizes() {
            terminal::result(&format!("{:<10} {:<10} {:>7} users", kind.name(), size.name, size.max_users));
        }
    }
}

fn plans() {
    let Ok(entries) = std::fs::read_dir("plans") else {
        terminal::say("no folder `plans` here; the plan of the main job is built in: `barograph run`");
        return;
    };
    let mut names: Vec<_> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|x| x == "toml")).collect();
    names.sort();
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let about = text.lines().next().unwrap_or("").trim_start_matches(['#', ' ']).to_owned();
        terminal::result(&format!("{:<30} {about}", path.display()));
    }
}

fn runs(args: &ListArgs) -> Result<(), Failed> {
    for id in barograph_record::list(&args.runs)? {
        let line = match Run::open(&args.runs.join(id.as_str())) {
            Ok(run) => run
                .verdict()
                .map_or_else(|| "no verdict: it did not come to its end".to_owned(), |v| v.sentence.clone()),
            Err(why) => format!("cannot be read: {why}"),
        };
        terminal::result(&format!("{id}  {line}"));
    }
    Ok(())
}

fn keys() {
    let plan = barograph_spec::read("defaults", "", &[]).expect("the defaults are a plan");
    terminal::result(plan.resolved.trim_end());
}
