//! `barograph sort`: records sorted in one line.

use std::path::PathBuf;

use barograph_model::Nanos;
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;

use crate::engine::Engine;
use crate::seam::{SortRecords, TARGET};
use crate::user::Step;

/// Sorts without `-n` and `-d`.
const SORTS: u64 = 3;

/// Limit of a step without `--timeout`.
const TIMEOUT: Nanos = Nanos::from_secs(3_600);

/// Generates records of 100 bytes, sorts them in files with a bound on memory, and validates the result. Without options: three
/// times 1,000,000 records (100 MB) with 64 MiB of memory on all cores, in the working folder. With --engine: a job on a cluster of
/// that engine, which is started and ended with it, in the folder of the record.
#[derive(Args)]
struct SortArgs {
    /// Folder of the files, which have no names and leave nothing [default: the working folder]
    folder: Option<PathBuf>,
    /// Program that sorts
    #[arg(long, default_value = Engine::NAMES[0], value_parser = Engine::NAMES)]
    engine: String,
    /// Workers of a cluster, which share memory and threads [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=64), value_name = "N")]
    engine_workers: Option<u64>,
    /// Records of 100 bytes
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000), value_name = "N")]
    records: u64,
    /// Memory of the sort, in MiB [default: 64, of a cluster 2048]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_048_576), value_name = "MIB")]
    memory_mib: Option<u64>,
    /// Threads of every step [default: one on each core]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_024), value_name = "N")]
    threads: Option<u64>,
    /// Wait at the end of each step until its file is on the disk
    #[arg(long)]
    flush: bool,
}

impl LoadCommand for SortRecords {
    fn arguments(&self) -> Command {
        SortArgs::augment_args(Command::new("sort"))
    }

    fn request(&self) -> Noun {
        Noun { one: "step", several: "steps" }
    }

    /// A number of operations is one of sorts, each with the steps around it.
    fn amounts(&self, _: &ArgMatches, given: Amounts) -> Amounts {
        let usual = given.duration.is_none().then_some(SORTS);
        let operations = given.operations.or(usual).map(|sorts| sorts * Step::ALL.len() as u64);
        Amounts { operations, timeout: given.timeout.or(Some(TIMEOUT)), ..given }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = SortArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if options.rate.is_some() || options.search || options.users.is_some_and(|users| users != 1) {
            return Err(CommandError::refused(
                "sort with a rate, a search or several users: one user has all threads (--threads)",
            ));
        }
        if !options.rules.is_empty() {
            return Err(CommandError::refused("judge steps by limits: sorts are judged by their results"));
        }
        let engine = Engine::of(&args.engine);
        let memory_mib = args.memory_mib.unwrap_or(engine.usual_memory_mib());
        let mut keys = vec![
            format!("sort.engine = {:?}", args.engine),
            format!("sort.records = {}", args.records),
            format!("sort.memory_mib = {memory_mib}"),
            format!("sort.threads = {}", args.threads.unwrap_or(0)),
            format!("sort.flush = {}", args.flush),
        ];
        keys.extend(args.engine_workers.map(|workers| format!("deploy.workers = {workers}")));
        if !engine.is_cluster() || args.folder.is_some() {
            let folder = args.folder.unwrap_or_else(|| PathBuf::from("."));
            let folder = std::path::absolute(&folder).map_err(|why| {
                CommandError::refused(why).while_doing(format!("find the folder `{}`", folder.display()))
            })?;
            // A JSON text is a TOML text.
            keys.push(format!("sort.folder = {}", Value::from(folder.display().to_string())));
        }
        let by = if engine.is_cluster() { format!(" on {}", args.engine) } else { String::new() };
        let title = format!("{} records of 100 bytes in {memory_mib} MiB{by}", args.records);
        let url = if engine.is_cluster() { String::new() } else { TARGET.to_owned() };
        Ok(TypedLoad { title, url, users: 1, keys, workload: None })
    }
}

#[cfg(test)]
mod tests {
    use barograph_workload::testing::{plan, typed};

    use super::*;
    use crate::plan::SortPlan;

    #[test]
    fn options_reach_the_plan() {
        let words = "/x/y --records 5 --memory-mib 7 --threads 3 --flush";
        let load = typed(&SortRecords, words, &LoadOptions::default()).unwrap();
        let plan = plan(&SortRecords, &load).unwrap();
        let folder = Some(PathBuf::from("/x/y"));
        let (engine, workers) = (Engine::Embedded, 1);
        let expected =
            SortPlan { engine, records: 5, memory_mib: 7, threads: 3, folder, flush: true, workers };
        assert_eq!(SortPlan::of(&plan), expected);
        assert_eq!(load.title, "5 records of 100 bytes in 7 MiB");
    }

    #[test]
    fn a_cluster_is_deployed_with_its_own_usual_memory() {
        let words = "--engine spark --engine-workers 2";
        let load = typed(&SortRecords, words, &LoadOptions::default()).unwrap();
        assert_eq!(
            (load.url.as_str(), load.title.as_str()),
            ("", "1000000 records of 100 bytes in 2048 MiB on spark")
        );
        assert!(load.keys.contains(&"deploy.workers = 2".to_owned()), "{:?}", load.keys);
        assert!(!load.keys.iter().any(|key| key.starts_with("sort.folder")), "{:?}", load.keys);
    }

    #[test]
    fn a_number_of_operations_is_one_of_sorts() {
        let typed = SortRecords.arguments().get_matches_from(["sort"]);
        let amounts = |operations, duration: Option<u64>| {
            let duration = duration.map(Nanos::from_secs);
            let given = Amounts { operations, duration, ..Amounts::default() };
            SortRecords.amounts(&typed, given).operations
        };
        assert_eq!(
            (amounts(None, None), amounts(Some(2), None), amounts(None, Some(9))),
            (Some(9), Some(6), None)
        );
    }

    #[test]
    fn several_users_and_rates_are_refused() {
        for options in [
            LoadOptions { users: Some(2), ..LoadOptions::default() },
            LoadOptions { rate: Some(5_u32.into()), ..LoadOptions::default() },
            LoadOptions { search: true, ..LoadOptions::default() },
        ] {
            let why = typed(&SortRecords, "", &options).err().unwrap();
            assert!(why.contains("--threads"), "{why}");
        }
    }
}
