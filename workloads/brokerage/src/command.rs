//! The arguments of `barograph sql` for this workload.

use barograph_database_engines::{DatabaseArgs, DatabaseWorkload as _, FORMS};
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{Brokerage, BrokerageDatabase};

#[derive(Args)]
struct BrokerageArgs {
    /// Size of the database
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    customers: u32,
    /// Orders and prices as statements, or as functions of the database
    #[arg(long, default_value = FORMS[0], value_parser = FORMS, value_name = "FORM")]
    form: String,
}

impl LoadCommand for Brokerage {
    fn arguments(&self) -> Command {
        DatabaseArgs::command::<BrokerageArgs>()
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
        let own = BrokerageArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let database = DatabaseArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if options.think.is_some() {
            return Err(CommandError::refused("think between transactions, which Brokerage does not"));
        }
        let BrokerageArgs { customers, form } = own;
        let keys = [format!("brokerage.customers = {customers}"), format!("brokerage.form = {form:?}")];
        let what = format!("Brokerage, {customers} customers");
        database.load((&what, BrokerageDatabase::SECTION), options, keys)
    }
}

#[cfg(test)]
mod tests {
    use barograph_database_engines::Form;
    use barograph_model::{Nanos, Share};
    use barograph_workload::WorkloadFactory as _;
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::{Limit, TypedRule};

    use super::*;
    use crate::plan::BrokeragePlan;
    use crate::seam::NAME;

    fn options(think: Option<Nanos>) -> LoadOptions {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos::from_millis(50) };
        LoadOptions { rules: vec![TypedRule::Response(limit)], think, ..LoadOptions::default() }
    }

    #[test]
    fn options_reach_the_plan() {
        for (url, form, blocks) in [
            ("postgres://me:secret@h/b", "stored", false),
            ("mysql://me:secret@h/b", "statements", false),
            ("sqlite:///nowhere/b.db", "statements", true),
        ] {
            let words = format!("{url} --customers 300 --form {form} --durability off");
            let load = typed(&Brokerage, &words, &options(None)).unwrap();
            assert_eq!(load.title, format!("Brokerage, 300 customers, on {}", url.replace("secret", "***")));
            let plan = plan(&Brokerage, &load).unwrap();
            let own = BrokeragePlan::of(&plan);
            assert_eq!((own.size.customers, own.database.is_durable), (300, false));
            assert_eq!(own.form, if form == "stored" { Form::Stored } else { Form::Statements });
            let rules = own.rules.unwrap();
            assert_eq!((rules.limit, rules.quantile), (Some(Nanos::from_millis(50)), Share::percent(95.0)));
            let workload = Brokerage.of_plan(&plan).unwrap();
            assert_eq!(workload.operations_block(), blocks, "{url}");
            // The limit and failures of each operation, and no shares.
            assert_eq!(workload.profile(NAME).unwrap().rules.len(), 20);
        }
        let why = typed(&Brokerage, "sqlite:///b.db", &options(Some(Nanos::from_secs(1)))).err().unwrap();
        assert!(why.contains("think between transactions"), "{why}");
    }
}
