//! The plan of a `barograph http`: what was typed, as a plan says it.

use barograph_model::Nanos;

use crate::args::http::HttpArgs;

/// Users of a closed loop, unless somebody says otherwise: what wrk, hey and oha people expect, roughly.
const USERS: u32 = 50;

/// Users a search looks for at the most, unless somebody says otherwise.
const MOST_USERS: u32 = 5_000;

/// Users of an open loop at the most: bound on requests in flight.
const MOST_IN_FLIGHT: u32 = 1_000;

/// Fewer users are there at once; more come within a second, so that their connections are not all opened together.
const AT_ONCE: u32 = 200;

/// Users that think become active within one think time, and within so long at the most.
const LONGEST_RAMP: Nanos = Nanos::from_secs(60);

/// A window needs some intervals for the test of steadiness, and the screen wants news; more than this many a second
/// would be work for nobody.
const INTERVALS_PER_WINDOW: u64 = 10;

/// What is in flight at the end may take so long, at the most.
const LONGEST_DRAIN: Nanos = Nanos::from_secs(2);

/// A trial of a search, where nobody says how long.
const TRIAL: Nanos = Nanos::from_secs(5);

/// A measured window, where nobody says how long.
const WINDOW: Nanos = Nanos::from_secs(10);

/// Trials of a search at the most: the ramp finds the magnitude, each trial halves what is left.
const MOST_TRIALS: u32 = 10;

/// The first ramp of a search: so steady that the level at which the target gives way can be told.
const SEARCH_RAMP_S: u64 = 10;

/// The plan as text, to be read like any other. `runs` is the folder of its record.
pub(crate) fn text(args: &HttpArgs, url: &str, runs: &str) -> String {
    let window = args.duration.unwrap_or(if args.search { TRIAL } else { WINDOW });
    let interval_ms = (window.0 / 1_000_000 / INTERVALS_PER_WINDOW).clamp(100, 1_000);
    let drain = args.timeout.min(LONGEST_DRAIN);
    let load = if args.search { search(args, window) } else { fixed(args) };
    format!(
        "workload = \"scenario\"\nseed = {seed}\nruns = {runs:?}\n\n[load]\n{load}{open}\
         window_s = {window}\nwarm_up_s = {warm_up}\ndrain_s = {drain}\n\n\
         [target]\nurl = {url:?}\n\n\
         [driver]\nworkers = {workers}\nconnections = \"keep\"\ntimeout_s = {timeout}\ninterval_ms = {interval_ms}\n",
        seed = args.seed,
        open = open(args),
        window = whole(window),
        warm_up = whole(args.warm_up),
        drain = whole(drain).max(1),
        workers = args.workers,
        timeout = whole(args.timeout).max(1),
    )
}

/// Whole seconds, rounded up.
fn whole(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

fn fixed(args: &HttpArgs) -> String {
    match args.rate {
        Some(rate) => format!("strategy = \"fixed\"\nunit = \"rate\"\nrate = {rate}\nramp_s = 0\n"),
        None => {
            let users = args.users.unwrap_or(USERS);
            let together = u64::from(users > AT_ONCE);
            // Spread over a think time, or they would come back in waves for ever.
            let ramp_s = args.think.map_or(together, |think| whole(think.min(LONGEST_RAMP)).max(together));
            format!("strategy = \"fixed\"\nunit = \"users\"\nusers = {users}\nramp_s = {ramp_s}\n")
        }
    }
}

fn search(args: &HttpArgs, window: Nanos) -> String {
    let bounds = match args.rate {
        Some(rate) => format!("unit = \"rate\"\nmin_rate = 1\nmax_rate = {rate}\n"),
        None => {
            let most = args.users.unwrap_or(MOST_USERS);
            format!("unit = \"users\"\nmin_users = 1\nmax_users = {most}\n")
        }
    };
    format!(
        "strategy = \"search\"\n{bounds}max_trials = {MOST_TRIALS}\nramp_s = {SEARCH_RAMP_S}\nstep_s = 1\nsettle_s = 1\n\
         confirm_s = {}\n",
        whole(window)
    )
}

fn open(args: &HttpArgs) -> String {
    if args.rate.is_none() {
        return String::new();
    }
    let arrivals = if args.poisson { "poisson" } else { "constant" };
    let most_users = args.users.unwrap_or(MOST_IN_FLIGHT);
    format!("arrivals = \"{arrivals}\"\nmost_users = {most_users}\n")
}

#[cfg(test)]
mod tests {
    use barograph_model::{Durations, LoadUnit, Strategy};
    use barograph_spec::Plan;
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: HttpArgs,
    }

    fn plan(typed: &str) -> Plan {
        let words = ["http", "http://127.0.0.1:8080/"].into_iter().chain(typed.split_whitespace());
        let args = Typed::try_parse_from(words).map_err(|why| why.to_string()).unwrap().args;
        crate::catalog::WORKLOADS
            .read("barograph http", &text(&args, "http://127.0.0.1:8080", "/tmp/x"), &[])
            .unwrap()
    }

    #[test]
    fn without_options_it_is_fifty_users_for_ten_seconds_and_one_before() {
        let plan = plan("");
        assert_eq!((plan.unit, plan.workload.as_str()), (LoadUnit::Users, "scenario"));
        assert_eq!(plan.strategy, Strategy::Fixed { level: 50, windows: 1 });
        let Durations { ramp, warm_up, window, .. } = plan.durations;
        assert_eq!([ramp, warm_up, window].map(|d| d.0 / 1_000_000_000), [0, 1, 10]);
        assert_eq!(plan.target.url.as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!(plan.driver.interval, Nanos::from_secs(1));
    }

    #[test]
    fn a_rate_is_an_open_loop_with_a_bound_on_what_is_in_flight() {
        let open = plan("--rate 5000 --poisson -c 64 -d 1s");
        assert_eq!(open.strategy, Strategy::Fixed { level: 5_000, windows: 1 });
        assert_eq!(open.open.as_ref().map(|o| o.most_users), Some(64));
        assert_eq!(open.driver.interval, Nanos::from_millis(100));
        assert_eq!(plan("--rate 10").open.map(|o| o.most_users), Some(MOST_IN_FLIGHT));
    }

    #[test]
    fn a_search_looks_up_to_what_was_typed() {
        let Strategy::Search(bounds) = plan("--search -c 300").strategy else {
            panic!("a search was asked for")
        };
        assert_eq!((bounds.min, bounds.max), (1, 300));
        let Strategy::Search(bounds) = plan("--search --rate 20000").strategy else {
            panic!("a search was asked for")
        };
        assert_eq!((bounds.min, bounds.max), (1, 20_000));
        assert_eq!(plan("--search").durations.window, Nanos::from_secs(5));
    }

    #[test]
    fn what_cannot_be_is_refused_at_once() {
        for wrong in
            ["-c 0", "--rate 0", "-d 0s", "-d 1500ms", "--poisson", "--think 1s --rate 5", "--qos p99>1s"]
        {
            let words = ["http", "http://x/"].into_iter().chain(wrong.split_whitespace());
            assert!(Typed::try_parse_from(words).is_err(), "{wrong}");
        }
    }
}
