//! `barograph sql`: a database under load in one line, for people who come from pgbench, sysbench or go-tpc.

use barograph_database_engines::{DURABILITIES, ISOLATIONS};
use barograph_model::secret::masked;
use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::plan::FORMS;
use crate::seam::{NAME, OrderEntry};

/// Users without `-c`. A server has 100 sessions by default, some of them for itself.
const USERS: UsualUsers = UsualUsers { fixed: 8, searched: 90, in_flight: 90 };

/// Loads a database that is there already: fills it, copies it for the run, and checks the copy after it. Without options: 8
/// users at one warehouse, as fast as answers come, for 10 s.
#[derive(Args)]
struct SqlArgs {
    /// Address of the filled database, which decides the engine: postgres://USER:PASSWORD@HOST:PORT/DATABASE,
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE of MariaDB, or sqlite:///PATH for a file
    url: String,
    /// What users do
    #[arg(long, default_value = NAME, value_parser = [NAME], value_name = "NAME")]
    workload: String,
    /// Size of the database
    #[arg(long, default_value_t = 1, value_name = "N")]
    warehouses: u32,
    /// Transactions as statements, or as functions of the database
    #[arg(long, default_value = FORMS[0], value_parser = FORMS, value_name = "FORM")]
    form: String,
    /// What a commit survives
    #[arg(long, default_value = DURABILITIES[0], value_parser = DURABILITIES, value_name = "HOW")]
    durability: String,
    /// Isolation level of a server
    #[arg(long, default_value = ISOLATIONS[0], value_parser = ISOLATIONS, value_name = "LEVEL")]
    isolation: String,
    /// A further key of the plan, as in order_entry.waits=1 (may be given often)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

impl LoadCommand for OrderEntry {
    fn arguments(&self) -> Command {
        SqlArgs::augment_args(Command::new("sql"))
    }

    fn request(&self) -> Noun {
        Noun { one: "transaction", several: "transactions" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = SqlArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge transactions by more than one limit of response time"));
        }
        if options.think.is_some() {
            let why = "think otherwise than published; the published times are --set order_entry.waits=1";
            return Err(CommandError::refused(why));
        }
        let several = if args.warehouses == 1 { "" } else { "s" };
        Ok(TypedLoad {
            title: format!("Order-Entry, {} warehouse{several}, on {}", args.warehouses, masked(&args.url)),
            url: args.url.clone(),
            users: options.users_or(USERS),
            keys: keys(&args, options),
            workload: None,
        })
    }
}

/// What was typed, as keys of a plan.
fn keys(args: &SqlArgs, options: &LoadOptions) -> Vec<String> {
    let mut keys = vec![
        format!("order_entry.warehouses = {}", args.warehouses),
        format!("order_entry.form = {:?}", args.form),
        format!("order_entry.durability = {:?}", args.durability),
        format!("order_entry.isolation = {:?}", args.isolation),
        "order_entry.rules = \"own\"".to_owned(),
        format!("order_entry.failures = {:?}", options.errors.get()),
    ];
    if let Some(limit) = options.limit() {
        keys.push(format!("order_entry.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
        keys.push(format!("order_entry.quantile = {:?}", limit.quantile.get()));
    }
    keys.extend(args.sets.iter().cloned());
    keys
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Share};
    use barograph_spec::{Catalogue, Plan};
    use barograph_workload::WorkloadFactory as _;
    use barograph_workload::typed::Limit;

    use super::*;
    use crate::plan::{Form, OrderEntryPlan, Rules};

    fn options() -> LoadOptions {
        let errors = Share::percent(1.0);
        let (users, rate, rules, think, timeout) = (None, None, Vec::new(), None, Nanos::from_secs(1));
        LoadOptions { users, rate, search: false, rules, errors, think, timeout }
    }

    fn typed(words: &str, options: &LoadOptions) -> Result<TypedLoad, String> {
        let words = ["sql"].into_iter().chain(words.split_whitespace());
        let matches = OrderEntry.arguments().try_get_matches_from(words).map_err(|why| why.to_string())?;
        OrderEntry.load(&matches, options).map_err(|why| why.why.to_string())
    }

    fn plan(load: &TypedLoad) -> Plan {
        let text = format!("workload = {NAME:?}\ntarget.url = {:?}\n{}\n", load.url, load.keys.join("\n"));
        barograph_spec::read(Catalogue::of(&[&OrderEntry]), "typed", &text, &[])
            .unwrap_or_else(|why| panic!("{why}"))
    }

    #[test]
    fn an_address_decides_the_engine() {
        for (url, shown, blocks) in [
            ("postgres://me:secret@h/orders", "postgres://me:***@h/orders", false),
            ("mysql://me:secret@h/orders", "mysql://me:***@h/orders", false),
            ("sqlite:///nowhere/orders.db", "sqlite:///nowhere/orders.db", true),
        ] {
            let load = typed(url, &options()).unwrap();
            assert_eq!(
                (load.title, load.users),
                (format!("Order-Entry, 1 warehouse, on {shown}"), 8),
                "{url}"
            );
            let plan = plan(&typed(url, &options()).unwrap());
            assert_eq!(OrderEntry.of_plan(&plan).unwrap().operations_block(), blocks, "{url}");
        }
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos(50_500_000) };
        let rules = vec![TypedRule::Response(limit)];
        let options = LoadOptions { search: true, rules, ..options() };
        let words = "postgres://me@h/orders --workload order-entry --warehouses 3 --form stored --durability off \
                     --isolation serializable --set order_entry.waits=0.5";
        let load = typed(words, &options).unwrap();
        assert_eq!((load.users, load.title.contains(", 3 warehouses, ")), (90, true));
        let own = OrderEntryPlan::of(&plan(&load)).clone();
        assert_eq!(
            (own.size.warehouses, own.form, own.database.isolation),
            (3, Form::Stored, "serializable")
        );
        assert_eq!((own.database.is_durable, own.waits), (false, 0.5));
        let (limit, quantile) = (Some(Nanos(50_500_000)), Share::percent(95.0));
        assert_eq!(own.rules, Some(Rules { quantile, limit, failures: Share::percent(1.0) }));
    }

    #[test]
    fn what_cannot_be_typed_says_why() {
        let why = |words: &str, options: &LoadOptions| typed(words, options).err().unwrap();
        assert!(why("sqlite:///f --workload store", &options()).contains("order-entry"));
        assert!(why("sqlite:///f --form call", &options()).contains("statements, stored"));
        let thinking = LoadOptions { think: Some(Nanos::from_secs(1)), ..options() };
        assert!(why("sqlite:///f", &thinking).contains("order_entry.waits=1"));
        let two = LoadOptions { rules: vec![TypedRule::Rate(1.0)], ..options() };
        assert!(why("sqlite:///f", &two).contains("more than one limit"));
    }
}
