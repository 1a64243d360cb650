//! `barograph linpack`: the rate of this machine in one line.

use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{Linpack, TARGET};

/// Solves dense systems of linear equations on all cores, and checks each solution. Without options: order 4,000 for 10 s.
#[derive(Args)]
struct LinpackArgs {
    /// Rows of the system
    #[arg(long, default_value_t = 4_000, value_parser = clap::value_parser!(u64).range(1..=200_000), value_name = "N")]
    order: u64,
    /// Threads of a solution [default: one on each core]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_024), value_name = "N")]
    threads: Option<u64>,
    /// Keep the matrix in small pages instead of pages of 2 MiB
    #[arg(long)]
    small_pages: bool,
}

impl LoadCommand for Linpack {
    fn arguments(&self) -> Command {
        LinpackArgs::augment_args(Command::new("linpack"))
    }

    fn request(&self) -> Noun {
        Noun { one: "step", several: "steps" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = LinpackArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if options.rate.is_some() || options.search || options.users.is_some_and(|users| users != 1) {
            return Err(CommandError::refused(
                "load with a rate, a search or several users: one user has all threads (--threads)",
            ));
        }
        if !options.rules.is_empty() {
            return Err(CommandError::refused(
                "judge steps by limits: solutions are judged by their residual",
            ));
        }
        let keys = vec![
            format!("linpack.order = {}", args.order),
            format!("linpack.threads = {}", args.threads.unwrap_or(0)),
            format!("linpack.pages = \"{}\"", if args.small_pages { "small" } else { "huge" }),
        ];
        Ok(TypedLoad {
            title: format!("systems of {} equations", args.order),
            url: TARGET.to_owned(),
            users: 1,
            keys,
            workload: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use barograph_workload::testing::{plan, typed};

    use super::*;
    use crate::plan::LinpackPlan;

    #[test]
    fn options_reach_the_plan() {
        let load =
            typed(&Linpack, "--order 8000 --threads 1 --small-pages", &LoadOptions::default()).unwrap();
        let plan = plan(&Linpack, &load).unwrap();
        let own = LinpackPlan::of(&plan);
        assert_eq!((own.order, own.threads, own.pages()), (8_000, 1, "small pages"));
        assert_eq!((load.users, load.title.as_str()), (1, "systems of 8000 equations"));
    }

    #[test]
    fn several_users_and_rates_are_refused() {
        for options in [
            LoadOptions { users: Some(2), ..LoadOptions::default() },
            LoadOptions { rate: Some(5_u32.into()), ..LoadOptions::default() },
            LoadOptions { search: true, ..LoadOptions::default() },
        ] {
            assert!(typed(&Linpack, "", &options).err().unwrap().contains("--threads"));
        }
    }
}
