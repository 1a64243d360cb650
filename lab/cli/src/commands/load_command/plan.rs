//! The plan of a load command, from its arguments.

use barograph_model::Nanos;
use barograph_workload::TypedLoad;

use crate::args::LoadCommandArgs;

/// Largest number of users that start at once; more arrive within a second, so that connections are not all
/// opened together.
const AT_ONCE: u32 = 200;

/// Longest ramp for users with a think time, who arrive within one think time.
const LONGEST_RAMP: Nanos = Nanos::from_secs(60);

/// Intervals of a window: enough for the test of steadiness and for updates of the screen, and no more than
/// needed.
const INTERVALS_PER_WINDOW: u64 = 10;

/// Longest time for operations in flight at the end.
const LONGEST_DRAIN: Nanos = Nanos::from_secs(2);

/// Default length of a trial in a search.
const TRIAL: Nanos = Nanos::from_secs(5);

/// Default length of a measured window.
const WINDOW: Nanos = Nanos::from_secs(10);

/// Default length of the warm-up.
const WARM_UP: Nanos = Nanos::from_secs(1);

/// Longest interval in milliseconds, bounded for updates of the screen.
const MOST_INTERVAL_MS: u64 = 1_000;

/// Most trials of a search: the ramp finds the magnitude, and each trial halves the rest.
const MOST_TRIALS: u32 = 10;

/// Length of the first ramp of a search in seconds: slow enough to show at which level the target gives way.
const SEARCH_RAMP_S: u64 = 10;

/// Returns the plan as text, to be read like any other. `runs` is the folder of its record.
pub(super) fn text(workload: &str, args: &LoadCommandArgs, load: &TypedLoad, runs: &str) -> String {
    let (usual, warm_up) = match (args.search, args.operations) {
        (true, _) => (TRIAL, WARM_UP),
        (false, None) => (WINDOW, WARM_UP),
        // Operations determine their own duration.
        (false, Some(_)) => (Nanos::ZERO, Nanos::ZERO),
    };
    let window = args.duration.unwrap_or(usual);
    let interval_ms = match window {
        Nanos::ZERO => MOST_INTERVAL_MS,
        window => (window.0 / 1_000_000 / INTERVALS_PER_WINDOW).clamp(100, MOST_INTERVAL_MS),
    };
    let drain = args.timeout.min(LONGEST_DRAIN);
    let level = if args.search { search(args, load.users, window) } else { fixed(args, load.users) };
    let lines = format!(
        "workload = {workload:?}\nseed = {seed}\nruns = {runs:?}\n{url}\
         {level}{open}load.window_s = {window}\nload.warm_up_s = {warm_up}\nload.drain_s = {drain}\n\
         driver.workers = {workers}\ndriver.connections = \"keep\"\ndriver.timeout_s = {timeout:?}\n\
         driver.failure_pause_s = {pause:?}\ndriver.interval_ms = {interval_ms}\n{realtime}{keys}\n",
        seed = args.seed,
        url = target(&load.url),
        open = open(args, load.users),
        window = whole(window),
        warm_up = whole(args.warm_up.unwrap_or(warm_up)),
        drain = whole(drain).max(1),
        workers = args.workers,
        timeout = args.timeout.as_secs_f64(),
        pause = args.failure_pause.as_secs_f64(),
        realtime = if args.realtime { "driver.realtime = true\n" } else { "" },
        keys = load.keys.join("\n"),
    );
    without_replaced(&lines)
}

/// The lines without those whose key a later line has: `--set` comes last.
fn without_replaced(lines: &str) -> String {
    let key = |line: &'_ str| line.split_once('=').map(|(key, _)| key.trim().to_owned());
    let lines: Vec<(Option<String>, &str)> = lines.lines().map(|line| (key(line), line)).collect();
    let is_last = |at: usize| {
        let (key, _) = &lines[at];
        key.is_none() || lines[at + 1..].iter().all(|(later, _)| later != key)
    };
    (0..lines.len()).filter(|at| is_last(*at)).map(|at| format!("{}\n", lines[at].1)).collect()
}

/// Line of the target; none for one that the run deploys.
fn target(url: &str) -> String {
    if url.is_empty() { String::new() } else { format!("target.url = {url:?}\n") }
}

/// Rounds up to whole seconds.
fn whole(time: Nanos) -> u64 {
    time.0.div_ceil(1_000_000_000)
}

fn fixed(args: &LoadCommandArgs, users: u32) -> String {
    let (unit, level, ramp_s) = match args.rate {
        Some(rate) => ("rate", f64::from(rate), 0),
        None => {
            // A number of operations begins with all users at once.
            let together = u64::from(users > AT_ONCE && args.operations.is_none());
            // Spread over a think time, as users would otherwise keep coming in waves.
            let ramp_s = args.think.map_or(together, |think| whole(think.min(LONGEST_RAMP)).max(together));
            ("users", users.into(), ramp_s)
        }
    };
    let operations = args.operations.map_or_else(String::new, |n| format!("load.operations = {n}\n"));
    format!(
        "load.strategy = \"fixed\"\nload.unit = \"{unit}\"\nload.{unit} = {level}\nload.ramp_s = {ramp_s}\n{operations}"
    )
}

fn search(args: &LoadCommandArgs, users: u32, window: Nanos) -> String {
    let (unit, most) = args.rate.map_or(("users", users.into()), |rate| ("rate", f64::from(rate)));
    format!(
        "load.strategy = \"search\"\nload.unit = \"{unit}\"\nload.min_{unit} = 1\nload.max_{unit} = {most}\n\
         load.max_trials = {MOST_TRIALS}\nload.ramp_s = {SEARCH_RAMP_S}\nload.step_s = 1\nload.settle_s = 1\n\
         load.confirm_s = {}\n",
        whole(window)
    )
}

fn open(args: &LoadCommandArgs, users: u32) -> String {
    if args.rate.is_none() {
        return String::new();
    }
    let arrivals = if args.poisson { "poisson" } else { "constant" };
    format!("load.arrivals = \"{arrivals}\"\nload.most_users = {users}\n")
}

#[cfg(test)]
mod tests {
    use barograph_model::{Durations, Level, LoadUnit, Strategy};
    use barograph_spec::Plan;
    use clap::{Args as _, Parser};

    use super::*;
    use crate::args::{Args, Command, TypedLoadCommand};
    use crate::catalog::WORKLOADS;

    fn typed(words: &str) -> Result<Box<TypedLoadCommand>, clap::Error> {
        let words =
            ["barograph", "http", "http://127.0.0.1:8080/"].into_iter().chain(words.split_whitespace());
        match Args::try_parse_from(words)?.command {
            Command::OneLine(typed) => Ok(typed),
            _ => panic!("http is a load command"),
        }
    }

    fn plan(words: &str) -> Plan {
        let TypedLoadCommand { workload, command, own, args, .. } = *typed(words).unwrap();
        let load = command.load(&own, &args.options()).map_err(|why| why.why).unwrap();
        WORKLOADS.read("barograph http", &text(workload, &args, &load, "/tmp/x"), &args.sets).unwrap()
    }

    #[test]
    fn a_set_key_goes_before_other_options_and_needs_no_quotes() {
        let plan = plan("--rate 7 --set load.rate=9 --set load.arrivals=poisson");
        assert_eq!(plan.strategy, Strategy::Fixed { level: 9.into(), windows: 1 });
        assert!(plan.resolved.contains("arrivals = \"poisson\""), "{}", plan.resolved);
    }

    #[test]
    fn a_later_line_replaces_an_earlier_one_of_its_key() {
        assert_eq!(without_replaced("a = 1\nb.c = \"a = 2\"\n\nb.d=3\nb.c=4\n"), "a = 1\n\nb.d=3\nb.c=4\n");
    }

    #[test]
    fn without_options_it_is_fifty_users_for_ten_seconds_and_one_before() {
        let plan = plan("");
        assert_eq!((plan.unit, plan.workload.as_str()), (LoadUnit::Users, "scenario"));
        assert_eq!(plan.strategy, Strategy::Fixed { level: 50.into(), windows: 1 });
        let Durations { ramp, warm_up, window, .. } = plan.durations;
        assert_eq!([ramp, warm_up, window].map(|d| d.0 / 1_000_000_000), [0, 1, 10]);
        assert_eq!(plan.target.url.as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!(plan.driver.interval, Nanos::from_secs(1));
    }

    #[test]
    fn a_number_of_operations_begins_at_once_and_takes_its_time() {
        let spans = |plan: &Plan| {
            let Durations { ramp, warm_up, window, .. } = plan.durations;
            [ramp, warm_up, window].map(|d| d.0 / 1_000_000_000)
        };
        let counted = plan("-n 1000 -c 500");
        assert_eq!((counted.operations, spans(&counted)), (Some(1_000), [0, 0, 0]));
        assert_eq!(counted.driver.interval, Nanos::from_secs(1));
        let bounded = plan("--requests 7 -d 3s --warm-up 2s");
        assert_eq!((bounded.operations, spans(&bounded)), (Some(7), [0, 2, 3]));
        assert_eq!(plan("--operations 7 --rate 0.5").operations, Some(7));
        assert_eq!(plan("").operations, None);
    }

    #[test]
    fn times_below_a_second_are_not_rounded() {
        let driver = plan("--timeout 100ms --failure-pause 0").driver;
        assert_eq!((driver.timeout, driver.failure_pause), (Nanos::from_millis(100), Nanos::ZERO));
        assert_eq!(plan("--timeout 1.5s").driver.timeout, Nanos::from_millis(1_500));
        let usual = plan("").driver;
        assert_eq!((usual.timeout, usual.failure_pause), (Nanos::from_secs(10), Nanos::from_secs(1)));
    }

    #[test]
    fn a_rate_is_an_open_loop_with_a_bound_on_what_is_in_flight() {
        let open = plan("--rate 5000 --poisson -c 64 -d 1s");
        assert_eq!(open.strategy, Strategy::Fixed { level: 5_000.into(), windows: 1 });
        assert_eq!(open.open.as_ref().map(|o| o.most_users), Some(64));
        assert_eq!(open.driver.interval, Nanos::from_millis(100));
        assert_eq!(plan("--rate 10").open.map(|o| o.most_users), Some(1_000));
        let half = Strategy::Fixed { level: Level::new(0.5).unwrap(), windows: 1 };
        assert_eq!(plan("--rate 0.5").strategy, half);
    }

    #[test]
    fn a_search_without_a_limit_has_the_usual_one() {
        let limit = |words: &str| typed(words).unwrap().args.options().limit().map(|limit| limit.limit);
        assert_eq!((limit("--search"), limit("")), (Some(Nanos::from_millis(100)), None));
        assert_eq!(limit("--search --qos p50<1s"), Some(Nanos::from_secs(1)));
    }

    #[test]
    fn keys_of_the_workload_stand_beside_the_others() {
        let TypedLoadCommand { workload, command, own, args, .. } = *typed("").unwrap();
        let load = command.load(&own, &args.options()).map_err(|why| why.why).unwrap();
        let load = TypedLoad { keys: vec!["scenario = \"s.toml\"".to_owned()], users: 1_500, ..load };
        let plan = WORKLOADS.read("x", &text(workload, &args, &load, "/tmp/x"), &[]).unwrap();
        assert!(plan.resolved.contains("scenario = \"s.toml\""), "{}", plan.resolved);
        assert_eq!(plan.strategy, Strategy::Fixed { level: 1_500.into(), windows: 1 });
    }

    #[test]
    fn every_option_changes_something() {
        let options = [
            ("users", "-c 7"),
            ("rate", "--rate 7"),
            ("operations", "-n 7"),
            ("duration", "-d 7s"),
            ("workers", "--workers 3"),
            ("realtime", "--realtime"),
            ("poisson", "--rate 7 --poisson"),
            ("think", "--think 7s"),
            ("timeout", "--timeout 7s"),
            ("failure_pause", "--failure-pause 7s"),
            ("warm_up", "--warm-up 7s"),
            ("seed", "--seed 7"),
            ("qos", "--qos p99<7s"),
            ("errors", "--errors 7%"),
            ("search", "--search"),
        ];
        // Options for display and storage, and keys beside the text; other tests cover them.
        let shown = "sets report keep_record format json quiet live live_at export_to export_label";
        for argument in LoadCommandArgs::augment_args(clap::Command::new("x")).get_arguments() {
            let id = argument.get_id().as_str();
            let known =
                options.iter().any(|(known, _)| *known == id) || shown.split(' ').any(|known| known == id);
            assert!(known, "{id} has no row in this test");
        }
        let made = |words: &str| {
            let TypedLoadCommand { workload, command, own, args, .. } = *typed(words).unwrap();
            let load = command.load(&own, &args.options()).map_err(|why| why.why).unwrap();
            let text = text(workload, &args, &load, "/tmp/x");
            let workload = load.workload.unwrap();
            let profile = workload.profiles()[0].to_owned();
            format!("{text} {:?} {:?}", workload.profile(&profile), workload.behaviours(&profile))
        };
        for (id, words) in options {
            let usual = made(if id == "poisson" { "--rate 7" } else { "" });
            assert_ne!(made(words), usual, "{id}");
        }
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
        for wrong in [
            "-c 0",
            "-n 0",
            "-n 5 --search",
            "--rate 0",
            "--rate 0.0005",
            "--rate 10000001",
            "-d 0s",
            "-d 1500ms",
            "--poisson",
            "--think 1s --rate 5",
            "--qos p99>1s",
        ] {
            assert!(typed(wrong).is_err(), "{wrong}");
        }
    }
}
