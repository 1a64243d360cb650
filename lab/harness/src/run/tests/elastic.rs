//! Nodes that follow the load: a rule of known delay in simulated time, and the entries of the record.

use barograph_record::{ElasticFigure, SupplyRecord};

use super::*;
use crate::testing::{ActionDurations, COMMON_KEYS};

/// One node holds 12 users, two 25, three 60.
const CURVE: &str = "about = \"by hand\"\n[[nodes]]\ncount = 1\nload = 12\n[[nodes]]\ncount = 2\nload = 25\n\
                     [[nodes]]\ncount = 3\nload = 60\nlow = 28\n";

/// Runs 4 s of a load that steps from 10 to 30 and back to 10 users, on three nodes that take 250 ms to
/// start and 100 ms to stop.
fn followed(keys: &[&str]) -> Kept {
    followed_by(TestWorkload::default(), keys)
}

fn followed_by(workload: TestWorkload, keys: &[&str]) -> Kept {
    let root = tempfile::tempdir().unwrap();
    let ground = SimulatedHost::default();
    let [stop, start, move_] = [100, 250, 400].map(barograph_model::Nanos::from_millis);
    let slow = Some(ActionDurations { time: ground.time.clone(), stop, start, move_ });
    let platform = FakePlatform { slow, ..here() };
    let curve = root.path().join("demand.toml");
    std::fs::write(&curve, CURVE).unwrap();
    let demand = format!("elasticity.demand={}", curve.display());
    let path = "load.path=[{users=10,hold_s=0.9},{users=30,hold_s=1},{users=10,hold_s=1.8}]";
    let of_all = ["load.strategy=path", path, "elasticity.tier=application", &demand];
    let keys: Vec<&str> = of_all.into_iter().chain(keys.iter().copied()).collect();
    let workload = TestWorkload { ground: Some(ground), behind: 3, ..workload };
    let finished = run_with(root.path(), &platform, workload, (&keys, &mut SilentScreen::default())).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    Kept::open(&finished.dir).unwrap()
}

fn supplies(kept: &Kept) -> Vec<(f64, u32, u32)> {
    let of = |supply: &SupplyRecord| {
        assert_eq!(supply.tier, "application");
        (supply.at_s, supply.ready, supply.running)
    };
    kept.supplies().map(of).collect()
}

/// Asserts figures to four digits.
fn figures(kept: &Kept, expected: &[(&str, f64)]) {
    let all = kept.elastic_figures();
    for (id, value) in expected {
        let Some(ElasticFigure { value: found, .. }) = all.iter().find(|figure| figure.id == *id) else {
            panic!("{id} is none of {all:?}");
        };
        assert!((found - value).abs() <= 5e-5 * value.abs().max(1.0), "{id} is {found}, expected {value}");
    }
}

/// The load changes 2 ms after the start and, as drivers are told of it 20 ms ahead, at 1.02 s and 2.12 s. The rule looks every
/// half second and wants 10 users for each node: at 1.5 s it asks for three nodes, which are ready at 1.75 s. At 3 s the wish
/// for three of 2 s is forgotten, and two stop within 100 ms. The drain begins at 4 s.
///
/// Too few: 2 of 3 for 0.73 s. Too many: 2 beside 1 for 0.88 s. Of 40 looks four see one of both change.
#[test]
fn a_rule_of_known_delay_has_the_metrics_computed_by_hand() {
    let kept = followed(&[
        "elasticity.first_nodes=1",
        "elasticity.scaler=load",
        "elasticity.target=10",
        "elasticity.every_s=0.5",
        "elasticity.settle_s=0.5",
    ]);
    let levels: Vec<(f64, u32)> = kept.levels().map(|level| (level.at_s, level.level.whole())).collect();
    assert_eq!(levels, [(0.002, 10), (1.02, 30), (2.12, 10)]);
    let expected = [(0.0, 1, 1), (1.5, 1, 3), (1.75, 3, 3), (3.0, 1, 3), (3.1, 1, 1)];
    assert_eq!(supplies(&kept), expected);
    let actions: Vec<(f64, &str)> = kept.actions().map(|action| (action.at_s, action.act.as_str())).collect();
    assert_eq!(
        actions,
        [
            (1.5, "scale to 3: application-2, application-3 started"),
            (3.0, "scale to 1: application-2, application-3 stopped"),
        ]
    );
    figures(
        &kept,
        &[
            ("under_accuracy", 12.1667),
            ("over_accuracy", 44.0),
            ("under_time", 18.25),
            ("over_time", 22.0),
            ("instability", 10.0),
            ("jitter", 0.0),
            // (12.1667^4 + 44^4 + 18.25^4 + 22^4)^(1/4)
            ("elastic_deviation", 45.0399),
            // One node throughout: 2 of 3 are missing for 1.1 s, (18.3333^4 + 27.5^4)^(1/4).
            ("fixed_deviation", 28.7676),
            ("violation_time", 0.0),
            // 1.5 s of one node, 1.6 s of three, 0.9 s of one.
            ("node_seconds", 7.2),
            ("demanded_node_seconds", 6.2),
        ],
    );
    // Of three nodes that hold 28 users at the least, 30 need a fourth: 3 of 4 are missing for 0.73 s, then 1 of 4 for 0.37 s.
    let all = kept.elastic_figures();
    let under = all.iter().find(|figure| figure.id == "under_accuracy").unwrap().within.unwrap();
    assert!((under.0 - 12.1667).abs() < 1e-3 && (under.1 - 16.0).abs() < 1e-3, "{under:?}");
    let demand = kept.demand().unwrap();
    assert_eq!((demand.about.as_str(), demand.nodes.len(), demand.nodes[2].high), ("by hand", 3, None));
}

/// The decisions are those of the rule above, at the same times.
#[test]
fn the_autoscaler_of_the_platform_decides_and_the_harness_carries_it_out() {
    let limited = TestWorkload { cpus: Some(0.5), ..TestWorkload::default() };
    let keys = ["elasticity.first_nodes=1", "elasticity.scaler=platform", "elasticity.settle_s=0.5"];
    let kept = followed_by(limited, &keys);
    let expected = [(0.0, 1, 1), (1.5, 1, 3), (1.75, 3, 3), (3.0, 1, 3), (3.1, 1, 1)];
    assert_eq!(supplies(&kept), expected);
    let acts: Vec<&str> = kept.actions().map(|action| action.act.as_str()).collect();
    assert_eq!(
        acts,
        [
            "scale to 3: application-2, application-3 started",
            "scale to 1: application-2, application-3 stopped",
        ]
    );
    figures(&kept, &[("under_time", 18.25), ("over_time", 22.0), ("node_seconds", 7.2)]);
    let problems: Vec<(f64, &str)> = kept.notes().filter(|(_, note)| note.contains("autoscaler")).collect();
    assert_eq!(problems, [(0.5, "the platform's autoscaler cannot decide: no metrics")]);
}

#[test]
fn a_schedule_and_a_restart_change_the_supply_and_a_rule_is_not_needed() {
    let actions = "actions=[{at_s=0.5,unit=\"application\",act=\"scale\",count=2},{at_s=1,unit=\"application-1\",act=\"restart\"},\
                   {at_s=2,unit=\"application-2\",act=\"stop\"},{at_s=2.5,unit=\"web-1\",act=\"restart\"}]";
    let kept = followed(&[actions]);
    let told = supplies(&kept);
    let stopped = told.iter().find(|(at_s, ..)| *at_s == 2.0).unwrap();
    assert_eq!(*stopped, (2.0, 1, 2));
    assert_eq!(told[..5], [(0.0, 3, 3), (0.5, 2, 3), (0.6, 2, 2), (1.0, 1, 2), (1.35, 2, 2)]);
    assert_eq!(told.last().unwrap().1, 1, "the web server is of another tier: {told:?}");
}

#[test]
fn a_plan_that_the_tiers_cannot_follow_is_refused() {
    let refused = |behind: usize, keys: &[&str]| {
        let keys = ["load.strategy=fixed", "load.users=1"].iter().chain(keys);
        let sets: Vec<String> = keys.map(|key| (*key).to_owned()).collect();
        let plan = barograph_spec::read(COMMON_KEYS, "p", "", &sets).unwrap();
        let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
        let workload = TestWorkload { behind, ..TestWorkload::default() };
        check_all(&plan, vec![Arc::new(workload)], machine).err().unwrap().to_string()
    };
    let tier = "elasticity.tier=application";
    let one = refused(1, &[tier]);
    assert!(
        one.contains("`elasticity.tier` = \"application\"\n  allowed: left out where no tier has"),
        "{one}"
    );
    let other = refused(3, &["elasticity.tier=web"]);
    assert!(
        other.contains("a tier of several nodes behind a balancer or web server: application"),
        "{other}"
    );
    let many = refused(3, &[tier, "elasticity.first_nodes=4"]);
    assert!(
        many.contains("`elasticity.first_nodes` = 4\n  allowed: at most 3, the nodes of application"),
        "{many}"
    );
    let of_platform = [tier, "elasticity.scaler=platform"];
    let unlimited = refused(3, &of_platform);
    assert!(
        unlimited.contains(
            "`elasticity.scaler` = \"platform\"\n  allowed: where the nodes of application have a limit"
        ) && unlimited.contains("set deploy.application_cpus"),
        "{unlimited}"
    );
    let elsewhere = refused(3, &[&of_platform[..], &["platform=apart"]].concat());
    assert!(elsewhere.contains("allowed: on a platform with an autoscaler; apart has none"), "{elsewhere}");
    let missing = refused(3, &[tier, "elasticity.demand=nowhere.toml"]);
    assert!(
        missing.contains("`elasticity.demand` = \"nowhere.toml\"\n  allowed: a file of text"),
        "{missing}"
    );
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("rates.toml");
    std::fs::write(&file, format!("unit = \"rate\"\n{CURVE}")).unwrap();
    let rates = refused(3, &[tier, &format!("elasticity.demand={}", file.display())]);
    assert!(rates.contains("in starts/s\n  allowed: a curve of loads in users"), "{rates}");
}
