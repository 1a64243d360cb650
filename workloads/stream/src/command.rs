//! `barograph stream`: the bandwidth of this machine in one line.

use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{StreamMemory, TARGET};

/// Copies, scales and adds arrays larger than any cache, on all cores, and checks them. Without options: 40,000,000 numbers for
/// 10 s, cached stores.
#[derive(Args)]
struct StreamArgs {
    /// Numbers of each of the three arrays; an array is at least four times as large as the caches of the last level
    #[arg(long, default_value_t = 40_000_000, value_parser = clap::value_parser!(u64).range(8..=100_000_000_000), value_name = "N")]
    elements: u64,
    /// Store past the caches
    #[arg(long)]
    streaming: bool,
    /// Threads of a pass [default: one on each core]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_024), value_name = "N")]
    threads: Option<u64>,
    /// Keep arrays in small pages instead of pages of 2 MiB
    #[arg(long)]
    small_pages: bool,
}

impl LoadCommand for StreamMemory {
    fn arguments(&self) -> Command {
        StreamArgs::augment_args(Command::new("stream"))
    }

    fn request(&self) -> Noun {
        Noun { one: "pass", several: "passes" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = StreamArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if options.rate.is_some() || options.search || options.users.is_some_and(|users| users != 1) {
            return Err(CommandError::refused(
                "load with a rate, a search or several users: one user has all threads (--threads)",
            ));
        }
        if !options.rules.is_empty() {
            return Err(CommandError::refused("judge passes by limits: they are judged by their numbers"));
        }
        let keys = vec![
            format!("stream.elements = {}", args.elements),
            format!("stream.stores = \"{}\"", if args.streaming { "streaming" } else { "cached" }),
            format!("stream.threads = {}", args.threads.unwrap_or(0)),
            format!("stream.pages = \"{}\"", if args.small_pages { "small" } else { "huge" }),
        ];
        Ok(TypedLoad {
            title: format!("arrays of {} numbers", args.elements),
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
    use crate::plan::StreamPlan;

    #[test]
    fn options_reach_the_plan() {
        let load =
            typed(&StreamMemory, "--elements 50000000 --threads 1 --small-pages", &LoadOptions::default())
                .unwrap();
        let plan = plan(&StreamMemory, &load).unwrap();
        let own = StreamPlan::of(&plan);
        assert_eq!((own.elements, own.threads, own.pages()), (50_000_000, 1, "small pages"));
        assert_eq!((load.users, load.title.as_str()), (1, "arrays of 50000000 numbers"));
    }

    #[test]
    fn several_users_and_rates_are_refused() {
        for options in [
            LoadOptions { users: Some(2), ..LoadOptions::default() },
            LoadOptions { rate: Some(5_u32.into()), ..LoadOptions::default() },
            LoadOptions { search: true, ..LoadOptions::default() },
        ] {
            assert!(typed(&StreamMemory, "", &options).err().unwrap().contains("--threads"));
        }
    }
}
