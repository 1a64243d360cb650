//! `barograph sql`: a database under load in one line, for people who come from pgbench, sysbench or go-tpc. Each workload on
//! databases adds arguments of its own.

use barograph_model::secret::masked;
use barograph_record::ExitCode;
use barograph_workload::typed::TypedRule;
use barograph_workload::{Amounts, CommandError, LoadOptions, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{DURABILITIES, ISOLATIONS, anomalies, kills};

/// Users without `-c`. A server has 100 sessions by default, some of them for itself.
const USERS: UsualUsers = UsualUsers { fixed: 8, searched: 90, in_flight: 90 };

/// Loads a database that is there already: fills it, copies it for the run, and checks the copy after it. Without options: 8
/// users, as fast as answers come, for 10 s.
#[derive(Args)]
pub struct DatabaseArgs {
    /// Address of the filled database, which decides the engine: postgres://USER:PASSWORD@HOST:PORT/DATABASE,
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE of MariaDB, or sqlite:///PATH for a file; with --kills postgres or mariadb
    url: String,
    /// What a commit survives
    #[arg(long, default_value = DURABILITIES[0], value_parser = DURABILITIES, value_name = "HOW")]
    durability: String,
    /// Isolation level of a server
    #[arg(long, default_value = ISOLATIONS[0], value_parser = ISOLATIONS, value_name = "LEVEL")]
    isolation: String,
    /// Show which anomalies of concurrent transactions the engine lets happen at --isolation, in place of a load
    #[arg(long)]
    anomalies: bool,
    /// Start a server, kill it this many times under load, and look for every acknowledged commit after that; a lost one ends
    /// with code 11. The load takes 8 s for each kill and 8 s more, or --duration where that is longer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50), conflicts_with = "anomalies")]
    kills: Option<u8>,
}

impl DatabaseArgs {
    /// The command with the arguments of a workload, which have no description as a whole.
    #[must_use]
    pub fn command<A: Args>() -> Command {
        A::augment_args(DatabaseArgs::augment_args(Command::new("sql")))
    }

    /// The amounts of a load, which takes time for kills.
    #[must_use]
    pub fn amounts(typed: &ArgMatches, given: Amounts) -> Amounts {
        let kills = DatabaseArgs::from_arg_matches(typed).ok().and_then(|args| args.kills);
        kills.map_or(given, |kills| kills::amounts(kills, given))
    }

    /// The answer to a question about the engine; `None` where none was typed.
    pub fn answer(typed: &ArgMatches) -> Option<Result<String, CommandError>> {
        let args = DatabaseArgs::from_arg_matches(typed).ok().filter(|args| args.anomalies)?;
        let isolation = ISOLATIONS.into_iter().find(|level| *level == args.isolation)?;
        let what = format!("probe {}", masked(&args.url));
        let found = anomalies(&args.url, isolation)
            .map_err(|why| CommandError::new(ExitCode::Refused, why).while_doing(what));
        Some(found.map(|found| {
            let line = |(name, is_seen)| format!("{name:<20} {}", if is_seen { "seen" } else { "not seen" });
            found.into_iter().map(line).collect::<Vec<String>>().join("\n")
        }))
    }

    /// The load of a workload with these keys of its own. `what` is loaded, as in `Order-Entry, 1 warehouse`.
    ///
    /// # Errors
    /// More than one rule, or a rule of another kind; kills of a server that is there already, or in a search.
    pub fn load(
        self,
        (what, section): (&str, &str),
        options: &LoadOptions,
        own: impl IntoIterator<Item = String>,
    ) -> Result<TypedLoad, CommandError> {
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge transactions by more than one limit of response time"));
        }
        if self.kills.is_some() && options.search {
            return Err(CommandError::refused("kill a server in a search; type one of --kills and --search"));
        }
        let mut keys: Vec<String> = own.into_iter().collect();
        keys.push(format!("{section}.durability = {:?}", self.durability));
        keys.push(format!("{section}.isolation = {:?}", self.isolation));
        keys.push(format!("{section}.rules = \"own\""));
        let (url, failures, killed) = match self.kills {
            None => (self.url.clone(), options.errors.get(), String::new()),
            Some(kills) => {
                keys.extend(kills::keys(&self.url, kills)?);
                // Users of a killed server fail, which is not what is judged.
                (String::new(), 1.0, format!(", killed {}", times(kills)))
            }
        };
        keys.push(format!("{section}.failures = {failures:?}"));
        if let Some(limit) = options.limit() {
            keys.push(format!("{section}.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
            keys.push(format!("{section}.quantile = {:?}", limit.quantile.get()));
        }
        Ok(TypedLoad {
            title: format!("{what}, on {}{killed}", masked(&self.url)),
            url,
            users: options.users_or(USERS),
            keys,
            workload: None,
        })
    }
}

fn times(number: u8) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
}
