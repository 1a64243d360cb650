//! Tiles in simulated time: scores, staggered ramps, searches over tiles, and the load that breaks its rules.

use std::sync::Arc;

use barograph_workload::Workload;

use super::together::{checked_all, run_all, there};
use super::*;
use crate::testing::JamRule;

/// Two loads in a tile, on targets that exist already: four users, and twenty.
const TILE: &str = "[[loads]]\nname = \"few\"\nload.users = 4\ntarget.url = \"http://127.0.0.1:9/\"\n\
                    [[loads]]\nname = \"many\"\nload.users = 20\ntarget.url = \"http://127.0.0.1:9/\"\n";

/// Operations per second of a user.
const OF_A_USER: f64 = 50.0;

/// Runs these tiles against a reference of one tile without any wait; targets of `many` jam.
fn run_tiles(root: &Path, tiles: usize, more: &[&str], jams: Option<JamRule>) -> (RunResult, Kept) {
    let reference = root.join("reference.toml");
    let rates = format!(
        "about = \"r\"\n[rates.few]\nrate = {}\n[rates.many]\nrate = {}\n",
        4.0 * OF_A_USER,
        20.0 * OF_A_USER
    );
    std::fs::write(&reference, rates).unwrap();
    let reference = format!("load.reference={}", reference.display());
    let number = format!("tiles={tiles}");
    let sets: Vec<&str> = more.iter().copied().chain([number.as_str(), reference.as_str()]).collect();
    let ground = SimulatedHost::default();
    let mut workloads = Vec::new();
    for tile in 0..tiles {
        let first = if tile == 0 { ground.clone() } else { SimulatedHost::default() };
        workloads.extend([there(&first, None), there(&SimulatedHost::default(), jams)]);
    }
    run_all(root, (TILE, &sets), ground, workloads)
}

/// Levels of all loads in each window.
fn levels(kept: &Kept) -> Vec<Vec<u32>> {
    let windows = kept.loads[0].trials().count();
    let level = |at: usize| -> Vec<u32> {
        kept.loads.iter().map(|load| load.trials().nth(at).unwrap().level.whole()).collect()
    };
    (0..windows).map(level).collect()
}

#[test]
fn two_tiles_have_a_score_with_an_interval() {
    let root = tempfile::tempdir().unwrap();
    let (finished, kept) = run_tiles(root.path(), 2, &["load.windows=3"], None);
    assert_eq!(finished.exit, ExitCode::Fine);
    assert_eq!(kept.load_names(), ["few-1", "many-1", "few-2", "many-2"]);
    assert_eq!(levels(&kept), vec![vec![4, 20, 4, 20]; 3]);
    let tiles = kept.tiles().unwrap();
    assert_eq!((tiles.count(), tiles.reference.as_str()), (2, "r"));
    let score = kept.verdict().unwrap().score.clone().unwrap();
    assert_eq!((score.name().as_str(), score.windows.len(), score.terms.len()), ("2.00 @ 2 tiles", 3, 4));
    assert!(score.low.unwrap() <= score.score && score.score <= score.high.unwrap(), "{score:?}");
    let metric = |metric| kept.metric(metric, None).unwrap();
    use barograph_model::Metric::{Fairness, LeastRatio, Score};
    assert!((metric(Score) - 2.0).abs() < 0.01 && metric(LeastRatio) > 0.99 && metric(Fairness) > 0.999);
    let sentence = finished.verdict.unwrap().sentence;
    assert!(
        sentence.starts_with("All 4 loads kept their rules. Score 2.00 @ 2 tiles (95 % interval "),
        "{sentence}"
    );
}

/// The loads, the first of them on an application that the run deploys, whose part restarts once in every window.
const RESTARTED: &str = "[[loads]]\nname = \"few\"\nload.users = 4\n\
                         [[loads]]\nname = \"many\"\nload.users = 20\ntarget.url = \"http://127.0.0.1:9/\"\n\
                         [[actions]]\nat_s = 0.5\nevery_s = 1\nunit = \"application-1\"\nact = \"restart\"\n";

#[test]
fn operations_of_the_plan_are_a_fifth_of_the_score() {
    let root = tempfile::tempdir().unwrap();
    let reference = root.path().join("reference.toml");
    let rates = format!("[rates.few]\nrate = {}\n[operations.restart]\nper_hour = 1800\n", 4.0 * OF_A_USER);
    std::fs::write(&reference, rates).unwrap();
    let reference = format!("load.reference={}", reference.display());
    let ground = SimulatedHost::default();
    let here = TestWorkload { ground: Some(ground.clone()), ..TestWorkload::default() };
    let workloads: Vec<Arc<dyn Workload>> = vec![Arc::new(here), there(&SimulatedHost::default(), None)];
    let sets = ["tiles=1", "load.windows=3", reference.as_str()];
    let (finished, kept) = run_all(root.path(), (RESTARTED, &sets), ground, workloads);
    assert_eq!(finished.exit, ExitCode::Fine);
    let score = kept.verdict().unwrap().score.clone().unwrap();
    let [operation] = &score.operations[..] else { panic!("{score:?}") };
    // Three in windows of 3 s in all.
    assert_eq!((operation.act.as_str(), operation.done, operation.failed), ("restart", 3, 0));
    assert!((operation.per_hour - 3600.0).abs() < 1.0 && (operation.ratio - 2.0).abs() < 1e-3, "{score:?}");
    let applications = score.applications.unwrap();
    assert!((score.score - (0.8 * applications + 0.2 * operation.ratio)).abs() < 1e-9, "{score:?}");
    let sentence = finished.verdict.unwrap().sentence;
    assert!(sentence.contains("applications 1.00 and operations 2.00"), "{sentence}");
}

/// The second tile's users come after those of the first.
#[test]
fn ramps_of_tiles_are_staggered_and_end_together() {
    let root = tempfile::tempdir().unwrap();
    let (_, kept) = run_tiles(root.path(), 2, &["load.stagger_s=2", "load.ramp_s=1"], None);
    let users = |load: usize, at_s: f64| {
        kept.loads[load].intervals().find(|interval| interval.to_s > at_s).unwrap().users
    };
    assert_eq!([users(1, 1.5), users(3, 1.5)], [20, 0]);
    assert_eq!([users(1, 3.5), users(3, 3.5)], [20, 20]);
    let ends: Vec<f64> = kept.loads.iter().map(|load| load.trials().next().unwrap().window.to_s).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
}

#[test]
fn a_stagger_of_a_search_is_noted_once() {
    let root = tempfile::tempdir().unwrap();
    let noted = |sets: &[&str]| {
        let sets = [&["tiles=1", "load.stagger_s=2"], sets].concat();
        let workloads = (0..2).map(|_| there(&SimulatedHost::default(), None)).collect();
        let loads = checked_all(root.path(), (TILE, &sets), workloads).unwrap();
        let notes = loads.into_iter().flat_map(|load| load.checked.notes);
        notes.filter(|note| note.starts_with("load.stagger_s does nothing here")).count()
    };
    assert_eq!((noted(&[]), noted(&["load.strategy=search"])), (0, 1));
}

#[test]
fn a_tile_with_an_impossible_load_has_no_score_and_names_it() {
    let root = tempfile::tempdir().unwrap();
    let (finished, kept) = run_tiles(root.path(), 2, &[], Some(JamRule { from: 10, kept_by: 0 }));
    assert_eq!(finished.exit, ExitCode::QosMissed);
    let verdict = finished.verdict.unwrap();
    assert_eq!(verdict.sentence, "2 of 4 loads did not keep their rules. Failed: many-1 and many-2.");
    assert_eq!((verdict.score, kept.metric(barograph_model::Metric::Score, None)), (None, None));
    assert!(verdict.reasons.iter().all(|why| why.starts_with("many-1: ") || why.starts_with("many-2: ")));
}

/// Three tiles, of which the last one's `many` jams.
fn run_three(root: &Path, more: &[&str]) -> Kept {
    let ground = SimulatedHost::default();
    let jams = Some(JamRule { from: 10, kept_by: 10 });
    let mut workloads = vec![there(&ground, None)];
    workloads.extend((0..4).map(|_| there(&SimulatedHost::default(), None)));
    workloads.push(there(&SimulatedHost::default(), jams));
    let sets: Vec<&str> = more.iter().copied().chain(["tiles=3", "load.scale_of=tiles"]).collect();
    run_all(root, (TILE, &sets), ground, workloads).1
}

#[test]
fn a_search_adds_one_tile_after_another_and_names_both_definitions() {
    let root = tempfile::tempdir().unwrap();
    let search =
        ["load.strategy=search", "load.search=staircase", "load.stride_scale=100", "load.least_gain=0"];
    let kept = run_three(root.path(), &search);
    let expected = [vec![4, 20, 0, 0, 0, 0], vec![4, 20, 4, 20, 0, 0], vec![4, 20, 4, 20, 4, 20]];
    assert_eq!(levels(&kept)[..3], expected);
    let verdict = kept.verdict().unwrap();
    assert_eq!(verdict.capacity, Some(200), "{verdict:?}");
    let sentence = "This machine holds 2 tiles; saturation is at 2 tiles by the last level that passed, and at 3 tiles \
                    by the first that failed.";
    assert_eq!(verdict.sentence, sentence);
}

/// The third tile takes half of its load: ten of its users are one too many.
#[test]
fn a_search_finds_part_of_a_tile() {
    let root = tempfile::tempdir().unwrap();
    let search = [
        "load.strategy=search",
        "load.search=bisect",
        "load.ramp_s=2",
        "load.step_s=1",
        "load.max_trials=12",
    ];
    let kept = run_three(root.path(), &search);
    let capacity = kept.verdict().unwrap().capacity.unwrap();
    assert!((235..=252).contains(&capacity), "{capacity}: {:?}", levels(&kept));
}

#[test]
fn a_reference_must_fit_the_tile() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("r.toml");
    let refused = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let reference = format!("load.reference={}", file.display());
        let workloads = (0..2).map(|_| there(&SimulatedHost::default(), None)).collect();
        let refused = checked_all(root.path(), (TILE, &["tiles=1", &reference]), workloads).err().unwrap();
        assert!(refused.0[0].place.starts_with(&file.display().to_string()), "{refused}");
        let line = refused.0[0].place.rsplit(':').next().unwrap().to_owned();
        (refused.0[0].key.clone(), refused.0[0].allowed.clone(), line)
    };
    let found = |key: &str, allowed: &str, line: &str| (key.to_owned(), allowed.to_owned(), line.to_owned());
    assert_eq!(
        refused("[rates.other]\nrate = 1\n"),
        found("rates.other", "a load of a tile: few and many", "1")
    );
    let (key, allowed, line) = refused("[rates.few]\nof = \"sales\"\nrate = 1\n");
    assert_eq!((key.as_str(), line.as_str()), ("rates.few.of", "2"));
    assert!(allowed.starts_with("one of throughput, goodput, requests"), "{allowed}");
    assert_eq!(refused("[rates.few]\nrate = 0\n").0, "rates.few.rate");
    assert_eq!(
        refused("[rates.few]\nrate = 1\n[operations.move]\nper_hour = 1\n"),
        found("operations.move", "no operations, because the plan has no actions", "3")
    );
}
