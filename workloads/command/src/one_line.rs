//! `barograph job`: a command measured, or several compared, in one line.

use barograph_model::Nanos;
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;

use crate::command_line::join;
use crate::plan::{MOST_LINES, is_name};
use crate::seam::{Commands, TARGET};

/// Rounds without `-n` and `-d`.
const ROUNDS: u64 = 10;

/// Limit of a run without `--timeout`.
const TIMEOUT: Nanos = Nanos::from_secs(3_600);

/// Runs a command repeatedly, or several in turn: elapsed time, CPU time and peak memory, and for several the difference of each
/// from the first with its interval. Without options: 10 runs of each.
#[derive(Args)]
struct JobArgs {
    /// Commands to compare, each in quotes; the first is the baseline
    #[arg(value_name = "LINE", required_unless_present = "words", conflicts_with = "words")]
    lines: Vec<String>,
    /// A command with its arguments, after --
    #[arg(last = true, value_name = "COMMAND")]
    words: Vec<String>,
    /// Name of a command in tables, in the order of the commands (may be given often)
    #[arg(long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Command before each run, outside of its time
    #[arg(long, value_name = "LINE")]
    prepare: Option<String>,
    /// Command after each run, outside of its time
    #[arg(long, value_name = "LINE")]
    cleanup: Option<String>,
    /// Runs of each command before those that count
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000), value_name = "N")]
    warm_up_runs: u64,
    /// Run every LINE by /bin/sh; its start is part of the time
    #[arg(long)]
    shell: bool,
    /// Take every exit code for a success
    #[arg(long)]
    any_exit_code: bool,
}

impl JobArgs {
    fn commands(&self) -> usize {
        self.lines.len().max(1)
    }

    /// Operations of a round.
    fn steps(&self) -> u64 {
        self.commands() as u64 * if self.cleanup.is_some() { 3 } else { 2 }
    }

    fn name(&self, at: usize) -> String {
        self.names.get(at).cloned().unwrap_or_else(|| format!("Run{}", at + 1))
    }

    fn check(&self) -> Result<(), CommandError> {
        let refused = |why: String| Err(CommandError::refused(why));
        if self.lines.len() > MOST_LINES {
            return refused(format!("compare more than {MOST_LINES} commands"));
        }
        if self.names.len() > self.lines.len() {
            return refused("name more commands than there are: names are for several LINEs".to_owned());
        }
        match self.names.iter().find(|name| !is_name(name)) {
            Some(name) => refused(format!("name a command `{name}`: up to 14 letters, digits, - and _")),
            None => Ok(()),
        }
    }

    /// The keys of the plan. JSON texts are TOML texts.
    fn keys(&self) -> Vec<String> {
        let text = |text: &str| Value::from(text).to_string();
        let mut keys = match self.lines.as_slice() {
            [] => vec![format!("command.line = {}", text(&join(&self.words)))],
            [line] => vec![format!("command.line = {}", text(line))],
            lines => {
                let of = |(at, line): (usize, &String)| {
                    format!("{{ name = {}, line = {} }}", text(&self.name(at)), text(line))
                };
                let tables: Vec<String> = lines.iter().enumerate().map(of).collect();
                vec![format!("command.lines = [{}]", tables.join(", "))]
            }
        };
        keys.extend(self.prepare.iter().map(|line| format!("command.prepare = {}", text(line))));
        keys.extend(self.cleanup.iter().map(|line| format!("command.cleanup = {}", text(line))));
        keys.push(format!("command.warm_up_runs = {}", self.warm_up_runs));
        keys.push(format!("command.shell = {}", self.shell));
        keys.push(format!("command.any_exit_code = {}", self.any_exit_code));
        keys
    }
}

impl LoadCommand for Commands {
    fn arguments(&self) -> Command {
        JobArgs::augment_args(Command::new("job"))
    }

    fn request(&self) -> Noun {
        Noun { one: "step", several: "steps" }
    }

    /// Operations are counted in rounds; a job may take an hour.
    fn amounts(&self, typed: &ArgMatches, given: Amounts) -> Amounts {
        let Ok(args) = JobArgs::from_arg_matches(typed) else { return given };
        let users = u64::from(given.users.unwrap_or(1));
        let usual = given.duration.is_none().then_some(ROUNDS);
        let rounds = given.operations.or(usual).map(|rounds| rounds + args.warm_up_runs * users);
        Amounts {
            operations: rounds.map(|rounds| rounds * args.steps()),
            timeout: given.timeout.or(Some(TIMEOUT)),
            ..given
        }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = JobArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        args.check()?;
        if options.rate.is_some() || options.search || !options.rules.is_empty() {
            return Err(CommandError::refused(
                "run commands by a rate, in a search or with limits: take a plan",
            ));
        }
        let title = match args.lines.as_slice() {
            [] => join(&args.words),
            [line] => line.clone(),
            lines => {
                let each = lines.iter().enumerate().map(|(at, line)| format!("{}: {line}", args.name(at)));
                each.collect::<Vec<_>>().join("; ")
            }
        };
        let (url, users) = (TARGET.to_owned(), options.users.unwrap_or(1));
        Ok(TypedLoad { title, url, users, keys: args.keys(), workload: None })
    }
}

#[cfg(test)]
mod tests {
    use barograph_workload::testing::plan;

    use super::*;
    use crate::plan::CommandPlan;

    fn typed(words: &[&str]) -> ArgMatches {
        let words = ["job"].iter().chain(words);
        Commands.arguments().try_get_matches_from(words).unwrap_or_else(|why| panic!("{why}"))
    }

    fn load(words: &[&str]) -> Result<(TypedLoad, CommandPlan), String> {
        let load = Commands.load(&typed(words), &LoadOptions::default());
        let load = load.map_err(|why| why.why.to_string())?;
        let plan = plan(&Commands, &load).unwrap();
        let own = CommandPlan::of(&plan);
        Ok((load, own))
    }

    #[test]
    fn words_after_two_dashes_are_one_command() {
        let (typed, own) = load(&["--warm-up-runs", "2", "--", "grep", "-c", "a b", "f\"\n"]).unwrap();
        assert_eq!((own.commands.len(), own.warm_up_runs), (1, 2));
        assert_eq!(own.commands[0].words, ["grep", "-c", "a b", "f\"\n"]);
        assert_eq!(typed.title, "grep -c 'a b' 'f\"\n'");
    }

    #[test]
    fn lines_are_commands_to_compare() {
        let (typed, own) =
            load(&["gzip -1 'a b'", "gzip -9 x", "--name", "fast", "--prepare", "sync", "--cleanup", "true"])
                .unwrap();
        assert_eq!(own.commands[0].words, ["gzip", "-1", "a b"]);
        assert_eq!([&own.commands[0].name, &own.commands[1].name], ["fast", "Run2"]);
        assert_eq!(
            (own.prepare.unwrap(), own.cleanup.unwrap()),
            (vec!["sync".to_owned()], vec!["true".to_owned()])
        );
        assert_eq!(typed.title, "fast: gzip -1 'a b'; Run2: gzip -9 x");
        assert!(load(&["true", "false", "--name", "a b"]).err().unwrap().contains("name a command `a b`"));
        assert!(load(&["--name", "a", "--", "true"]).err().unwrap().contains("more commands than there are"));
    }

    #[test]
    fn a_number_of_operations_is_one_of_rounds() {
        let amounts = |words: &[&str], operations, duration: Option<u64>| {
            let duration = duration.map(Nanos::from_secs);
            let given = Amounts { operations, duration, timeout: None, users: None };
            let found = Commands.amounts(&typed(words), given);
            assert_eq!(found.timeout, Some(TIMEOUT));
            found.operations
        };
        assert_eq!(amounts(&["true"], None, None), Some(20));
        assert_eq!(amounts(&["true"], None, Some(5)), None);
        assert_eq!(amounts(&["true", "false", "--cleanup", "true"], Some(7), None), Some(42));
        assert_eq!(amounts(&["true", "--warm-up-runs", "3"], Some(7), Some(5)), Some(20));
    }
}
