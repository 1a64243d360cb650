//! Made-up studies: order of runs, continuation after an interrupt, conclusions with a planted effect.

use barograph_model::Metric;
use barograph_record::{
    Conclusions, Figure, FindingRecord, MissingFigure, RecordError, RunEnded, RunRecord, RunStarted,
    SearchBound, StudyEntry, append_to_study,
};
use barograph_spec::study::{Study, read};
use barograph_study::{About, CONTROL, Progress, RunEnd, Runner, Slot, carry_out, conclude, figure, places};
use proptest::prelude::*;

const STUDY: &str = r#"
question = "Is it faster?"
plan = "p.toml"
repeats = 12
again = 1
seed = 5
[[factor]]
name = "size"
levels = [
    { name = "1", set = { seed = 1 } },
    { name = "2", set = { seed = 2 } },
    { name = "4", set = { seed = 4 } },
]
[[metric]]
of = "throughput"
scaling = true
[[metric]]
of = "response_p99"
operation = "Get"
[[crossing]]
factor = "size"
metric = "response_p99 of Get"
limit = 15
"#;

fn study(text: &str) -> Study {
    read("s.toml", text).unwrap_or_else(|refused| panic!("{refused}"))
}

/// A pseudo-random number between -1 and 1.
fn noise(block: u32, salt: u64) -> f64 {
    let mut z = (u64::from(block) << 20) ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Makes instant runs: each size is a little slower than linear, each block has an effect of up to 30 %, and
/// every run a noise of 1 %. In a warm-up everything takes twice as long.
struct FakeRunner {
    names: u32,
    made: Vec<Slot>,
    /// Index of the run at which the study is stopped.
    stop_at: Option<usize>,
    /// Name and block of runs that are unusable, and how many.
    spoilt: Option<(&'static str, u32, u32)>,
}

impl FakeRunner {
    fn new() -> Self {
        FakeRunner { names: 0, made: Vec::new(), stop_at: None, spoilt: None }
    }
}

fn ended(started: RunStarted, figures: Vec<Figure>) -> RunEnded {
    RunEnded {
        started,
        seconds: 10.0,
        valid: true,
        passed: true,
        interrupted: false,
        reasons: Vec::new(),
        figures,
        at_least: None,
        stolen: None,
        scores: Vec::new(),
        missing: Vec::new(),
        times: Vec::new(),
    }
}

impl Runner for FakeRunner {
    type Error = RecordError;

    fn name(&mut self) -> String {
        self.names += 1;
        format!("run-{}", self.names)
    }

    fn run(&mut self, wanted: &Slot, started: RunStarted, _: &Progress) -> Result<RunEnd, RecordError> {
        if self.stop_at == Some(self.made.len()) {
            return Ok(RunEnd::Stopped(None));
        }
        self.made.push(wanted.clone());
        let size = [1.0f64, 2.0, 4.0][wanted.configuration];
        let mood = 1.0 + 0.3 * noise(wanted.block, 7);
        let own = 1.0
            + 0.01 * noise(wanted.block, 100 + wanted.name.len() as u64 * 31 + wanted.configuration as u64);
        let cold = if wanted.warm_up { 2.0 } else { 1.0 };
        let throughput = 100.0 * size.powf(0.8) * mood * own / cold;
        let spoilt = self.spoilt.is_some_and(|(name, block, times)| {
            wanted.name == name && wanted.block == block && wanted.attempt <= times
        });
        let figures = vec![
            Figure::new("throughput", throughput),
            Figure::new("response_p99 of Get", 10.0 * size * own * cold),
        ];
        Ok(RunEnd::Ended(Box::new(RunEnded {
            valid: !spoilt,
            reasons: if spoilt { vec!["not valid: the machine was busy".to_owned()] } else { vec![] },
            stolen: Some(0.001 * f64::from(wanted.block)),
            ..ended(started, figures)
        })))
    }
}

/// Executes a study in a folder as far as possible, from its present state.
fn carry(study: &Study, folder: &std::path::Path, runner: &mut FakeRunner) -> (bool, Progress) {
    let entries: Vec<StudyEntry> = std::fs::read_to_string(folder.join("study.jsonl"))
        .unwrap_or_default()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut progress = Progress::new(study, &entries);
    let mut appender = append_to_study(folder).unwrap();
    let complete = carry_out(study, &mut progress, &mut appender, runner).unwrap();
    (complete, progress)
}

fn concluded(study: &Study, progress: &Progress) -> Conclusions {
    let about = About { id: "study-1", complete: true, repeat: "barograph study s.toml", ..About::default() };
    conclude(study, progress, &about)
}

#[test]
fn every_block_holds_every_configuration_and_the_control_once() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let mut runner = FakeRunner::new();
    let (complete, progress) = carry(&study, folder.path(), &mut runner);
    assert!(complete && progress.whole_blocks() == 12);
    assert_eq!(runner.made.len(), 12 * 4);
    for (at, block) in (1..).zip(runner.made.chunks(4)) {
        assert!(block.iter().all(|wanted| wanted.block == at && wanted.attempt == 1));
        let mut names: Vec<&str> = block.iter().map(|wanted| wanted.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, [CONTROL, "size 1", "size 2", "size 4"]);
    }
    let control = runner.made.iter().find(|wanted| wanted.name == CONTROL).unwrap();
    assert_eq!(control.configuration, 0, "the control is the baseline's configuration");
    let firsts =
        runner.made.chunks(4).map(|block| block[0].configuration).collect::<std::collections::BTreeSet<_>>();
    assert!(firsts.len() > 1, "the order differs from block to block");
}

/// The study after `blocks` blocks of warm-up.
fn warmed_up(blocks: u32) -> String {
    STUDY.replace("repeats = 12", &format!("repeats = 12\nwarm_up_blocks = {blocks}"))
}

#[test]
fn a_warm_up_comes_first_and_changes_nothing_of_what_is_judged() {
    let (cold, warm) = (study(STUDY), study(&warmed_up(2)));
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (mut straight, mut runner) = (FakeRunner::new(), FakeRunner::new());
    let (_, without) = carry(&cold, folders[0].path(), &mut straight);
    let (complete, with) = carry(&warm, folders[1].path(), &mut runner);
    assert!(complete && with.whole_blocks() == 12);
    let made: Vec<(u32, bool, &str)> =
        runner.made.iter().map(|wanted| (wanted.block, wanted.warm_up, wanted.name.as_str())).collect();
    let expected = [
        (1, true, "size 2"),
        (1, true, "size 1"),
        (1, true, "size 4"),
        (1, true, CONTROL),
        (2, true, CONTROL),
        (2, true, "size 1"),
        (2, true, "size 2"),
        (2, true, "size 4"),
        (1, false, CONTROL),
        (1, false, "size 2"),
        (1, false, "size 4"),
        (1, false, "size 1"),
    ];
    assert_eq!(made[..12], expected);
    assert_eq!(runner.made[8..], straight.made[..]);
    assert_eq!((with.warmed_up().len(), with.ended().len()), (8, 48));
    let (mut said, mut expected) = (concluded(&warm, &with), concluded(&cold, &without));
    assert!(said.configurations.iter().all(|configuration| configuration.warm_up == 2));
    said.configurations.iter_mut().for_each(|configuration| configuration.warm_up = 0);
    // Runs are numbered from the first one of warm-up on.
    said.runs.iter_mut().chain(&mut expected.runs).for_each(|run| run.run.clear());
    assert_eq!(format!("{said:?}"), format!("{expected:?}"));
}

#[test]
fn a_run_of_warm_up_is_made_once_whatever_becomes_of_it() {
    let study = study(&warmed_up(2));
    let begun = Progress::new(&study, &[]);
    assert_eq!(begun.seconds_left(&[10.0, 20.0, 30.0, 40.0]), 1_400.0);
    assert_eq!(begun.seconds_after("size 4", &[10.0, 20.0, 30.0, 40.0]), 1_370.0);
    assert_eq!(begun.runs(), 56);
    let folder = tempfile::tempdir().unwrap();
    let mut runner = FakeRunner { spoilt: Some(("size 4", 2, 1)), ..FakeRunner::new() };
    let (complete, progress) = carry(&study, folder.path(), &mut runner);
    assert!(complete && progress.seconds_left(&[10.0; 4]) == 0.0);
    assert_eq!(progress.seconds_after("size 4", &[10.0; 4]), 0.0);
    assert_eq!(progress.runs(), 57, "one was tried again");
    let tries = |warm_up: bool| {
        let of_block = runner.made.iter().filter(|wanted| wanted.block == 2 && wanted.name == "size 4");
        of_block.filter(|wanted| wanted.warm_up == warm_up).count()
    };
    assert_eq!((tries(true), tries(false)), (1, 2));
    assert!(progress.warmed_up().iter().any(|run| !run.valid));
    let said = concluded(&study, &progress);
    assert_eq!((said.excluded.len(), said.configurations[2].dropped), (1, 1), "the judged one alone");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_study_that_was_stopped_anywhere_goes_on_exactly(
        stop_at in 0..48usize, spoilt in 1..12u32, times in 0..3u32, warm_up in 0..3u32,
    ) {
        let study = study(&warmed_up(warm_up));
        let runner = || FakeRunner { spoilt: Some(("size 2", spoilt, times)), ..FakeRunner::new() };
        let whole = tempfile::tempdir().unwrap();
        let mut straight = runner();
        let (_, expected) = carry(&study, whole.path(), &mut straight);
        let folder = tempfile::tempdir().unwrap();
        let mut first = FakeRunner { stop_at: Some(stop_at), ..runner() };
        prop_assert!(!carry(&study, folder.path(), &mut first).0);
        let mut second = runner();
        let (complete, progress) = carry(&study, folder.path(), &mut second);
        prop_assert!(complete);
        let both: Vec<_> = first.made.into_iter().chain(second.made).collect();
        prop_assert_eq!(both, straight.made);
        let (mut stopped, mut expected) = (concluded(&study, &progress), concluded(&study, &expected));
        // Runs of a restarted process have other names.
        stopped.excluded.iter_mut().chain(&mut expected.excluded).for_each(|run| run.run.clear());
        stopped.runs.iter_mut().chain(&mut expected.runs).for_each(|run| run.run.clear());
        prop_assert_eq!(format!("{stopped:?}"), format!("{expected:?}"));
    }
}

#[test]
fn a_run_that_cannot_be_used_is_tried_again_at_the_end_of_its_block_and_then_left_out() {
    let study = study(STUDY);
    for (times, tries) in [(1, 2), (2, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let mut runner = FakeRunner { spoilt: Some(("size 4", 3, times)), ..FakeRunner::new() };
        let (complete, progress) = carry(&study, folder.path(), &mut runner);
        assert!(complete);
        let block: Vec<&Slot> = runner.made.iter().filter(|wanted| wanted.block == 3).collect();
        assert_eq!(block.len(), 3 + tries);
        assert_eq!((block[4].name.as_str(), block[4].attempt), ("size 4", 2));
        let said = concluded(&study, &progress);
        assert_eq!(said.excluded.len(), times as usize);
        assert_eq!(said.excluded[0].reasons, ["not valid: the machine was busy"]);
        let row = said.metrics[0].rows.iter().find(|row| row.configuration == "size 4").unwrap();
        assert_eq!(row.pairs, if times == 1 { 12 } else { 11 });
        assert_eq!((row.ratios.len(), said.runs.len()), (row.pairs as usize, 36 + row.pairs as usize));
    }
}

#[test]
fn conclusions_hold_the_runs_and_the_pairs_that_they_rest_on() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let said = concluded(&study, &progress);
    let figure = |configuration: &str, block: u32| {
        let of_it = |run: &&RunRecord| run.configuration == configuration && run.block == block;
        said.runs.iter().find(of_it).unwrap().figures[0].value
    };
    let [baseline, row] = [0, 2].map(|at| &said.metrics[0].rows[at]);
    assert!(baseline.ratios.is_empty(), "a baseline is held against nothing");
    assert_eq!((row.configuration.as_str(), row.ratios.len()), ("size 4", 12));
    for (block, ratio) in (1..).zip(&row.ratios) {
        let expected = figure("size 4", block) / figure("size 1", block);
        assert!((ratio / expected - 1.0).abs() < 1e-12, "block {block}: {ratio} is not {expected}");
    }
    assert_eq!(said.found.len(), 4, "both sizes are faster and slower than the smallest: {:?}", said.found);
    assert!(said.found.iter().all(|found| said.sentences.contains(found)));
    let names: Vec<&str> = said.runs.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(
        (names[0], names[47], names.len()),
        ("run-1", "run-48", 48),
        "in the order in which they were made"
    );
}

#[test]
fn a_killed_run_counts_as_not_made() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let mut first = FakeRunner { stop_at: Some(5), ..FakeRunner::new() };
    carry(&study, folder.path(), &mut first);
    // The run broken off by a kill began and never ended, and its line may be cut.
    let path = folder.path().join("study.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let kept = text.replace("{\"kind\":\"interrupted\"}\n", "");
    assert_ne!(kept, text);
    std::fs::write(&path, kept).unwrap();
    let mut second = FakeRunner::new();
    assert!(carry(&study, folder.path(), &mut second).0);
    assert_eq!(first.made.len() + second.made.len(), 48);
}

#[test]
fn a_planted_effect_is_found_with_its_size_and_the_control_is_the_same() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let said = concluded(&study, &progress);
    // A thousandth in the first block to twelve in the last.
    for configuration in &said.configurations {
        let (usual, most) = configuration.stolen.unwrap();
        assert!((usual - 0.0065).abs() < 1e-12 && most == 0.012, "{configuration:?}");
    }
    let throughput = &said.metrics[0];
    assert!(throughput.noise_floor.is_some_and(|floor| floor < 0.02), "{throughput:?}");
    for (name, truth) in [("size 2", 2f64.powf(0.8)), ("size 4", 4f64.powf(0.8))] {
        let row = throughput.rows.iter().find(|row| row.configuration == name).unwrap();
        assert_eq!((row.finding, row.pairs), (FindingRecord::Better, 12));
        assert!(row.low < truth && truth < row.high && row.high / row.low < 1.04, "{row:?} {truth}");
    }
    let control = throughput.rows.iter().find(|row| row.control).unwrap();
    assert_eq!(control.finding, FindingRecord::Equivalent, "{control:?}");
    assert!(conclude::believable(&said) && said.warnings.is_empty(), "{:?}", said.warnings);
    assert_eq!(said.metrics[1].rows[1].finding, FindingRecord::Worse, "longer response times are worse");
    // Twice the size takes 20 ms, the smallest 10 ms: 15 ms are reached at 1.5.
    let crossing = &said.crossings[0];
    assert!((crossing.at.unwrap() - 1.5).abs() < 0.02 && crossing.reached > 0.999, "{crossing:?}");
    assert!(crossing.low <= crossing.at.unwrap() && crossing.at.unwrap() <= crossing.high);
    let points = &said.scaling[0].points;
    assert_eq!(points.iter().map(|p| p.n).collect::<Vec<_>>(), [1.0, 2.0, 4.0]);
    assert!((points[2].efficiency - 4f64.powf(-0.2)).abs() < 0.02, "{points:?}");
    assert!(points.iter().all(|p| p.low <= p.x && p.x <= p.high));
    assert!(
        said.sentences.iter().any(|s| s.contains("throughput is better than with size 1")),
        "{:?}",
        said.sentences
    );
}

#[test]
fn what_is_not_shown_is_called_so() {
    let few = study(&STUDY.replace("repeats = 12", "repeats = 3"));
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&few, folder.path(), &mut FakeRunner::new());
    let said = concluded(&few, &progress);
    assert!(said.metrics[0].rows.iter().skip(1).all(|row| row.finding == FindingRecord::Undecided));
    assert!(
        said.sentences[0].contains("no difference shown in throughput against size 1"),
        "{:?}",
        said.sentences
    );
    assert!(said.warnings.iter().any(|w| w.starts_with("Fewer than 6 pairs")), "{:?}", said.warnings);
}

#[test]
fn a_control_that_differs_from_itself_is_told_and_nothing_is_believed() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let mut drifting = Progress::new(&study, &[]);
    for run in progress.ended() {
        let mut run = run.clone();
        if run.started.configuration == CONTROL {
            run.figures[0].value *= 1.1;
        }
        drifting.add(run);
    }
    let said = concluded(&study, &drifting);
    assert!(!conclude::believable(&said));
    assert!(
        said.warnings[0].starts_with("The control differs from itself in throughput: +1"),
        "{:?}",
        said.warnings
    );
}

/// Findings with this figure in every run, and with bounds only: all equivalent, and undecided.
fn as_bounds(study: &Study, progress: &Progress, figure: &Figure) -> [Conclusions; 2] {
    let said = |bound: Option<&str>| {
        let mut bounded = Progress::new(study, &[]);
        for run in progress.ended() {
            let mut run = run.clone();
            run.figures[0] = figure.clone();
            run.at_least = bound.map(|words| SearchBound::Words { words: words.to_owned() });
            bounded.add(run);
        }
        concluded(study, &bounded)
    };
    let exact = said(None);
    assert!(exact.metrics[0].rows.iter().skip(1).all(|row| row.finding == FindingRecord::Equivalent));
    let bounded = said(Some("the most users allowed"));
    assert!(bounded.metrics[0].rows.iter().skip(1).all(|row| row.finding == FindingRecord::Undecided));
    [exact, bounded]
}

/// Every search ends at the highest level allowed, so all capacities are 500, a lower bound only.
#[test]
fn capacities_that_are_only_a_bound_are_not_the_same() {
    let text = STUDY.replace("throughput", "capacity");
    let study = study(&text);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let [exact, bounded] = as_bounds(&study, &progress, &Figure::new("capacity", 500.0));
    // As text, because NaN differs from itself.
    assert_eq!(
        format!("{:?}", bounded.metrics[1]),
        format!("{:?}", exact.metrics[1]),
        "others are as they are"
    );
    let warned: Vec<&String> =
        bounded.warnings.iter().filter(|w| w.contains("the capacity is at least 500")).collect();
    assert_eq!(warned.len(), 5, "{:?}", bounded.warnings);
    assert!(warned[0].ends_with("; the search was bounded by the most users allowed."), "{}", warned[0]);
    assert!(bounded.warnings.iter().any(|w| w.starts_with("The capacity of 43 more runs is only a bound")));
    assert!(
        bounded.warnings.iter().any(|w| w.starts_with("The control is not shown to be the same as itself"))
    );
}

const DIVIDED: &str = r#"
question = "What is a node worth?"
plan = "p.toml"
repeats = 8
[[factor]]
name = "nodes"
levels = [
    { name = "1", set = { deploy.application_nodes = 1 } },
    { name = "2", set = { deploy.application_nodes = 2 } },
    { name = "0", set = { deploy.application_nodes = 0 } },
]
[[metric]]
of = "throughput"
[[metric]]
of = "throughput"
per = "deploy.application_nodes"
"#;

/// One node does 100 operations/s in the first block, 200 in the second and so on; two do 1.8 times as many, none half.
fn divided(study: &Study) -> Progress {
    let mut progress = Progress::new(study, &[]);
    for block in 1..=8 {
        for (name, nodes, times) in
            [("nodes 1", 1.0, 1.0), ("nodes 2", 2.0, 1.8), ("nodes 0", 0.0, 0.5), (CONTROL, 1.0, 1.0)]
        {
            let (mut figures, mut missing) = (Vec::new(), Vec::new());
            for metric in &study.metrics {
                let measured = |of: Metric, _: Option<&str>| {
                    (of == Metric::Throughput).then_some(100.0 * f64::from(block) * times)
                };
                let planned = |key: &str| (key == "deploy.application_nodes").then_some(nodes);
                match figure(metric, measured, planned) {
                    Ok(value) => figures.push(Figure::new(&metric.label, value)),
                    Err(why) => missing.push(MissingFigure { metric: metric.label.clone(), why }),
                }
            }
            let (configuration, run) = (name.to_owned(), format!("{name} {block}"));
            let started = RunStarted { block, configuration, attempt: 1, run, warm_up: false };
            progress.add(RunEnded { missing, ..ended(started, figures) });
        }
    }
    progress
}

#[test]
fn a_metric_that_is_divided_is_compared_by_its_quotients() {
    let study = study(DIVIDED);
    let said = concluded(&study, &divided(&study));
    let [whole, per_node] = said.metrics.as_slice() else { panic!("{:?}", said.metrics) };
    assert_eq!((whole.label.as_str(), whole.unit.as_str()), ("throughput", "operations/s"));
    let label = "throughput per deploy.application_nodes";
    let unit = "operations/s per deploy.application_nodes";
    assert_eq!((per_node.label.as_str(), per_node.unit.as_str()), (label, unit));
    assert!(per_node.more_is_better, "as of what is divided");
    // The median of 100, 200 ... 800 is 450. Two nodes: 1.8 times that, and by their number 0.9 times.
    for (metric, median, ratio, finding) in
        [(whole, 810.0, 1.8, FindingRecord::Better), (per_node, 405.0, 0.9, FindingRecord::Worse)]
    {
        assert!((metric.rows[0].median - 450.0).abs() < 1e-9, "{:?}", metric.rows[0]);
        let row = &metric.rows[1];
        assert_eq!((row.configuration.as_str(), row.pairs, row.finding), ("nodes 2", 8, finding));
        assert!((row.median - median).abs() < 1e-9, "{row:?}");
        assert!([row.ratio, row.low, row.high].iter().all(|found| (found - ratio).abs() < 1e-9), "{row:?}");
    }
    let sentence = "nodes 2: throughput per deploy.application_nodes is worse than with nodes 1: −10.0 %,";
    assert!(per_node.sentences[0].starts_with(sentence), "{:?}", per_node.sentences);
}

#[test]
fn a_figure_that_cannot_be_divided_is_missing_and_says_why() {
    let study = study(DIVIDED);
    let said = concluded(&study, &divided(&study));
    let without = &said.metrics[1].rows[2];
    assert_eq!((without.configuration.as_str(), without.runs, without.pairs), ("nodes 0", 0, 0));
    assert_eq!(said.metrics[0].rows[2].runs, 8, "its throughput is known");
    let why = "There is no figure of throughput per deploy.application_nodes in 8 of 32 valid runs (of nodes 0): \
               deploy.application_nodes is 0, and nothing can be divided by it.";
    let told: Vec<&String> = said.warnings.iter().filter(|warning| warning.contains("no figure")).collect();
    assert_eq!(told, [why]);
}

#[test]
fn a_bound_stays_one_when_it_is_divided() {
    let label = "capacity per deploy.application_nodes";
    let capacity = "of = \"capacity\"\nper = \"deploy.application_nodes\"";
    let study = study(&STUDY.replace("of = \"throughput\"\nscaling = true", capacity));
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let [_, bounded] = as_bounds(&study, &progress, &Figure::new(label, 62.5));
    let told = "control (A/A) in block 1: the capacity per deploy.application_nodes is at least 62.5; the search was bounded \
                by the most users allowed.";
    assert!(bounded.warnings.iter().any(|warning| warning == told), "{:?}", bounded.warnings);
    assert!(bounded.scaling.is_empty(), "what is divided is no speed of the whole");
}

#[test]
fn so_many_comparisons_want_more_pairs_than_there_are() {
    let few = study(&STUDY.replace("repeats = 12", "repeats = 7"));
    assert!(barograph_study::too_few_blocks(&few).is_some_and(|why| why.contains("repeats = 8")));
    assert_eq!(barograph_study::too_few_blocks(&study(STUDY)), None);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&few, folder.path(), &mut FakeRunner::new());
    let said = concluded(&few, &progress);
    assert!(said.metrics[0].rows.iter().skip(1).all(|row| row.finding != FindingRecord::Better));
    assert!(
        said.warnings.iter().any(|w| w.starts_with("Fewer than 8 pairs: with 4 comparisons")),
        "{said:?}"
    );
}

/// Notes on a configuration with few pairs do not appear on the others.
#[test]
fn a_control_with_few_pairs_hides_nothing_and_is_told() {
    let study = study(STUDY);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let mut fewer = Progress::new(&study, &[]);
    let kept = |run: &&RunEnded| run.started.configuration != CONTROL || run.started.block <= 5;
    progress.ended().iter().filter(kept).for_each(|run| fewer.add(run.clone()));
    let said = concluded(&study, &fewer);
    assert_eq!(said.metrics[0].rows[1].finding, FindingRecord::Better);
    let warned = |begin: &str| said.warnings.iter().any(|warning| warning.starts_with(begin));
    assert!(warned("Fewer than 6 pairs of control (A/A): there no 95 % interval"), "{:?}", said.warnings);
    assert!(!warned("Fewer than 6 pairs: "), "{:?}", said.warnings);
    assert!(warned("The noise floor of throughput and "), "{:?}", said.warnings);
}

/// One configuration that lost a run has no effect on those that lost none.
#[test]
fn one_configuration_with_enough_pairs_can_be_found() {
    let eight = study(&STUDY.replace("repeats = 12", "repeats = 8"));
    let folder = tempfile::tempdir().unwrap();
    let mut runner = FakeRunner { spoilt: Some(("size 4", 3, 2)), ..FakeRunner::new() };
    let (_, progress) = carry(&eight, folder.path(), &mut runner);
    let said = concluded(&eight, &progress);
    let found = |row: usize| (said.metrics[0].rows[row].pairs, said.metrics[0].rows[row].finding);
    assert_eq!((found(1).1, found(1).0, found(2).0), (FindingRecord::Better, 8, 7));
    assert!(!said.warnings.iter().any(|w| w.contains("nothing can be found better or worse")), "{said:?}");
}

#[test]
fn a_width_that_is_sought_ends_the_study_when_it_is_reached_or_at_the_most() {
    let blocks = |repeats: u32, width: &str| {
        let asked = format!("repeats = {repeats}\nmost_repeats = 14\nwidth = {width}");
        let study = study(&STUDY.replace("repeats = 12", &asked));
        let folder = tempfile::tempdir().unwrap();
        let (complete, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
        if complete { progress.whole_blocks() } else { 0 }
    };
    // After five blocks there is no interval, after six the first that is narrow, and it takes two in a row.
    assert_eq!([blocks(6, "0.5"), blocks(7, "0.5"), blocks(9, "0.5")], [7, 7, 9]);
    assert_eq!(blocks(6, "0.000001"), 14);
    // Without factors it is the control whose interval is to be narrow.
    let text = "question = \"q\"\nplan = \"p\"\nrepeats = 6\nmost_repeats = 14\nwidth = 0.5\n[[metric]]\nof = \"throughput\"\n";
    let folder = tempfile::tempdir().unwrap();
    let (complete, progress) = carry(&study(text), folder.path(), &mut FakeRunner::new());
    assert!(complete && progress.whole_blocks() == 7);
}

#[test]
fn without_factors_the_control_is_the_answer() {
    let text = "question = \"q\"\nplan = \"p\"\nrepeats = 8\n[[metric]]\nof = \"throughput\"\n";
    let study = study(text);
    assert_eq!(places(&study), ["as planned", CONTROL]);
    let folder = tempfile::tempdir().unwrap();
    let (_, progress) = carry(&study, folder.path(), &mut FakeRunner::new());
    let said = concluded(&study, &progress);
    assert!(
        said.sentences[0].starts_with("control (A/A): throughput is the same as with as planned"),
        "{:?}",
        said.sentences
    );
}
