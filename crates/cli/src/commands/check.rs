//! `barograph check`: the plan in words before anything happens.

use std::path::Path;

use anyhow::Context;
use barograph_harness::{Checked, HarnessError, WorkloadKind};
use barograph_record::ExitCode;
use barograph_spec::{Refusal, Refused};

use super::{Done, Failed};
use crate::args::RunArgs;
use crate::{catalog, machine, terminal};

/// The plan of the main job, so that the program works without its source tree.
const DEFAULT_PLAN: &str = include_str!("../../../../plans/auction.toml");

/// What refusals call it.
const DEFAULT_NAME: &str = "plans/auction.toml";

/// Reads the plan that was asked for and checks it against its workload and this machine.
pub(crate) fn load(args: &RunArgs) -> Result<(Checked, &'static dyn WorkloadKind), Failed> {
    let (name, text) = match &args.plan {
        Some(path) => (path.display().to_string(), read(path)?),
        None => (DEFAULT_NAME.to_owned(), DEFAULT_PLAN.to_owned()),
    };
    let plan = barograph_spec::read(&name, &text, &args.sets).map_err(HarnessError::Refused)?;
    let Some(kind) = catalog::workload(&plan.workload) else {
        let names: Vec<&str> = catalog::WORKLOADS.iter().map(|k| k.name()).collect();
        let refusal = Refusal {
            place: plan.place("workload").to_owned(),
            key: "workload".to_owned(),
            value: format!("{:?}", plan.workload),
            allowed: format!("one of {}", names.join(", ")),
            remedy: "`barograph list workloads` shows them".to_owned(),
        };
        return Err(HarnessError::Refused(Refused(vec![refusal])).into());
    };
    let machine = machine::facts(&plan.data.dir);
    let checked = barograph_harness::check(&plan, kind, machine).map_err(HarnessError::Refused)?;
    Ok((checked, kind))
}

fn read(path: &Path) -> Result<String, Failed> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| {
        format!("read plan `{}`; `barograph list plans` shows those that exist", path.display())
    });
    text.map_err(|why| Failed::new(ExitCode::Refused, why))
}

/// Says what will happen.
pub(crate) fn describe(checked: &Checked, kind: &dyn WorkloadKind) -> String {
    let mut text = barograph_spec::explain(&checked.plan);
    let dir = checked.data.dir_in(&checked.plan.data.dir);
    let filled = kind.is_filled(&dir);
    let how = if filled { "there already" } else { "to be filled first" };
    text.push_str(&format!(
        "fill      for {} users, about {:.1} GB, {how}: {}\n",
        checked.data.max_users,
        checked.data.bytes as f64 / 1e9,
        dir.display()
    ));
    for note in &checked.notes {
        text.push_str(&format!("note      {note}\n"));
    }
    text
}

/// Checks and explains.
pub(crate) fn check(args: &RunArgs) -> Done {
    let (checked, kind) = load(args)?;
    terminal::result(describe(&checked, kind).trim_end());
    Ok(ExitCode::Fine)
}
