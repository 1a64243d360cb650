//! `barograph control`: changes, queries or ends the load of a live run from another terminal.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use barograph_harness::control::{Command, ask};
use barograph_model::Level;
use barograph_model::words::users;
use barograph_record::{ExitCode, UnitRecord};
use barograph_workload::typed::span;

use super::{CommandFailure, CommandResult};
use crate::args::ControlArgs;
use crate::terminal;
use crate::words::{count, figure, time};

/// Accepted commands, for refusals.
const USAGE: &str =
    "write users=500, rate=2000 or scale=150 (with over=10s if it should take time), status, or stop";

/// Sends one command and prints the reply.
pub(crate) fn control(args: &ControlArgs) -> CommandResult {
    let (run, words) = match args.words.split_first() {
        Some((first, rest)) if !is_command(first) => (Some(first.as_str()), rest),
        _ => (None, args.words.as_slice()),
    };
    let refused = |why: anyhow::Error| CommandFailure::new(ExitCode::Refused, why);
    let command = command(words).map_err(|why| refused(anyhow!("understand the command: {why}")))?;
    let dir = match run {
        Some(path) if Path::new(path).join("run.jsonl").exists() => PathBuf::from(path),
        Some(name) => args.runs.join(name),
        None => super::show::latest(&args.runs)?,
    };
    let reply = ask(&dir, &command).map_err(|why| refused(why.into()))?;
    if args.json {
        terminal::result(
            &serde_json::to_string(&reply).context("write the answer as JSON").map_err(refused)?,
        );
    }
    if !reply.ok {
        let why = reply.error.unwrap_or_else(|| "the run gives no reason".to_owned());
        return Err(refused(anyhow!("change the load of `{}`: {why}", dir.display())));
    }
    if let (false, Some(status)) = (args.json, &reply.status) {
        terminal::result(&told(&command, status));
    }
    Ok(ExitCode::Fine)
}

fn is_command(word: &str) -> bool {
    word.contains('=') || matches!(word, "status" | "stop")
}

fn command(words: &[String]) -> Result<Command, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["status"] => return Ok(Command::Status),
        ["stop"] => return Ok(Command::Stop),
        _ => {}
    }
    let (mut level, mut over_s) = (None, None);
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}`: {USAGE}"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("`{word}`: a whole number is allowed"));
        let rate = || {
            let rate = value.parse().ok().and_then(Level::new);
            rate.ok_or_else(|| format!("`{word}`: a number with three decimals at most is allowed"))
        };
        match key {
            "users" | "rate" | "scale" if level.is_some() => {
                return Err(format!("`{word}`: the load is given once"));
            }
            "users" => level = Some((UnitRecord::Users, Level::from(number()?))),
            "rate" => level = Some((UnitRecord::StartsPerSecond, rate()?)),
            "scale" => level = Some((UnitRecord::Percent, Level::from(number()?))),
            "over" => over_s = Some(span(value).map_err(|why| format!("`{word}`: {why}"))?.as_secs_f64()),
            _ => return Err(format!("`{word}`: {USAGE}")),
        }
    }
    let (unit, level) = level.ok_or_else(|| USAGE.to_owned())?;
    Ok(Command::Level { level, unit: Some(unit), over_s: over_s.unwrap_or(0.0) })
}

/// Describes the status of the load.
fn told(command: &Command, status: &barograph_harness::control::Status) -> String {
    let load = status.unit.offered(status.level);
    let done = match command {
        Command::Level { over_s, .. } if *over_s > 0.0 => {
            format!("on the way to {} within {} s", barograph_model::words::offered(load), figure(*over_s))
        }
        Command::Level { .. } => format!("now {}", barograph_model::words::offered(load)),
        Command::Stop => "stopping in order".to_owned(),
        Command::Status => format!("{} at {}", status.phase, barograph_model::words::offered(load)),
    };
    format!(
        "{done}; at {} s, at most {} s left\n{}, {} starts/s, {} ops/s, {} failed/s, late {}, dropped {}\n\
         response p50 {}, p99 {}; service p99 {}; start lag p99 {}",
        figure(status.at_s),
        figure(status.remaining_s),
        users(status.users),
        figure(status.starts_s),
        figure(status.ops_s),
        figure(status.failed_s),
        count(status.late),
        count(status.dropped),
        time(status.p50_ms),
        time(status.p99_ms),
        time(status.service_p99_ms),
        time(status.lag_p99_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Command, String> {
        command(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn commands_are_read() {
        let level = |unit, level, over_s| {
            Ok(Command::Level { level: Level::new(level).unwrap(), unit: Some(unit), over_s })
        };
        assert_eq!(read("users=500 over=10s"), level(UnitRecord::Users, 500.0, 10.0));
        assert_eq!(read("over=500ms rate=2000"), level(UnitRecord::StartsPerSecond, 2_000.0, 0.5));
        assert_eq!(read("rate=0.5"), level(UnitRecord::StartsPerSecond, 0.5, 0.0));
        assert_eq!((read("status"), read("stop")), (Ok(Command::Status), Ok(Command::Stop)));
        assert!(is_command("users=1") && is_command("stop") && !is_command("20261120-221800-beef"));
    }

    #[test]
    fn what_is_no_command_says_what_is() {
        for (text, expected) in [
            ("over=10s", USAGE.to_owned()),
            ("users", format!("`users`: {USAGE}")),
            ("users=many", "`users=many`: a whole number is allowed".to_owned()),
            ("users=1 rate=1", "`rate=1`: the load is given once".to_owned()),
            ("stop now=1", format!("`stop`: {USAGE}")),
            ("colour=1", format!("`colour=1`: {USAGE}")),
        ] {
            assert_eq!(read(text), Err(expected), "{text}");
        }
    }
}
