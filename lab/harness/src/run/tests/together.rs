//! Several loads at once: on one clock, each with its own record and verdict.

use std::sync::Arc;

use barograph_record::UnitRecord;
use barograph_workload::Workload;

use super::*;
use crate::testing::{CATALOGUE, JamRule};

/// Two loads on targets that exist already.
const TWO: &str = "[[loads]]\nname = \"few\"\nload.users = 4\ntarget.url = \"http://127.0.0.1:9/\"\n\
                   [[loads]]\nname = \"many\"\nload.users = 20\ntarget.url = \"http://127.0.0.1:9/\"\n";

pub(super) fn there(ground: &SimulatedHost, jams: Option<JamRule>) -> Arc<dyn Workload> {
    let ground = Some(ground.clone());
    Arc::new(TestWorkload { deploys_nothing: true, ground, jams, ..TestWorkload::default() })
}

/// Runs both with these keys; the second load's target jams.
fn run_two(root: &Path, more: &[&str], jams: Option<JamRule>) -> (RunResult, Kept) {
    // Each load has its own simulated time; the run uses that of the first.
    let ground = SimulatedHost::default();
    let workloads = vec![there(&ground, None), there(&SimulatedHost::default(), jams)];
    run_all(root, (TWO, more), ground, workloads)
}

/// Checks the loads of a plan with these keys.
pub(super) fn checked_all(
    root: &Path,
    (text, more): (&str, &[&str]),
    workloads: Vec<Arc<dyn Workload>>,
) -> Result<Vec<CheckedLoad>, barograph_spec::Refusals> {
    let mut sets: Vec<String> = SHORT.iter().map(|set| (*set).to_owned()).collect();
    sets.retain(|set| !set.starts_with("load.users"));
    sets.extend(more.iter().map(|set| (*set).to_owned()));
    sets.push(format!("runs={}", root.display()));
    let plan = barograph_spec::read(CATALOGUE, "p.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"));
    let machine = Machine { open_files: 20_000, free_bytes: None, memory_bytes: None, cores: 2 };
    check_all(&plan, workloads, machine)
}

/// Runs a plan to its end.
pub(super) fn run_all(
    root: &Path,
    plan: (&str, &[&str]),
    ground: SimulatedHost,
    workloads: Vec<Arc<dyn Workload>>,
) -> (RunResult, Kept) {
    let loads = checked_all(root, plan, workloads).unwrap_or_else(|why| panic!("{why}"));
    let (_keep, stop) = Stop::new();
    let finished =
        run_checked(RunClock::of(ground), loads, (stop, &here()), &mut SilentScreen::default()).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert!(kept.complete && kept.damage.is_empty(), "{:?}", kept.damage);
    (finished, kept)
}

#[test]
fn two_loads_have_windows_at_the_same_time_and_a_verdict_each() {
    let root = tempfile::tempdir().unwrap();
    let (finished, kept) = run_two(root.path(), &[], None);
    assert_eq!(
        (finished.exit, kept.load_names()),
        (ExitCode::Fine, &["few".to_owned(), "many".to_owned()][..])
    );
    assert_eq!(finished.verdict.unwrap().sentence, "All 2 loads kept their rules.");
    assert_eq!((kept.trials().count(), kept.intervals().count()), (0, 0), "each load has its own");
    let windows: Vec<(u32, u32, f64, f64)> = kept
        .loads
        .iter()
        .map(|load| load.trials().next().unwrap())
        .map(|trial| (trial.level.whole(), trial.window.users, trial.window.from_s, trial.window.to_s))
        .collect();
    assert_eq!((windows[0].0, windows[1].0), (4, 20));
    assert_eq!((windows[0].1, windows[1].1), (4, 20));
    assert_eq!((windows[0].2, windows[0].3), (windows[1].2, windows[1].3), "aligned");
    for (load, users) in kept.loads.iter().zip([4, 20]) {
        let verdict = load.verdict().unwrap();
        assert!(verdict.passed && verdict.valid, "{verdict:?}");
        assert!(
            verdict.sentence.starts_with(&format!("{users} users at http://127.0.0.1:9/ ")),
            "{verdict:?}"
        );
        assert_eq!(load.phases().len(), kept.phases().len(), "phases are those of the run");
        assert!(load.response_log().unwrap().histograms().all(|found| found.unwrap().op == "Ask"));
        assert!(load.intervals().count() >= 10, "those of the window, and of the drain");
    }
}

#[test]
fn a_scale_is_that_of_every_load() {
    let root = tempfile::tempdir().unwrap();
    let (_, kept) = run_two(root.path(), &["load.scale=150"], None);
    let levels: Vec<u32> =
        kept.loads.iter().map(|load| load.trials().next().unwrap().level.whole()).collect();
    assert_eq!(levels, [6, 30]);
    let of_load = kept.loads[0].trials().next().unwrap().resources;
    assert_eq!((of_load.driver_cpu_us_per_request, of_load.users_per_driver_core), (None, None));
    // A tenth of a core for 36 users at 50 operations per second each.
    let of_all = kept.verdict().unwrap().resources;
    assert!((of_all.driver_cpu_us_per_request.unwrap() / 55.6 - 1.0).abs() < 0.02, "{of_all:?}");
}

#[test]
fn a_run_fails_with_the_load_that_does_and_names_it() {
    let root = tempfile::tempdir().unwrap();
    let (finished, kept) = run_two(root.path(), &[], Some(JamRule { from: 10, kept_by: 0 }));
    assert_eq!(finished.exit, ExitCode::QosMissed);
    let verdict = finished.verdict.unwrap();
    assert_eq!(verdict.sentence, "1 of 2 loads did not keep their rules. Failed: many.");
    assert!(
        !verdict.passed && verdict.reasons.iter().all(|why| why.starts_with("many: Ask ")),
        "{verdict:?}"
    );
    let passed: Vec<bool> = kept.loads.iter().map(|load| load.verdict().unwrap().passed).collect();
    assert_eq!(passed, [true, false]);
}

/// At 185 % the second load has one user too many.
#[test]
fn a_search_scales_all_loads_to_the_edge_of_the_first_that_gives_way() {
    let search = [
        "load.strategy=search",
        "load.search=bisect",
        "load.ramp_s=2",
        "load.step_s=1",
        "load.max_trials=12",
    ];
    let root = tempfile::tempdir().unwrap();
    let (finished, kept) = run_two(root.path(), &search, Some(JamRule { from: 36, kept_by: 36 }));
    let verdict = finished.verdict.unwrap();
    assert_eq!((verdict.unit, verdict.passed), (UnitRecord::Percent, true), "{verdict:?}");
    let capacity = verdict.capacity.unwrap();
    assert!((165..=182).contains(&capacity), "{verdict:?}");
    assert_eq!(verdict.sentence, format!("All 2 loads pass at {capacity} % of each load."));
    assert!(kept.loads.iter().all(|load| load.verdict().unwrap().passed));
}

/// Two loads that deploy, one of them with data sets, and one on the application of the second.
const APART: &str = "[[loads]]\nname = \"shop\"\nload.users = 2\n\
                     [[loads]]\nname = \"bank\"\nload.users = 3\n\
                     [[loads]]\nname = \"guests\"\nload.users = 4\ntarget.url = \"load:bank\"\n";

fn three(ground: &SimulatedHost) -> Vec<Arc<dyn Workload>> {
    let of = |bare, ground: &SimulatedHost| -> Arc<dyn Workload> {
        Arc::new(TestWorkload { bare, ground: Some(ground.clone()), ..TestWorkload::default() })
    };
    vec![of(false, ground), of(true, &SimulatedHost::default()), there(&SimulatedHost::default(), None)]
}

#[test]
fn several_loads_deploy_applications_whose_parts_are_named_apart() {
    let (root, ground) = (tempfile::tempdir().unwrap(), SimulatedHost::default());
    let workloads = three(&ground);
    let (finished, kept) = run_all(root.path(), (APART, &[]), ground, workloads);
    assert_eq!(finished.exit, ExitCode::Fine, "{:?}", finished.verdict);
    let phases: Vec<String> = kept.phases().into_iter().map(|phase| phase.phase).collect();
    let expected = ["check", "fill", "deploy", "ramp", "hold", "drain", "verify", "collect", "remove"];
    assert_eq!(phases, expected);
    let of = |run: &Kept| -> Vec<(String, String, String)> {
        let parts = run.topology().unwrap().parts.iter();
        parts.map(|part| (part.name.clone(), part.load.clone(), part.host.clone())).collect()
    };
    let part = |name: &str, load: &str, host: &str| (name.to_owned(), load.to_owned(), host.to_owned());
    let shop = [part("shop-application-1", "shop", "a-application-1")];
    let bank = [1, 2].map(|n| part(&format!("bank-application-{n}"), "bank", &format!("b-application-{n}")));
    assert_eq!(of(&kept), [&shop[..], &bank[..]].concat());
    assert_eq!(
        (of(&kept.loads[0]), of(&kept.loads[1]), of(&kept.loads[2])),
        (shop.to_vec(), bank.to_vec(), bank.to_vec())
    );
    let fronts: Vec<&str> = kept.topology().unwrap().fronts().collect();
    assert_eq!(fronts, ["shop-application-1", "bank-application-1", "bank-application-2"]);
    // Each has its own data and target.
    let fills: Vec<bool> = kept.loads.iter().map(|load| load.fill().is_some()).collect();
    assert_eq!(fills, [true, false, false]);
    let sentences: Vec<&str> =
        kept.loads.iter().map(|load| load.verdict().unwrap().sentence.as_str()).collect();
    assert!(sentences[1].contains("3 users of the asking application"), "{sentences:?}");
    assert!(sentences[2].contains("4 users at http://127.0.0.1:9,127.0.0.1:9"), "{sentences:?}");
}

#[test]
fn an_action_names_a_part_of_any_load_and_a_refusal_names_the_load() {
    let root = tempfile::tempdir().unwrap();
    let checked = |text: &str, sets: &[&str]| {
        let checked = checked_all(root.path(), (text, sets), three(&SimulatedHost::default()));
        checked.map_or_else(|refused| refused.0, |_| Vec::new())
    };
    let act = |unit: &str| format!("actions=[{{ at_s = 0, unit = {unit:?}, act = \"kill\" }}]");
    assert!(checked(APART, &[&act("bank-application-2")]).is_empty());
    let refused = checked(APART, &[&act("application-1")]);
    let all = "one of shop-application-1, bank-application-1, bank-application-2";
    assert_eq!(
        (refused.len(), refused[0].key.as_str(), refused[0].allowed.as_str()),
        (1, "actions[0].unit", all)
    );
    let refused = checked(&APART.replace("load:bank", "load:guests"), &[]);
    let allowed = "a URL, or one of \"load:shop\", \"load:bank\", the loads that deploy";
    assert_eq!((refused[0].key.as_str(), refused[0].allowed.as_str()), ("loads[2].target.url", allowed));
    let refused = checked(&APART.replace("load.users = 2", "load.users = 61"), &[]);
    assert_eq!((refused.len(), refused[0].key.as_str()), (1, "loads[0].load.users"));
}

/// 20 starts in two seconds beside four users: a window of one second has the starts of one second, at any
/// scale.
#[test]
fn a_trace_beside_another_load_starts_what_it_says() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("day.txt");
    let instants: String = (0..20).map(|n| format!("{}\n", f64::from(n) / 10.0)).collect();
    std::fs::write(&file, instants).unwrap();
    let traced = format!("load.unit = \"rate\"\nload.arrivals = \"trace\"\nload.trace = {file:?}\n");
    let text = TWO.replacen("load.users = 20\n", &traced, 1);
    for scale in ["load.scale=100", "load.scale=300"] {
        let ground = SimulatedHost::default();
        let workloads = vec![there(&ground, None), there(&SimulatedHost::default(), None)];
        let (_, kept) = run_all(root.path(), (&text, &[scale]), ground, workloads);
        let trial = kept.loads[1].trials().next().unwrap();
        let (starts, level) = ((trial.window.starts_s * trial.window.seconds()).round(), trial.level.whole());
        assert_eq!((starts, level), (10.0, 11), "{scale}: {trial:?}");
        std::fs::remove_dir_all(&kept.dir).unwrap();
    }
}

#[test]
fn drivers_that_are_units_have_the_same_cores_for_every_load() {
    let root = tempfile::tempdir().unwrap();
    let refused = |sets: &[&str]| {
        let ground = SimulatedHost::default();
        let workloads = vec![there(&ground, None), there(&ground, None)];
        checked_all(root.path(), (TWO, sets), workloads).err().map(|why| why.to_string())
    };
    let apart = ["driver.place=unit", "loads[1].deploy.driver_cores=0"];
    assert_eq!(
        refused(&apart).unwrap(),
        "--set: `loads[1].deploy.driver_cores` = \"0\"\n  allowed: the same for every load: drivers that are units drive all \
         of them\n  to do:   move it above [[loads]], or set driver.place = \"own\""
    );
    assert_eq!(refused(&["driver.place=unit", "deploy.driver_cores=0"]), None);
    assert_eq!(refused(&apart[1..]), None);
}
