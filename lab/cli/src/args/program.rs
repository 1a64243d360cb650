//! Arguments of workload programs: `barograph serve NAME`, `fill NAME` and `load NAME`.

use barograph_workload::{Program, Verb};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Error, FromArgMatches, Subcommand};

use crate::catalog::WORKLOADS;

/// Verbs of programs, each with its command and description.
const VERBS: [(Verb, &str, &str); 3] = [
    (Verb::Serve, "serve", "Run a benchmark application on its own"),
    (Verb::Fill, "fill", "Fill a data set for a benchmark application"),
    (Verb::Load, "load", "Load a filled data set into database servers, over what they hold"),
];

/// A program of a workload as typed.
pub(crate) struct TypedProgram {
    pub(crate) program: &'static dyn Program,
    pub(crate) typed: ArgMatches,
}

impl Subcommand for TypedProgram {
    fn augment_subcommands(program: Command) -> Command {
        program.subcommands(VERBS.map(|(verb, name, about)| {
            let each = WORKLOADS.programs(verb);
            let each = each.map(|(workload, program)| program.arguments(Command::new(workload)));
            Command::new(name).about(about).subcommand_required(true).subcommands(each)
        }))
    }

    fn augment_subcommands_for_update(program: Command) -> Command {
        Self::augment_subcommands(program)
    }

    fn has_subcommand(name: &str) -> bool {
        VERBS.iter().any(|(_, verb, _)| *verb == name)
    }
}

impl FromArgMatches for TypedProgram {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let found = matches.subcommand().and_then(|(name, inner)| {
            let (verb, ..) = VERBS.iter().find(|(_, verb, _)| *verb == name)?;
            let (name, typed) = inner.subcommand()?;
            let (_, program) = WORKLOADS.programs(*verb).find(|(workload, _)| *workload == name)?;
            Some(TypedProgram { program, typed: typed.clone() })
        });
        found.ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Args;

    #[test]
    fn each_verb_has_the_programs_of_workloads_and_no_others() {
        for (verb, name, _) in VERBS {
            let all = WORKLOADS.programs(verb).map(|(workload, _)| workload).collect::<Vec<_>>();
            assert!(all.contains(&"auction"), "{name}");
            let why = |words: &[&str]| Args::try_parse_from(words).err().expect("refused").kind();
            assert_eq!(why(&["barograph", name, "nothing"]), ErrorKind::InvalidSubcommand);
            assert_eq!(why(&["barograph", name]), ErrorKind::MissingSubcommand);
            assert_eq!(why(&["barograph", name, "auction", "--no-such"]), ErrorKind::UnknownArgument);
        }
    }

    #[test]
    fn no_command_of_a_workload_takes_the_name_of_another() {
        Args::command().debug_assert();
    }
}
