//! The arguments of `barograph sql` for this workload.

use barograph_database_engines::{DatabaseArgs, DatabaseWorkload as _};
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{Store, StoreDatabase};

#[derive(Args)]
struct StoreArgs {
    /// Size of the database, in megabytes of a SQLite file
    #[arg(long, default_value_t = 10, value_name = "N")]
    megabytes: u32,
}

impl LoadCommand for Store {
    fn arguments(&self) -> Command {
        DatabaseArgs::command::<StoreArgs>()
    }

    fn request(&self) -> Noun {
        Noun { one: "operation", several: "operations" }
    }

    fn amounts(&self, typed: &ArgMatches, given: Amounts) -> Amounts {
        DatabaseArgs::amounts(typed, given)
    }

    fn answer(&self, typed: &ArgMatches) -> Option<Result<String, CommandError>> {
        DatabaseArgs::answer(typed)
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let StoreArgs { megabytes } = StoreArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let database = DatabaseArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let think = options.think.map(|think| format!("store.think_s = {:?}", think.as_secs_f64()));
        let keys = [format!("store.megabytes = {megabytes}")].into_iter().chain(think);
        database.load((&format!("Store, {megabytes} MB"), StoreDatabase::SECTION), options, keys)
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Share};
    use barograph_spec::Plan;
    use barograph_workload::WorkloadFactory as _;
    use barograph_workload::testing::{self, typed};
    use barograph_workload::typed::{Limit, TypedRule};

    use super::*;
    use crate::plan::StorePlan;
    use crate::seam::NAME;

    fn plan(words: &str, options: &LoadOptions) -> (String, Plan) {
        let load = typed(&Store, words, options).unwrap();
        let plan = testing::plan(&Store, &load).unwrap();
        (load.title, plan)
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos::from_millis(50) };
        let options = LoadOptions {
            rules: vec![TypedRule::Response(limit)],
            think: Some(Nanos::from_secs(2)),
            ..LoadOptions::default()
        };
        for (url, shown, blocks) in [
            ("postgres://me:secret@h/store", "postgres://me:***@h/store", false),
            ("mysql://me:secret@h/store", "mysql://me:***@h/store", false),
            ("sqlite:///nowhere/store.db", "sqlite:///nowhere/store.db", true),
        ] {
            let words = format!("{url} --megabytes 3 --durability off");
            let (title, plan) = plan(&words, &options);
            assert_eq!(title, format!("Store, 3 MB, on {shown}"));
            let own = StorePlan::of(&plan);
            assert_eq!((own.size.megabytes, own.think), (3, Nanos::from_secs(2)));
            let rules = own.rules.unwrap();
            assert_eq!((rules.limit, rules.quantile), (Some(Nanos::from_millis(50)), Share::percent(95.0)));
            assert!(!own.database.is_durable);
            let workload = Store.of_plan(&plan).unwrap();
            assert_eq!(workload.operations_block(), blocks, "{url}");
            // The limit and failures of each operation, and no shares.
            assert_eq!(workload.profile(NAME).unwrap().rules.len(), 12);
        }
    }
}
