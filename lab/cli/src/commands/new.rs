//! `barograph new`: writes a first scenario from a description or recording of a service.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use barograph_record::ExitCode;
use barograph_scenario_import::{Assets, from_har, from_openapi, from_url, text};

use super::{CommandFailure, CommandResult};
use crate::args::{NewArgs, NewKind};
use crate::terminal;

/// Writes a first scenario.
pub(crate) fn new(args: &NewArgs) -> CommandResult {
    let NewKind::Scenario = args.what;
    let refused = |why: anyhow::Error| CommandFailure::new(ExitCode::Refused, why);
    let text = made(args).map_err(refused)?;
    match &args.output {
        Some(path) => write_new(path, &text).map_err(refused)?,
        None => terminal::result(text.trim_end()),
    }
    // A scenario that fails its check is written nevertheless, for correction by the user.
    let name = args.output.as_deref().map_or("the printed scenario".into(), Path::to_string_lossy);
    let checked = barograph_workload_scenario::read(&name, &text);
    let scenario =
        checked.context("pass the check of scenarios; correct what was written").map_err(refused)?;
    let Some(path) = &args.output else { return Ok(ExitCode::Fine) };
    terminal::say(&format!(
        "{}: {} operations; read it, edit it, then `barograph run --set workload=scenario --set scenario={}`",
        path.display(),
        scenario.operations.len(),
        path.display()
    ));
    Ok(ExitCode::Fine)
}

fn made(args: &NewArgs) -> anyhow::Result<String> {
    let target = args.target.as_deref();
    let from = &args.from;
    match (&from.from_openapi, &from.from_har, &from.url) {
        (Some(file), _, _) => {
            let folder = file.parent().unwrap_or(Path::new("")).to_owned();
            let beside = |name: &str| fs::read(folder.join(name)).map(|bytes| text(&bytes));
            from_openapi(&read(file)?, target, &beside).with_context(|| cannot_use(file))
        }
        (_, Some(file), _) => {
            let assets = if args.assets { Assets::Keep } else { Assets::LeaveOut };
            from_har(&read(file)?, assets, target).with_context(|| cannot_use(file))
        }
        (_, _, Some(url)) => Ok(from_url(url)?),
        _ => Err(anyhow!("find what to make a scenario from: --from-openapi, --from-har or --url")),
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read(file).map(|bytes| text(&bytes)).with_context(|| format!("read `{}`", file.display()))
}

fn cannot_use(file: &Path) -> String {
    format!("make a scenario from `{}`", file.display())
}

/// Writes a new file; an existing one may have been edited and is kept.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write;
    let file = fs::File::options().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("write `{}`; an existing file is never overwritten", path.display()))
}
