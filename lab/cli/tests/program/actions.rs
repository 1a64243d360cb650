//! Operations on running parts under load: resize, restart, stop, start, and scale of a tier.

use barograph_record::{ActionRecord, Run};
use barograph_test_services::skip;

use crate::deployments::{like, nothing_left, plan};
use crate::going::{PATIENCE_WITH_EMULATION, RunningProgram};
use crate::place::{SIZE, TestFolders, fixed};
use crate::plans::{command, in_order, lacks};

/// Loads a key-value store of this program with 200 commands per second during these actions; `None` if this
/// machine lacks a requirement. `platform` may be followed by further settings.
pub(crate) fn acted(place: &TestFolders, platform: &[&str], window_s: u32, actions: &str) -> Option<Run> {
    let small = ["load.rate=200", "load.ramp_s=1", "load.warm_up_s=1", "load.drain_s=1", "kv.keys=1000"];
    let store = ["deploy.store=embedded", "deploy.append_only=none", "driver.interval_ms=250"];
    let mut sets: Vec<String> = small.into_iter().chain(store).map(str::to_owned).collect();
    sets.push("driver.timeout_s=5".to_owned());
    sets.push(format!("load.window_s={window_s}"));
    let (platform, more) = platform.split_first().expect("a platform");
    sets.push(format!("platform={platform}"));
    sets.extend(more.iter().map(|set| (*set).to_owned()));
    sets.push(format!("actions=[{actions}]"));
    let plan = plan("kv-restart.toml");
    if lacks(place, &plan, &sets) {
        return None;
    }
    let ended =
        RunningProgram::start(command(place, "run", &plan, &sets)).end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    for action in run.actions() {
        assert!(ended.out.contains(&format!("  store-1  {}, took ", action.act)), "{}", ended.out);
    }
    Some(run)
}

/// Operations that ended well in intervals after this second of the load.
pub(crate) fn well_after(run: &Run, at_s: f64) -> u64 {
    let later = run.intervals().filter(|interval| interval.from_s >= at_s);
    later.flat_map(|interval| &interval.ops).map(|op| op.count - op.failed).sum()
}

#[test]
fn a_part_is_resized_restarted_stopped_and_started_under_load() {
    let place = TestFolders::without_data();
    let unit = "unit=\"store-1\"";
    let actions = format!(
        "{{at_s=3,{unit},act=\"resize\",cpus=0.5,memory_mib=256}},{{at_s=5,{unit},act=\"restart\"}},\
         {{at_s=7,{unit},act=\"stop\"}},{{at_s=7.5,{unit},act=\"start\"}}"
    );
    let run = acted(&place, &["process"], 9, &actions).expect("a process needs nothing");
    let kept: Vec<&ActionRecord> = run.actions().collect();
    let names: Vec<&str> = kept.iter().map(|action| action.name.as_str()).collect();
    assert_eq!(names, ["resize", "restart", "stop", "start"]);
    match kept[0].failed.as_deref() {
        Some("platform cannot limit it") => skip("no control groups: the limits of a part cannot change"),
        failed => assert_eq!((failed, kept[0].act.as_str()), (None, "resize to 0.5 cores, 256 MiB")),
    }
    assert!(kept[1..].iter().all(|action| action.failed.is_none()), "{kept:?}");
    assert_eq!((kept[1].act.as_str(), kept[2].act.as_str()), ("restart: exit code 0", "stop: exit code 0"));
    assert!(kept[1].pause_s.is_some_and(|pause| pause > 0.0 && pause <= kept[1].took_s), "{kept:?}");
    assert!(kept[3].at_s >= 7.5, "{kept:?}");
    assert_eq!(run.back_after_s(kept[2]), Some(kept[3].at_s + kept[3].took_s - kept[2].at_s));
    // The stop breaks the users' connections.
    let stop = run.impacts().into_iter().find(|impact| impact.action.name == "stop").unwrap();
    let seen = stop.during.iter().chain(&stop.after).flat_map(|stretch| &stretch.ops);
    assert!(seen.map(|op| op.failed).sum::<u64>() > 0, "{stop:?}");
    assert!(well_after(&run, kept[3].at_s + kept[3].took_s) >= 10, "users go on");
    nothing_left(&place);
}

/// Two of three nodes behind this front are stopped, and started again, while 60 users go on.
fn scaled(front: [&str; 2]) {
    let place = TestFolders::new();
    let mut sets = like("minimal", "process");
    sets.extend(fixed(60, 12));
    sets.extend(SIZE.iter().chain(&front).map(|set| (*set).to_owned()));
    sets.extend(["deploy.application_nodes=3", "deploy.bus=nats"].map(str::to_owned));
    sets.push(format!("data.dir={}", place.data().display()));
    let scale =
        |at_s: u32, count: u32| format!("{{at_s={at_s},unit=\"application\",act=\"scale\",count={count}}}");
    sets.push(format!("actions=[{},{}]", scale(4, 1), scale(8, 3)));
    let plan = plan("auction.toml");
    if lacks(&place, &plan, &sets) {
        return;
    }
    let ended =
        RunningProgram::start(command(&place, "run", &plan, &sets)).end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let kept: Vec<&ActionRecord> = run.actions().collect();
    let told: Vec<_> = kept.iter().map(|a| (a.unit.as_str(), a.act.as_str(), a.failed.as_deref())).collect();
    assert_eq!(
        told,
        [
            ("application", "scale to 1: application-2, application-3 stopped", None),
            ("application", "scale to 3: application-2, application-3 started", None),
        ]
    );
    let impacts = run.impacts();
    assert!(impacts.len() == 2 && impacts.iter().all(|impact| impact.during.is_some()), "{impacts:?}");
    let between = well_after(&run, kept[0].at_s + kept[0].took_s) - well_after(&run, kept[1].at_s);
    let later = well_after(&run, kept[1].at_s + kept[1].took_s);
    assert!(between > 0 && later > 0, "users go on: {between}, {later}");
    // What the balancer thinks of its servers, where there is one.
    let down = run.statistics.iter().filter(|row| row.statistic == "servers_down").map(|row| row.value);
    let down: Vec<f64> = down.collect();
    assert_eq!(down.is_empty(), !front[0].contains("balancer"));
    assert!(down.is_empty() || (down.contains(&2.0) && down.last() == Some(&0.0)), "{down:?}");
    nothing_left(&place);
}

#[test]
fn a_balancer_leaves_out_stopped_nodes_of_a_tier_and_finds_those_that_start() {
    scaled(["deploy.balancer=haproxy", "deploy.balancer_nodes=1"]);
}

#[test]
fn a_web_server_passes_over_stopped_nodes_of_a_tier() {
    scaled(["deploy.web=nginx", "deploy.web_nodes=1"]);
}
