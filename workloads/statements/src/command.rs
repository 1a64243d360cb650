//! The arguments of `barograph sql` for this workload.

use std::path::PathBuf;

use barograph_database_engines::{DatabaseArgs, DatabaseWorkload as _};
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{FileDatabase, Statements};

#[derive(Args)]
struct StatementsArgs {
    /// File of statements: tables, values, transactions, checks
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Factor of the rows of its tables
    #[arg(long, default_value_t = 1, value_name = "N")]
    scale: u32,
    /// Use the database as it is: fill nothing, copy nothing
    #[arg(long)]
    no_fill: bool,
}

impl LoadCommand for Statements {
    fn arguments(&self) -> Command {
        DatabaseArgs::command::<StatementsArgs>()
    }

    fn request(&self) -> Noun {
        Noun { one: "transaction", several: "transactions" }
    }

    fn amounts(&self, typed: &ArgMatches, given: Amounts) -> Amounts {
        DatabaseArgs::amounts(typed, given)
    }

    fn answer(&self, typed: &ArgMatches) -> Option<Result<String, CommandError>> {
        DatabaseArgs::answer(typed)
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let own = StatementsArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let database = DatabaseArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let StatementsArgs { script, scale, no_fill } = own;
        let Some(script) = script else {
            let why = "load statements without a file; name one, as in --script scenarios/sql/pgbench.toml";
            return Err(CommandError::refused(why));
        };
        // The typed plan is in no folder.
        let path = std::path::absolute(&script).unwrap_or(script);
        let stem = path.file_stem().map_or("statements".into(), |stem| stem.to_string_lossy());
        let what = format!("statements of {stem}");
        let think = options.think.map(|think| format!("statements.think_s = {:?}", think.as_secs_f64()));
        let keys = [
            format!("statements.script = {:?}", path.display().to_string()),
            format!("statements.scale = {scale}"),
            format!("statements.fill = {}", !no_fill),
        ];
        database.load((&what, FileDatabase::SECTION), options, keys.into_iter().chain(think))
    }
}
