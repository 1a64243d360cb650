//! The arguments of `barograph sql` for this workload.

use barograph_database_engines::{DatabaseArgs, DatabaseWorkload as _, FORMS, PIPELINED_FORMS};
use barograph_workload::{Amounts, CommandError, LoadCommand, LoadOptions, Noun, TypedLoad};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::seam::{OrderDatabase, OrderEntry};

#[derive(Args)]
struct OrderEntryArgs {
    /// Size of the database
    #[arg(long, default_value_t = 1, value_name = "N")]
    warehouses: u32,
    /// Transactions as statements, as functions of the database, or as pipelined statements
    #[arg(long, default_value = FORMS[0], value_parser = PIPELINED_FORMS, value_name = "FORM")]
    form: String,
}

impl LoadCommand for OrderEntry {
    fn arguments(&self) -> Command {
        DatabaseArgs::command::<OrderEntryArgs>()
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
        let own = OrderEntryArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        let database = DatabaseArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if options.think.is_some() {
            let why = "think otherwise than published; the published times are --set order_entry.waits=1";
            return Err(CommandError::refused(why));
        }
        let OrderEntryArgs { warehouses, form } = own;
        let what = format!("Order-Entry, {warehouses} warehouse{}", if warehouses == 1 { "" } else { "s" });
        let keys = [format!("order_entry.warehouses = {warehouses}"), format!("order_entry.form = {form:?}")];
        database.load((&what, OrderDatabase::SECTION), options, keys)
    }
}

#[cfg(test)]
mod tests {
    use barograph_database_engines::{Form, Rules};
    use barograph_model::{Nanos, Share};
    use barograph_workload::WorkloadFactory as _;
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::{Limit, TypedRule};

    use super::*;
    use crate::plan::OrderEntryPlan;

    #[test]
    fn an_address_decides_the_engine() {
        for (url, shown, blocks) in [
            ("postgres://me:secret@h/orders", "postgres://me:***@h/orders", false),
            ("mysql://me:secret@h/orders", "mysql://me:***@h/orders", false),
            ("sqlite:///nowhere/orders.db", "sqlite:///nowhere/orders.db", true),
        ] {
            let load = typed(&OrderEntry, url, &LoadOptions::default()).unwrap();
            assert_eq!(
                (load.title.clone(), load.users),
                (format!("Order-Entry, 1 warehouse, on {shown}"), 8),
                "{url}"
            );
            let plan = plan(&OrderEntry, &load).unwrap();
            assert_eq!(OrderEntry.of_plan(&plan).unwrap().operations_block(), blocks, "{url}");
        }
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos(50_500_000) };
        let rules = vec![TypedRule::Response(limit)];
        let options = LoadOptions { search: true, rules, ..LoadOptions::default() };
        let words = "postgres://me@h/orders --warehouses 3 --form stored --durability off \
                     --isolation serializable";
        let load = typed(&OrderEntry, words, &options).unwrap();
        assert_eq!((load.users, load.title.contains(", 3 warehouses, ")), (90, true));
        let own = OrderEntryPlan::of(&plan(&OrderEntry, &load).unwrap()).clone();
        assert_eq!(
            (own.size.warehouses, own.form, own.database.isolation),
            (3, Form::Stored, "serializable")
        );
        assert!(!own.database.is_durable);
        let (limit, quantile) = (Some(Nanos(50_500_000)), Share::percent(95.0));
        assert_eq!(own.rules, Some(Rules { quantile, limit, failures: Share::percent(1.0) }));
    }

    #[test]
    fn what_cannot_be_typed_says_why() {
        let why = |words: &str, options: &LoadOptions| typed(&OrderEntry, words, options).err().unwrap();
        assert!(
            why("sqlite:///f --form call", &LoadOptions::default()).contains("statements, stored, pipelined")
        );
        let thinking = LoadOptions { think: Some(Nanos::from_secs(1)), ..LoadOptions::default() };
        assert!(why("sqlite:///f", &thinking).contains("order_entry.waits=1"));
        let two = LoadOptions { rules: vec![TypedRule::Rate(1.0)], ..LoadOptions::default() };
        assert!(why("sqlite:///f", &two).contains("more than one limit"));
    }
}
