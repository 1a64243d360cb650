//! Studies, valid and invalid.

use barograph_model::{
    Amount, BetterWhen, ChosenWindow, CounterId, Formula, Joined, MeasureSpec, Metric, StatisticMetric,
};
use barograph_spec::study::{Divisor, Study, read, read_with};
use barograph_spec::{Catalogue, Refusal, Setting, WorkloadKeys};

const GOOD: &str = r#"
question = "How much?"
plan = "../plans/p.toml"
[settings]
load.window_s = 5
[[factor]]
name = "users"
levels = [
    { name = "10", set = { load.users = 10 } },
    { name = "many", value = 40, set = { "load.users" = 40, load.ramp_s = 2 } },
]
[[factor]]
name = "platform"
levels = [{ name = "here", set = {} }, { name = "apart", set = { platform = "namespace" } }]
[[metric]]
of = "throughput"
[[metric]]
of = "response_p99"
operation = "Get"
margin = 0.05
[[crossing]]
factor = "users"
metric = "response_p99 of Get"
limit = 250
"#;

fn study(text: &str) -> Study {
    read("studies/s.toml", text).unwrap_or_else(|refused| panic!("{refused}"))
}

fn refused(text: &str) -> Vec<Refusal> {
    read("studies/s.toml", text).expect_err("this study must be refused").0
}

/// The keys of a workload that has measures of its own.
struct Cache;

const fn of_cache(id: &'static str, title: &'static str, better: BetterWhen) -> MeasureSpec {
    let formula = Formula::percent(Amount::Counter(CounterId(0)), Amount::Counter(CounterId(1)));
    MeasureSpec { id, title, unit: "%", better, formula }
}

static OF_CACHE: [MeasureSpec; 2] = [
    of_cache("hit_share", "hit share", BetterWhen::Higher),
    of_cache("age", "age of entries", BetterWhen::Neither),
];

impl WorkloadKeys for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }
    fn measures(&self) -> &'static [MeasureSpec] {
        &OF_CACHE
    }
    fn statistics(&self) -> &'static [StatisticMetric] {
        &[WAITING]
    }
}

/// A statistic of the servers of the cache.
const WAITING: StatisticMetric = StatisticMetric {
    id: "waiting",
    title: "clients that wait",
    unit: "clients",
    better: BetterWhen::Lower,
    tier: "cache",
    of: &["waiting"],
    joined: Joined::Mean,
};

#[test]
fn a_study_names_the_statistics_of_workloads() {
    let text = "question = \"q\"\nplan = \"p\"\n[[metric]]\nof = \"waiting\"\n";
    // Two workloads may have the same ones.
    let study = read_with(&[&Cache, &Cache], "s.toml", text).unwrap();
    let metric = &study.metrics[0];
    assert_eq!((metric.called().as_str(), metric.unit().as_str()), ("clients that wait", "clients"));
    assert!(!metric.more_is_better && metric.label == "waiting" && !metric.metric.adds_up());
    assert_eq!(read_with(&[&Cache], "s.toml", &study.resolved()).unwrap().metrics, study.metrics);
    assert_eq!(refused(text)[0].key, "metric[0].of", "without the workload");
}

#[test]
fn a_study_names_the_measures_of_workloads() {
    let of = |lines: &str| format!("question = \"q\"\nplan = \"p\"\n[[metric]]\n{lines}\n");
    let read = |lines: &str| read_with(&[&Cache], "s.toml", &of(lines));
    let study = read("of = \"hit_share\"").unwrap();
    let metric = &study.metrics[0];
    assert_eq!(metric.metric, Metric::Measure(&OF_CACHE[0]));
    assert_eq!((metric.called().as_str(), metric.unit().as_str()), ("hit share", "%"));
    assert!(metric.more_is_better && metric.label == "hit_share");
    let again = read_with(&[&Cache], "s.toml", &study.resolved()).unwrap();
    assert_eq!(again.metrics, study.metrics);
    // Only the study can give the better direction.
    let open = &read("of = \"age\"").unwrap_err().0[0];
    assert_eq!(open.key, "metric[0].better");
    assert!(!read("of = \"age\"\nbetter = \"lower\"").unwrap().metrics[0].more_is_better);
    assert_eq!(refused(&of("of = \"hit_share\""))[0].key, "metric[0].of", "without the workload");
}

#[test]
fn every_combination_is_a_configuration_with_its_baseline() {
    let s = study(GOOD);
    let names: Vec<&str> = s.configurations.iter().map(|c| c.name.as_str()).collect();
    let expected = [
        "users 10, platform here",
        "users 10, platform apart",
        "users many, platform here",
        "users many, platform apart",
    ];
    assert_eq!(names, expected);
    assert!(s.configurations.iter().all(|c| s.baseline_of(c) == Some(0)) && s.controlled() == 0);
    assert_eq!(s.plan.to_str(), Some("studies/../plans/p.toml"));
    assert!(s.factors[0].is_numeric() && !s.factors[1].is_numeric());
    assert_eq!((s.repeats.blocks, s.repeats.most, s.control, s.again), (10, 10, true, 1));
    assert_eq!((s.metrics[0].margin, s.metrics[1].margin), (0.01, 0.05));
    assert_eq!(s.metrics[1].metric, Metric::ResponseP99);
    assert!(s.metrics[0].more_is_better && !s.metrics[1].more_is_better);
    assert_eq!((s.crossings[0].factor, s.crossings[0].metric, s.crossings[0].limit), (0, 1, 250.0));
}

#[test]
fn a_baseline_may_be_of_the_same_level_as_each_candidate() {
    let text = GOOD.replace(
        "[[metric]]\nof = \"throughput\"",
        "[baseline]\nusers = \"same\"\n[[metric]]\nof = \"goodput\"",
    );
    let s = study(&text);
    let baselines: Vec<_> = s.configurations.iter().map(|c| s.baseline_of(c)).collect();
    assert_eq!(baselines, [Some(0), Some(0), Some(2), Some(2)]);
    let s = study(&text.replace("users = \"same\"", "users = \"same\"\nplatform = \"apart\""));
    assert_eq!(s.controlled(), 1);
}

#[test]
fn a_configuration_sets_the_keys_of_all_and_of_its_levels_with_their_places() {
    let s = study(GOOD);
    let settings = s.settings_of(&s.configurations[3]);
    let keys: Vec<(&str, &str)> = settings.iter().map(|s| (s.key.as_str(), s.value.as_str())).collect();
    let expected =
        [("load.window_s", "5"), ("load.ramp_s", "2"), ("load.users", "40"), ("platform", "\"namespace\"")];
    assert_eq!(keys, expected);
    assert!(settings.iter().all(|s: &Setting| s.place.starts_with("studies/s.toml:")), "{settings:?}");
    let plan = s
        .plan_of(
            Catalogue::default(),
            &s.configurations[3],
            "[load]\nstrategy = \"fixed\"\n",
            &["seed=7".to_owned()],
        )
        .unwrap();
    assert_eq!((plan.deploy.platform.as_str(), plan.seed), ("namespace", 7));
    assert_eq!(plan.durations.window.as_secs_f64(), 5.0);
}

#[test]
fn a_wrong_key_of_a_level_is_refused_where_it_stands() {
    let s = study(&GOOD.replace("load.ramp_s = 2", "load.rampp_s = 2"));
    let refused = s.plan_of(Catalogue::default(), &s.configurations[2], "", &[]).unwrap_err();
    assert_eq!(
        (refused.0[0].place.as_str(), refused.0[0].key.as_str()),
        ("studies/s.toml:10", "load.rampp_s")
    );
}

#[test]
fn a_file_named_by_a_study_is_beside_it() {
    let text = GOOD.replace("load.window_s = 5", "runs = \"../x\"");
    let s = study(&text.replace("{ platform = \"namespace\" }", "{ seed = 4 }"));
    let plan = s.plan_of(Catalogue::default(), &s.configurations[0], "", &[]).unwrap();
    let file = plan.file_of("runs", &plan.runs);
    assert_eq!(file.to_str(), Some("studies/../x"));
}

#[test]
fn a_resolved_study_reads_back_to_the_same() {
    let text = GOOD.replace("[settings]", "width = 0.1\nmost_repeats = 40\nagain = 3\nseed = 9\n[settings]");
    let first = study(&text);
    assert_eq!((first.repeats.width, first.repeats.most), (Some(0.1), 40));
    // Its paths are relative to the place of the study.
    let again = read("s.toml", &first.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.resolved(), first.resolved());
    assert_eq!((again.configurations, again.metrics), (first.configurations, first.metrics));
}

/// The study with divided metrics and with a warm-up.
fn divided() -> String {
    let metrics = [
        "of = \"capacity\"\nper = \"deploy.application_nodes\"\n",
        "of = \"throughput\"\nper = \"host_cpu\"\n",
        "of = \"response_p90\"\noperation = \"Get\"\nper = \"application_memory\"\n",
    ];
    let metrics = metrics.map(|metric| format!("[[metric]]\n{metric}")).concat();
    let text = GOOD.replace("[settings]", "warm_up_blocks = 2\n[settings]");
    text.replace("[[crossing]]", &format!("{metrics}[[crossing]]"))
}

#[test]
fn a_metric_may_be_divided_by_a_figure_or_by_a_key_of_the_plan() {
    let s = study(&divided());
    let told: Vec<(&str, String, String, bool)> = s
        .metrics
        .iter()
        .map(|m| (m.label.as_str(), m.called(), m.unit(), m.more_is_better))
        .skip(2)
        .collect();
    let expected = [
        (
            "capacity per deploy.application_nodes",
            "capacity per deploy.application_nodes",
            "of load per deploy.application_nodes",
            true,
        ),
        ("throughput per host_cpu", "throughput per host_cpu", "operations/s per core", true),
        (
            "response_p90 of Get per application_memory",
            "p90 response time of Get per application_memory",
            "ms per MiB",
            false,
        ),
    ];
    assert_eq!(
        told,
        expected.map(|(label, called, unit, more)| (label, called.to_owned(), unit.to_owned(), more))
    );
    assert_eq!(s.metrics[2].per, Some(Divisor::Planned("deploy.application_nodes".to_owned())));
    assert_eq!(s.metrics[3].per, Some(Divisor::Measured(Metric::HostCpu)));
    assert!(!s.metrics[2].scaling, "what is divided by a size is no speed of the whole");
    assert_eq!((s.metrics[0].per.as_ref(), s.metrics[0].unit().as_str()), (None, "operations/s"));
}

#[test]
fn a_metric_may_be_of_the_first_or_the_last_window() {
    let text = GOOD.replace("margin = 0.05", "window = \"last\"\nper = \"host_cpu\"");
    let text =
        text.replace("\"response_p99 of Get\"", "\"response_p99 of Get in the last window per host_cpu\"");
    let read = study(&text);
    assert_eq!(
        (read.metrics[0].window, read.metrics[1].window),
        (ChosenWindow::Deciding, ChosenWindow::Last)
    );
    assert_eq!(read.metrics[1].label, "response_p99 of Get in the last window per host_cpu");
    assert!(read.resolved().contains("\nwindow = \"last\"\n"), "{}", read.resolved());
    assert_eq!(study(&read.resolved()).metrics, read.metrics);
    assert!(!study(GOOD).resolved().contains("window = \""), "{}", study(GOOD).resolved());
    let both =
        GOOD.replace("[[crossing]]", "[[metric]]\nof = \"throughput\"\nwindow = \"first\"\n[[crossing]]");
    assert_eq!(study(&both).metrics.len(), 3, "one metric of two windows is two metrics");
    let of_run = GOOD.replace("of = \"throughput\"", "of = \"ready_time\"\nwindow = \"first\"");
    let why = refused(&of_run);
    assert_eq!((why[0].key.as_str(), why[0].value.as_str()), ("metric[0].window", "\"first\""));
    assert_eq!(why[0].allowed, "left out with ready_time, which is of the whole run");
}

#[test]
fn pairs_of_a_metric_may_be_counted() {
    let read = study(&GOOD.replace("margin = 0.05", "margin = 0.05\nby_pair = true"));
    assert_eq!(read.metrics.iter().filter(|metric| metric.by_pair).count(), 1);
    assert!(read.resolved().contains("\nby_pair = true\n"), "{}", read.resolved());
    assert_eq!(study(&read.resolved()).metrics, read.metrics);
    assert!(!study(GOOD).resolved().contains("by_pair"));
}

#[test]
fn what_is_left_to_its_default_is_not_in_the_resolved_study_and_the_rest_is() {
    // A study that was begun before these keys existed can continue only if it still reads the same.
    let before = study(GOOD).resolved();
    assert!(!before.contains("warm_up") && !before.contains("per ="), "{before}");
    assert_eq!(study(GOOD).warm_up_blocks, 0);
    let first = study(&divided());
    assert_eq!(first.warm_up_blocks, 2);
    let again = read("s.toml", &first.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.resolved(), first.resolved());
    assert_eq!((again.metrics, again.warm_up_blocks), (first.metrics, 2));
    for (from, to) in [
        ("warm_up_blocks = 2", "warm_up_blocks = 1"),
        ("per = \"host_cpu\"", "per = \"driver_cpu\""),
        ("per = \"host_cpu\"\n", ""),
    ] {
        // The last one would equal an existing metric, if it did not have another divisor.
        let changed = divided().replacen("of = \"throughput\"\nper", "of = \"goodput\"\nper", 1);
        assert!(changed.contains(from), "{from}");
        assert_ne!(study(&changed.replacen(from, to, 1)).resolved(), study(&changed).resolved(), "{to}");
    }
}

#[test]
fn numbers_of_a_resolved_plan_are_found_by_their_key() {
    let text = "[load]\nstrategy = \"fixed\"\nusers = 30\n[data]\nsnapshots_gb = 0.1\n";
    let plan = barograph_spec::read(Catalogue::default(), "p.toml", text, &[])
        .unwrap_or_else(|refused| panic!("{refused}"));
    for (key, number) in [
        ("load.users", Some(30.0)),
        ("data.snapshots_gb", Some(0.1)),
        ("deploy.driver_cpus", Some(0.0)),
        ("driver.count", Some(1.0)),
        ("load.strategy", None),
        ("load", None),
        ("load.usres", None),
        ("loads.users", None),
        ("load.users.more", None),
        ("load.", None),
    ] {
        assert_eq!(plan.number(key), number, "{key}");
    }
}

#[test]
fn only_some_levels_can_be_left() {
    let s = study(GOOD).only(0, &[1]);
    let names: Vec<&str> = s.configurations.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["users many, platform here", "users many, platform apart"]);
    assert_eq!((s.baseline.as_slice(), s.controlled()), (&[Some(1), Some(0)][..], 0));
}

/// The study with a level on request, and with a metric of one level.
fn with_request() -> String {
    let level =
        "{ name = \"all\", value = 1000, on_request = true, set = { load.users = 1000 } },\n]\n[[factor]]";
    let text = GOOD.replacen("]\n[[factor]]", level, 1);
    text.replace(
        "of = \"throughput\"\n",
        "of = \"throughput\"\nonly = { users = \"many, all\", platform = \"apart\" }\n",
    )
}

#[test]
fn levels_on_request_are_left_out_unless_they_are_asked_for() {
    let s = study(&with_request());
    assert_eq!(s.configurations.len(), 6);
    assert!(s.factors[0].levels[2].on_request && !s.factors[0].levels[1].on_request);
    let names = |s: &Study| s.configurations.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&s.clone().without_levels_on_request(&[])), names(&study(GOOD)));
    assert_eq!(names(&s.clone().without_levels_on_request(&[1])), names(&study(GOOD)));
    let asked = s.clone().only(0, &[2]).without_levels_on_request(&[0]);
    assert_eq!(names(&asked), ["users all, platform here", "users all, platform apart"]);
    assert_eq!(asked.baseline[0], Some(2));
    let again = read("s.toml", &s.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!((again.factors[0].levels[2].on_request, again.resolved()), (true, s.resolved()));
}

#[test]
fn a_metric_of_some_levels_is_left_out_without_them() {
    let s = study(&with_request());
    let has: Vec<bool> = s.configurations.iter().map(|c| s.metrics[0].is_of(c)).collect();
    assert_eq!(has, [false, false, false, true, false, true]);
    assert!(s.configurations.iter().all(|c| s.metrics[1].is_of(c)));
    let again = read("s.toml", &s.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.metrics, s.metrics);
    assert_eq!(s.clone().without_unused_metrics(), s);
    let rest = s.only(1, &[0]).without_unused_metrics();
    assert_eq!((rest.metrics.len(), rest.metrics[0].label.as_str()), (1, "response_p99 of Get"));
    assert_eq!(rest.crossings.iter().map(|crossing| crossing.metric).collect::<Vec<_>>(), [0]);
}

/// Cases of a change in a valid study: the old and new text, the refused key, and the beginning of the
/// allowed values.
fn refuses(cases: &[(&str, &str, &str, &str)]) {
    for (from, to, key, allowed) in cases {
        assert!(GOOD.contains(from), "{from}");
        let told = &refused(&GOOD.replacen(from, to, 1))[0];
        assert_eq!(told.key, *key, "{from} -> {to}");
        assert!(told.allowed.starts_with(allowed), "{key}: {}", told.allowed);
    }
}

#[test]
fn divisors_and_warm_ups_that_cannot_be_are_refused() {
    refuses(&[
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nper = \"capacity\"",
            "metric[0].per",
            "one of goodput, requests, application_cores, host_cpu, driver_cpu, application_memory, power, or a key of the plan \
             that is a number, as in deploy.application_nodes",
        ),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nper = \"throughput\"",
            "metric[0].per",
            "one of goodput",
        ),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nper = \"load users.\"",
            "metric[0].per",
            "one of goodput",
        ),
        ("of = \"throughput\"", "of = \"throughput\"\nper = 4", "metric[0].per", "one of goodput"),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nscaling = true\nper = \"load.users\"",
            "metric[0].scaling",
            "false with `per`",
        ),
        ("[settings]", "warm_up_blocks = -1\n[settings]", "warm_up_blocks", "a whole number from 0 to 100"),
        ("[settings]", "warm_up_blocks = 101\n[settings]", "warm_up_blocks", "a whole number from 0 to 100"),
    ]);
}

#[test]
fn what_cannot_be_is_refused_with_file_key_and_what_is_allowed() {
    refuses(&[
        ("question = \"How much?\"", "", "question", "the question"),
        ("plan = \"../plans/p.toml\"", "", "plan", "the plan"),
        ("of = \"throughput\"", "of = \"speed\"", "metric[0].of", "one of throughput, goodput"),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\noperation = \"Get\"",
            "metric[0].operation",
            "only with a metric",
        ),
        ("operation = \"Get\"\n", "", "metric[1].operation", "a text"),
        ("margin = 0.05", "margin = 5", "metric[1].margin", "a number from 0 to 1"),
        ("limit = 250", "", "crossing[0].limit", "a number above 0"),
        (
            "factor = \"users\"",
            "factor = \"platform\"",
            "crossing[0].factor",
            "a factor whose levels all have a number; here: users",
        ),
        (
            "metric = \"response_p99 of Get\"",
            "metric = \"response_p99\"",
            "crossing[0].metric",
            "one of throughput",
        ),
        ("name = \"many\"", "name = \"10\"", "factor[0].levels", "a name of its own"),
        ("name = \"platform\"", "name = \"users\"", "factor", "a name of its own"),
        (
            "[settings]",
            "configurations = [{ users = \"11\", platform = \"here\" }]\n[settings]",
            "configurations[0].users",
            "one of 10, many, the levels of users",
        ),
        (
            "[settings]",
            "configurations = [{ users = \"many\", platform = \"here\" }]\n[settings]",
            "configurations",
            "a baseline among",
        ),
        (
            "[settings]",
            "repeats = 20\nwidth = 0.1\nmost_repeats = 10\n[settings]",
            "most_repeats",
            "at least repeats = 20",
        ),
        ("[settings]", "colour = 1\n[settings]", "colour", "only known keys"),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nonly = { users = \"10,11\" }",
            "metric[0].only.users",
            "one of 10, many, the levels of users",
        ),
        (
            "of = \"throughput\"",
            "of = \"throughput\"\nonly = { user = \"10\" }",
            "metric[0].only.user",
            "only known keys",
        ),
        (
            "[{ name = \"here\", set = {} }, { name = \"apart\", set = { platform = \"namespace\" } }]",
            "[{ name = \"here\", on_request = true, set = {} }]",
            "factor[1].levels",
            "a level without on_request",
        ),
    ]);
    let alone = "question = \"q\"\nplan = \"p\"\ncontrol = false\n[[metric]]\nof = \"throughput\"\n";
    assert_eq!(refused(alone)[0].key, "control");
    let unknown = &refused(&GOOD.replace("question", "questoin"))[1];
    assert_eq!(
        (unknown.place.as_str(), unknown.remedy.as_str()),
        ("studies/s.toml:2", "did you mean `question`?")
    );
}

#[test]
fn a_study_of_nothing_but_its_control_is_an_a_a_study() {
    let s = study("question = \"q\"\nplan = \"p\"\n[[metric]]\nof = \"throughput\"\n");
    assert_eq!(
        (s.configurations.len(), s.configurations[0].name.as_str(), s.control),
        (1, "as planned", true)
    );
}

#[test]
fn a_metric_is_of_a_load_and_a_level_sets_a_key_of_one() {
    let text = GOOD
        .replacen("load.ramp_s = 2", "\"loads[1].load.rate\" = 2", 1)
        .replacen("load.window_s = 5", "\"loads[0].load.users\" = 5", 1)
        .replacen("of = \"throughput\"", "of = \"throughput\"\nload = \"visitors\"", 1);
    let first = study(&text);
    let labels = |study: &Study| study.metrics.iter().map(|of| of.label.clone()).collect::<Vec<_>>();
    assert_eq!(labels(&first), ["visitors/throughput", "response_p99 of Get"]);
    assert!(first.metrics[0].called().ends_with(" of load visitors"), "{}", first.metrics[0].called());
    let keys: Vec<&str> = first.factors[0].levels[1].settings.iter().map(|of| of.key.as_str()).collect();
    assert!(keys.contains(&"loads[1].load.rate"), "{keys:?}");
    let again = read("s.toml", &first.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.resolved(), first.resolved());
    // Without a load, the metric and its crossings are those of each load that has them.
    let all = ["users", "visitors"].map(str::to_owned);
    let each = first.with_loads(|_| all.to_vec());
    let expected = ["visitors/throughput", "users/response_p99 of Get", "visitors/response_p99 of Get"];
    assert_eq!(labels(&each), expected);
    assert_eq!(each.crossings.iter().map(|of| of.metric).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(each.operations(), [(Some("users"), "Get"), (Some("visitors"), "Get")]);
    assert_eq!(each.metrics[2].operation_of_run().as_deref(), Some("visitors/Get"));
    let again = read("s.toml", &each.resolved()).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.resolved(), each.resolved());
}
