//! Arguments shared by all load commands of workloads.

use std::path::PathBuf;

use barograph_model::{Level, Nanos, Share};
use barograph_spec::MOST_RATE;
use barograph_workload::typed::{Limit, TypedRule, seconds, share, span, whole_seconds};
use barograph_workload::{Amounts, LoadCommand, LoadOptions};
use clap::builder::{PossibleValuesParser, Resettable};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Id, Subcommand, ValueEnum};

use super::watch::WatchArgs;
use crate::catalog::WORKLOADS;

/// Limit of a search without typed rules.
const SEARCH_LIMIT: Limit =
    Limit { quantile: Share::percent(99.0), percent: 99.0, limit: Nanos::from_millis(100) };

fn rate(text: &str) -> Result<Level, String> {
    const ALLOWED: &str = "starts per second from 0.001 to 10,000,000, with three decimals at most";
    let rate = text.parse().ok().and_then(Level::new);
    rate.filter(|rate| *rate > Level::ZERO && *rate <= MOST_RATE).ok_or_else(|| ALLOWED.to_owned())
}

/// The form of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    /// A table and a sentence
    Text,
    /// The same in a block for a pull request
    Markdown,
    /// One object
    Json,
}

/// Options of every load command.
#[derive(Args)]
pub(crate) struct LoadCommandArgs {
    /// Users: each waits for its answer before it goes on. With --rate, the most at work at the same time
    #[arg(short = 'c', long, value_parser = clap::value_parser!(u32).range(1..=1_000_000), value_name = "N")]
    pub(crate) users: Option<u32>,
    /// Operations started per second, whatever answers take; response time counts from when one was due
    #[arg(short = 'r', long, value_parser = rate, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Level>,
    /// Number of operations after which the load is over; with -d, whichever comes first
    #[arg(
        short = 'n',
        long,
        visible_alias = "requests",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000),
        value_name = "N",
        conflicts_with = "search"
    )]
    pub(crate) operations: Option<u64>,
    /// How long to measure, in whole seconds; in a search, each trial [default: 10s, in a search 5s, with -n no limit]
    #[arg(short = 'd', short_alias = 'z', long, value_parser = whole_seconds, value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// Worker threads of the driver; 0 lets the tool choose
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) workers: u32,
    /// Schedule the driver ahead of all other processes, where the system permits it
    #[arg(long)]
    pub(crate) realtime: bool,
    /// With --rate: starts as independent events instead of at equal distances
    #[arg(long, requires = "rate")]
    pub(crate) poisson: bool,
    /// Time each user waits after an answer
    #[arg(long, value_parser = span, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) think: Option<Nanos>,
    /// An operation without an answer for so long has failed
    #[arg(long, default_value = "10s", value_parser = span, value_name = "TIME")]
    pub(crate) timeout: Nanos,
    /// Pause of a user after a failed operation, where users neither think nor start by a rate
    #[arg(long, default_value = "1s", value_parser = span, value_name = "TIME")]
    pub(crate) failure_pause: Nanos,
    /// Load before measuring, in whole seconds [default: 1s, with -n none]
    #[arg(long, value_parser = seconds, value_name = "TIME")]
    pub(crate) warm_up: Option<Nanos>,
    /// Where all random choices come from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Rule, as in p99<250ms, 'service p95<100ms', mean<50ms, 'rate>=1000' (may be given often); breaking one ends
    /// with code 4
    #[arg(long, value_name = "RULE")]
    pub(crate) qos: Vec<TypedRule>,
    /// Largest share of failed operations; more ends with code 4
    #[arg(long, default_value = "1%", value_parser = share, value_name = "SHARE")]
    pub(crate) errors: Share,
    /// Search the most users within the limit, up to -c; with --rate, the highest rate up to that one
    #[arg(long)]
    pub(crate) search: bool,
    /// Override a key of the plan that the other options make, as in load.ramp_s=0 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Write the report as a page that opens offline [default file: barograph-COMMAND.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<Option<PathBuf>>,
    /// Keep the whole record in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) keep_record: Option<PathBuf>,
    /// Form of the result
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub(crate) format: ResultFormat,
    /// Print the result as JSON
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Show nothing while it runs
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

impl LoadCommandArgs {
    /// Pause after a failure; `None` if users have another pace.
    pub(crate) fn pause(&self) -> Option<Nanos> {
        (self.rate.is_none() && self.think.is_none()).then_some(self.failure_pause)
    }

    /// The typed rules, or the default one of a search.
    pub(crate) fn rules(&self) -> Vec<TypedRule> {
        if self.search && self.qos.is_empty() {
            return vec![TypedRule::Response(SEARCH_LIMIT)];
        }
        self.qos.clone()
    }

    /// The typed amounts.
    fn amounts(&self, typed: &ArgMatches) -> Amounts {
        let is_typed = typed.value_source("timeout") == Some(ValueSource::CommandLine);
        Amounts {
            operations: self.operations,
            duration: self.duration,
            timeout: is_typed.then_some(self.timeout),
            users: self.users,
        }
    }

    fn take(&mut self, amounts: Amounts) {
        self.operations = amounts.operations;
        self.duration = amounts.duration;
        self.timeout = amounts.timeout.unwrap_or(self.timeout);
        self.users = amounts.users;
    }

    /// Options that the workload depends on.
    pub(crate) fn options(&self) -> LoadOptions {
        LoadOptions {
            users: self.users,
            rate: self.rate,
            search: self.search,
            rules: self.rules(),
            errors: self.errors,
            think: self.think,
            timeout: self.timeout,
        }
    }
}

/// A load command as typed.
pub(crate) struct TypedLoadCommand {
    /// Name of the command.
    pub(crate) name: String,
    /// Name of its workload.
    pub(crate) workload: &'static str,
    pub(crate) command: &'static dyn LoadCommand,
    /// Arguments that only this command has.
    pub(crate) own: ArgMatches,
    pub(crate) args: LoadCommandArgs,
}

/// The argument that chooses among the workloads of a command.
const WORKLOAD: &str = "workload";

/// The load commands. Workloads whose commands have the same name share it: it has the arguments of all, and one that chooses.
fn commands() -> Vec<Command> {
    let mut all: Vec<(Vec<&'static str>, Command)> = Vec::new();
    for (workload, command) in WORKLOADS.load_commands() {
        let own = command.arguments();
        match all.iter_mut().find(|(_, known)| known.get_name() == own.get_name()) {
            None => all.push((vec![workload], own)),
            Some((workloads, known)) => {
                workloads.push(workload);
                let is_new = |arg: &&Arg| known.get_arguments().all(|other| other.get_id() != arg.get_id());
                let further: Vec<Arg> = own.get_arguments().filter(is_new).cloned().collect();
                *known = std::mem::take(known).args(further);
            }
        }
    }
    let chosen = |(workloads, command): (Vec<&'static str>, Command)| {
        if workloads.len() == 1 {
            return command;
        }
        let arg = Arg::new(WORKLOAD).long(WORKLOAD).help("What users do").value_name("NAME");
        command.arg(arg.default_value(workloads[0]).value_parser(PossibleValuesParser::new(workloads)))
    };
    all.into_iter().map(chosen).collect()
}

/// Refuses arguments that only other workloads of the command have.
fn own_arguments(command: &dyn LoadCommand, name: &str, own: &ArgMatches) -> Result<(), Error> {
    let arguments = command.arguments();
    let has = |id: &Id| arguments.get_arguments().any(|arg| arg.get_id() == id);
    let others = WORKLOADS.load_commands().map(|(workload, other)| {
        let mut other = other.arguments();
        // Arguments cannot be shown before.
        other.build();
        (workload, other)
    });
    for (workload, other) in others.filter(|(_, other)| other.get_name() == name) {
        let is_typed = |arg: &&Arg| own.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        if let Some(arg) = other.get_arguments().filter(|arg| !has(arg.get_id())).find(is_typed) {
            let why = format!("{arg} is an argument of --workload {workload}");
            // The usage of this command; without it that of the program would follow.
            let mut shown = command.arguments().bin_name(format!("barograph {name}"));
            return Err(shown.error(ErrorKind::ArgumentConflict, why));
        }
    }
    Ok(())
}

impl Subcommand for TypedLoadCommand {
    fn augment_subcommands(program: Command) -> Command {
        program.subcommands(commands().into_iter().map(|own| {
            let about = Resettable::from(own.get_about().cloned());
            let long_about = Resettable::from(own.get_long_about().cloned());
            // The description of the options would replace the command's.
            LoadCommandArgs::augment_args(own).about(about).long_about(long_about)
        }))
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        WORKLOADS.load_commands().any(|(_, command)| command.arguments().get_name() == name)
    }
}

impl FromArgMatches for TypedLoadCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let none = || Error::new(ErrorKind::InvalidSubcommand);
        let (name, own) = matches.subcommand().ok_or_else(none)?;
        let chosen = own.try_get_one::<String>(WORKLOAD).ok().flatten();
        let found = WORKLOADS.load_commands().find(|(workload, command)| {
            command.arguments().get_name() == name && chosen.is_none_or(|chosen| chosen == workload)
        });
        let (workload, command) = found.ok_or_else(none)?;
        own_arguments(command, name, own)?;
        let mut args = LoadCommandArgs::from_arg_matches(own)?;
        args.take(command.amounts(own, args.amounts(own)));
        Ok(TypedLoadCommand { name: name.to_owned(), workload, command, own: own.clone(), args })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::TypedLoadCommand;
    use crate::args::Args;

    #[test]
    fn a_load_command_has_its_own_description_and_the_options_of_all() {
        let program = Args::command();
        let http = program.find_subcommand("http").unwrap();
        let about = http.get_about().unwrap().to_string();
        assert_eq!(
            about,
            "Load one URL or several: users or a rate, figures as they come, a verdict at the end"
        );
        assert_eq!(http.get_long_about(), None);
        let has = |id: &str| http.get_arguments().any(|argument| argument.get_id() == id);
        assert!(["url", "json_body", "users", "rate", "qos", "report", "live"].into_iter().all(has));
    }

    #[test]
    fn workloads_share_a_command_and_keep_their_arguments_apart() {
        let typed = |words: &str| {
            let words = ["barograph", "sql", "sqlite:///f"].into_iter().chain(words.split_whitespace());
            let typed = Args::command().try_get_matches_from(words).map_err(|why| why.to_string())?;
            TypedLoadCommand::from_arg_matches(&typed).map_err(|why| why.to_string())
        };
        for (words, workload) in [
            ("", "order-entry"),
            ("--warehouses 2", "order-entry"),
            ("--workload order-entry", "order-entry"),
            ("--workload store --megabytes 3 -c 5", "store"),
            ("--workload brokerage --customers 300", "brokerage"),
        ] {
            assert_eq!(typed(words).unwrap().workload, workload, "{words}");
        }
        let why = typed("--workload store --warehouses 2").err().unwrap();
        assert!(why.contains("--warehouses <N> is an argument of --workload order-entry"), "{why}");
        assert!(why.contains("Usage: barograph sql "), "{why}");
        assert!(typed("--workload kv").err().unwrap().contains("order-entry, store, brokerage"));
    }
}
