//! The auction on a cluster: deployed, loaded, killed, and completely removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, Mutex};

use barograph_record::{ActionRecord, ExitCode, Run};
use barograph_test_kubernetes::Cluster;
use barograph_testkit::{Act, Answer, ListenOptions, Request, Server};
use rustix::process::Signal;

use crate::actions::well_after;
use crate::deployments::{fine, like, plan, possible};
use crate::going::{PATIENCE_WITH_EMULATION, RunningProgram, until};
use crate::interrupted_in::INTERRUPTED;
use crate::killed_in::KILLED;
use crate::phases::{DEPLOY_AT_ONCE, EndMethod, tries_to_end};
use crate::place::{TestFolders, fixed};
use crate::plans::{OPERATIONS, command, in_order};

/// Objects of all runs in a cluster.
pub(crate) fn objects(cluster: &Cluster) -> String {
    let label = "app.kubernetes.io/managed-by=barograph";
    cluster.kubectl(&["get", "namespaces,pods,services", "-A", "-l", label, "-o", "name"]).unwrap()
}

pub(crate) fn access(cluster: &Cluster) -> String {
    format!("deploy.kubernetes_access={}", cluster.access().display())
}

fn sets(cluster: &Cluster) -> Vec<String> {
    let mut sets = like("minimal", "kubernetes");
    sets.push(access(cluster));
    sets
}

#[test]
fn the_auction_runs_in_pods_and_leaves_nothing() {
    let Some(cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let run = fine(&place, RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets)));
    let topology = run.topology().unwrap();
    assert_eq!(topology.platform, "kubernetes");
    let facts =
        |name: &str| topology.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(facts("cluster version"), Some("v1.33.4"));
    assert!(facts("node node-0").is_some() && facts("node node-1").is_some());
    let parts: Vec<&str> = topology.parts.iter().map(|part| part.name.as_str()).collect();
    assert!(parts.contains(&"relational-1") && parts.contains(&"application-1"), "{parts:?}");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

#[test]
fn what_a_killed_run_has_in_a_cluster_is_cleaned() {
    let Some(cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("ramp");
    assert!(objects(&cluster).contains("pod/"), "{}", objects(&cluster));
    going.signal(Signal::KILL);
    going.end();
    let cleaned = RunningProgram::start(place.program(&["clean"])).end();
    assert_eq!(cleaned.code, Some(i32::from(ExitCode::Fine.code())), "{cleaned:?}");
    assert!(cleaned.out.contains("namespace barograph-"), "{cleaned:?}");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Two nodes of the application behind a web server, on a cluster of two nodes.
#[test]
fn pods_are_killed_scaled_restarted_and_drained_under_load() {
    let Some(cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let mut sets = sets(&cluster);
    // Long enough for all that follows.
    sets.extend(fixed(20, 600));
    sets.extend(
        ["deploy.application_nodes=2", "deploy.bus=nats", "deploy.web=nginx", "deploy.web_nodes=1"]
            .map(str::to_owned),
    );
    let acts = [
        "at_s=3,unit=\"application-2\",act=\"kill\"",
        "at_s=5,unit=\"application-2\",act=\"start\"",
        "at_s=7,unit=\"application\",act=\"scale\",count=1",
        "at_s=8,unit=\"application\",act=\"scale\",count=2",
        "at_s=9,unit=\"application-2\",act=\"restart\"",
        "at_s=10,unit=\"application\",act=\"rolling-restart\"",
        "at_s=11,unit=\"application-1\",act=\"drain\"",
        "at_s=12,unit=\"application-1\",act=\"drain\"",
        "at_s=13,act=\"undrain\"",
    ];
    sets.push(format!("actions=[{}]", acts.map(|act| format!("{{{act}}}")).join(",")));
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.says("action: undrain");
    until("users that go on", || {
        let run = Run::open(place.records().last()?).ok()?;
        let last = run.actions().last().filter(|action| action.name == "undrain")?;
        (well_after(&run, last.at_s) > 0).then_some(())
    });
    stop_load(&place);
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let kept: Vec<&ActionRecord> = run.actions().collect();
    let names: Vec<&str> = kept.iter().map(|action| action.name.as_str()).collect();
    assert_eq!(
        names,
        ["kill", "start", "scale", "scale", "restart", "rolling-restart", "drain", "drain", "undrain"]
    );
    let (again, done): (Vec<_>, Vec<_>) = kept.iter().enumerate().partition(|(at, _)| *at == 7);
    assert!(done.iter().all(|(_, action)| action.failed.is_none()), "{kept:?}");
    let why = again[0].1.failed.as_deref();
    assert!(why.is_some_and(|why| why.ends_with("no other node takes pods")), "{kept:?}");
    assert_eq!(kept[2].act, "scale to 1: application-2 stopped");
    assert_eq!(kept[3].act, "scale to 2: application-2 started");
    assert!(run.back_after_s(kept[0]).is_some_and(|back| back >= 2.0), "{kept:?}");
    let drained = kept[6].act.strip_prefix("drain: ").and_then(|words| words.split_once(" left node-"));
    let (moved, node) = drained.unwrap_or_else(|| panic!("{kept:?}"));
    assert!(moved.split(", ").any(|part| part == "application-1") && ["0", "1"].contains(&node), "{kept:?}");
    assert_eq!(kept[5].act, "rolling-restart: application-1, application-2");
    for action in [kept[4], kept[6]] {
        assert!(action.pause_s.is_some_and(|pause| pause > 0.0 && pause <= action.took_s), "{kept:?}");
    }
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Each driver is a pod on a node of its own.
#[test]
fn drivers_on_two_nodes_make_one_load() {
    let Some(cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let mut sets = sets(&cluster);
    // Ended by a command.
    sets.extend(fixed(20, 600));
    sets.extend(
        [
            "driver.count=2",
            "deploy.kubernetes_drivers_apart=true",
            "deploy.kubernetes_driver_nodes=kubernetes.io/os=linux",
        ]
        .map(str::to_owned),
    );
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("hold");
    let mut nodes = ["driver-1", "driver-2"].map(|driver| node_of(&cluster, driver));
    nodes.sort();
    assert_eq!(nodes, ["node-0", "node-1"]);
    until("intervals with all users", || {
        let run = Run::open(place.records().last()?).ok()?;
        let full = run.intervals().filter(|interval| interval.users == 20);
        let done: u64 = full.flat_map(|interval| &interval.ops).map(|op| op.count).sum();
        (run.intervals().count() >= 4 && done >= OPERATIONS).then_some(())
    });
    stop_load(&place);
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    assert_eq!(run.intervals().map(|interval| interval.users).max(), Some(20));
    for driver in ["driver-1", "driver-2"] {
        assert!(run.probes.iter().any(|row| row.subject == driver && row.cores().is_some()), "{driver}");
        let clock = format!("{driver} within ");
        assert!(run.notes().any(|(_, text)| text.contains(&clock)), "{:?}", run.notes().collect::<Vec<_>>());
    }
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Users who choose their next operation by chance, and draw a value for each request.
const CHOOSING: &str = r#"about = "Chooses by chance."
[target]
headers = { x-user = "{user}" }
[values.id]
kind = "uuid"
per = "exchange"
[operations.One]
qos = "p99 < 60 s"
[[operations.One.exchanges]]
path = "/one/{id}"
[operations.Two]
qos = "p99 < 60 s"
[[operations.Two.exchanges]]
path = "/two/{id}"
[behaviours.main]
first = "One"
pace = { think = { exponential = { mean = "30 ms", max = "300 ms" } } }
next = { One = { One = 0.5, Two = 0.5 }, Two = { One = 0.7, Two = 0.3 } }
"#;

/// Users, and requests of each that are compared.
const CHOOSERS: (u32, usize) = (8, 30);

/// Requests by user, in their order.
fn by_user(asked: &[Request]) -> BTreeMap<&str, Vec<&Request>> {
    let mut found: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in asked {
        found.entry(request.header("x-user").unwrap()).or_default().push(request);
    }
    found
}

/// Lets drivers, each on a node of its own, load a server of this process until every user has made the requests
/// that are compared. Returns all requests.
fn asked_by(cluster: &Cluster, drivers: usize) -> Vec<Request> {
    let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let script = move |request: &Request| {
        noted.lock().unwrap().push(request.clone());
        Act::Answer(Answer::new(200, "{}"))
    };
    let server = Server::start_at(ListenOptions::on(cluster.outside()), Arc::new(script)).unwrap();
    let place = TestFolders::without_data();
    let (users, compared) = CHOOSERS;
    fs::write(place.root().join("users.toml"), CHOOSING).unwrap();
    let path = place.root().join("plan.toml");
    fs::write(&path, "workload = \"scenario\"\nscenario = \"users.toml\"\n").unwrap();
    // Ended by a command; long enough for operations in flight to end.
    let mut sets = fixed(users, 600);
    sets.retain(|set| !set.starts_with("load.drain_s="));
    sets.extend([
        access(cluster),
        format!("driver.count={drivers}"),
        format!("target.url={}", server.url("")),
    ]);
    let of_drivers = ["platform=kubernetes", "driver.place=unit", "driver.workers=1", "load.drain_s=30"];
    sets.extend(of_drivers.map(str::to_owned));
    sets.push("deploy.kubernetes_drivers_apart=true".to_owned());
    let going = RunningProgram::start(command(&place, "run", &path, &sets));
    until("the requests that are compared", || {
        let asked = asked.lock().unwrap();
        let by_user = by_user(&asked);
        let all = by_user.len() == users as usize && by_user.values().all(|of| of.len() >= compared);
        all.then_some(())
    });
    going.enters("hold");
    stop_load(&place);
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let asked = asked.lock().unwrap().clone();
    for (op, path) in [("One", "/one/"), ("Two", "/two/")] {
        let made = asked.iter().filter(|request| request.path.starts_with(path)).count() as u64;
        assert!(made > 0);
        let rows = || run.intervals().flat_map(|interval| &interval.ops).filter(|row| row.op == op);
        let sums = (rows().map(|row| row.count).sum::<u64>(), rows().map(|row| row.failed).sum::<u64>());
        assert_eq!(sums, (made, 0), "{op} of {drivers} drivers");
        for log in [run.response_log().unwrap(), run.service_log().unwrap()] {
            let whole = log.histograms().map(Result::unwrap).filter(|line| line.op == op);
            assert_eq!(
                whole.map(|line| line.histogram.len()).sum::<u64>(),
                made,
                "{op} of {drivers} drivers"
            );
        }
    }
    assert_eq!(objects(cluster), "");
    place.assert_nothing_left();
    asked
}

/// The same choices by seed, and histograms that are the sum over the drivers.
#[test]
fn two_drivers_on_two_nodes_do_what_one_would() {
    let Some(cluster) = Cluster::start(2) else { return };
    let (one, two) = (asked_by(&cluster, 1), asked_by(&cluster, 2));
    let (users, compared) = CHOOSERS;
    let paths = |asked: &[Request]| -> BTreeMap<String, Vec<String>> {
        let first =
            |of: Vec<&Request>| of.iter().take(compared).map(|request| request.path.clone()).collect();
        by_user(asked).into_iter().map(|(user, of)| (user.to_owned(), first(of))).collect()
    };
    assert_eq!(paths(&one), paths(&two));
    let different: BTreeSet<Vec<String>> = paths(&one).into_values().collect();
    assert_eq!(different.len(), users as usize, "users differ");
    // Each user is of one driver, and each driver has its share of them.
    let shares = |asked: &[Request]| -> Vec<usize> {
        let mut of_driver: BTreeMap<_, usize> = BTreeMap::new();
        for of in by_user(asked).into_values() {
            assert!(of.iter().all(|request| request.peer == of[0].peer), "{of:?}");
            *of_driver.entry(of[0].peer.unwrap()).or_default() += 1;
        }
        of_driver.into_values().collect()
    };
    let all = users as usize;
    assert_eq!((shares(&one), shares(&two)), (vec![all], vec![all / 2; 2]));
}

/// More drivers than nodes are refused before anything is made.
#[test]
fn drivers_without_a_node_each_are_refused() {
    let Some(cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let mut checked = place.checks(&plan("auction.toml"));
    let apart = ["driver.count=2", "deploy.kubernetes_drivers_apart=true"].map(str::to_owned);
    for set in sets(&cluster).iter().chain(&apart) {
        checked.args(["--set", set]);
    }
    let checked = RunningProgram::start(checked).end();
    assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
    assert!(checked.out.contains("2 hosts want a node each, and the cluster has 1 for them"), "{checked:?}");
}

/// A cluster that only drivers need is looked at, too.
#[test]
fn a_cluster_out_of_reach_is_missing_although_only_drivers_are_in_it() {
    let place = TestFolders::without_data();
    let plan = place.root().join("elsewhere.toml");
    let access = place.root().join("no-access");
    let text = format!(
        "workload = \"web-farm\"\nplatform = \"kubernetes\"\n[target]\nurl = \"http://127.0.0.1:9\"\n\
         [load]\nstrategy = \"fixed\"\nusers = 1\n[driver]\nplace = \"unit\"\n\
         [deploy]\nkubernetes_access = \"{}\"\n",
        access.display()
    );
    fs::write(&plan, text).unwrap();
    let checked = RunningProgram::start(command(&place, "check", &plan, &[])).end();
    assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
    let missing = format!("missing   file `{}` does not say how to reach a cluster", access.display());
    assert!(checked.out.contains(&missing), "{checked:?}");
}

/// Ends a run in each of these moments.
fn leaves_nothing(way: EndMethod, moments: &[&str]) {
    let Some(cluster) = Cluster::start(1) else { return };
    if !possible(&TestFolders::new(), &sets(&cluster)) {
        return;
    }
    for moment in moments {
        tries_to_end(way, moment, "kubernetes", &[access(&cluster)]);
        assert_eq!(objects(&cluster), "", "{} in {moment}", way.name);
    }
}

#[test]
fn a_run_killed_in_any_phase_leaves_nothing_in_a_cluster_after_clean() {
    let late = ["hold", "drain", "verify", "collect", "remove"];
    let moments: Vec<&str> = [DEPLOY_AT_ONCE, "deploy", "ramp", "warm-up"].into_iter().chain(late).collect();
    leaves_nothing(KILLED, &moments);
}

#[test]
fn an_interrupted_run_leaves_nothing_in_a_cluster() {
    leaves_nothing(INTERRUPTED, &[DEPLOY_AT_ONCE, "deploy", "hold", "drain", "verify", "collect"]);
}

/// Node of a part of all runs.
fn node_of(cluster: &Cluster, part: &str) -> String {
    let label = format!("barograph.org/unit={part}");
    let nodes = "jsonpath={.items[*].spec.nodeName}";
    cluster.kubectl(&["get", "pods", "-A", "-l", &label, "-o", nodes]).unwrap()
}

/// Starts a run with two nodes of the application, and loses the node of the cluster that one of them has for itself.
fn loses_a_node(cluster: &mut Cluster, place: &TestFolders, more: &[&str]) -> Option<RunningProgram> {
    let mut sets = sets(cluster);
    // Long enough for all that follows.
    sets.extend(fixed(20, 600));
    sets.extend(
        ["deploy.application_nodes=2", "deploy.bus=nats", "deploy.web=nginx", "deploy.web_nodes=1"]
            .iter()
            .chain(&["actions=[{at_s=12,unit=\"application-2\",act=\"restart\"}]"])
            .chain(more)
            .map(|&set| set.to_owned()),
    );
    if !possible(place, &sets) {
        return None;
    }
    let kubectl = |words: &[&str]| cluster.kubectl(words).unwrap();
    kubectl(&["cordon", "node-1"]);
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("ramp");
    assert_eq!(node_of(cluster, "application-2"), "node-0");
    kubectl(&["uncordon", "node-1"]);
    kubectl(&["cordon", "node-0"]);
    going.says("action: restart");
    assert_eq!(node_of(cluster, "application-2"), "node-1", "it restarted before the other node was closed");
    kubectl(&["uncordon", "node-0"]);
    going.enters("hold");
    cluster.lose_node("node-1");
    Some(going)
}

/// Ends a load in order.
fn stop_load(place: &TestFolders) {
    control(place, "stop");
}

fn control(place: &TestFolders, command: &str) {
    let runs = place.runs();
    let words = ["control", "--runs", runs.to_str().unwrap(), command];
    let answered = RunningProgram::start(place.program(&words)).end();
    assert_eq!(answered.code, Some(0), "{answered:?}");
}

/// Two nodes of the application, of which one runs at first: the autoscaler starts the other one under the load, and
/// stops it when the load is gone.
#[test]
fn nodes_follow_the_autoscaler_of_the_cluster() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let mut sets = sets(&cluster);
    // Ended by a command.
    sets.extend(fixed(60, 600));
    // As much as the users of the data can do, so that a node without load uses far less than one under it.
    sets.retain(|set| !set.starts_with("load.users="));
    sets.extend(
        [
            "load.unit=rate",
            "load.rate=60",
            "deploy.statistics=false",
            "deploy.application_nodes=2",
            "deploy.application_cpus=0.5",
            "deploy.bus=nats",
            "deploy.web=nginx",
            "deploy.web_nodes=1",
            "elasticity.tier=application",
            "elasticity.first_nodes=1",
            "elasticity.scaler=platform",
            "elasticity.target=0.052",
            "elasticity.settle_s=5",
        ]
        .map(str::to_owned),
    );
    let mut checked = place.checks(&plan("auction.toml"));
    for set in &sets {
        checked.args(["--set", set]);
    }
    let checked = RunningProgram::start(checked).end();
    assert_eq!(checked.code, Some(i32::from(ExitCode::Refused.code())), "{checked:?}");
    assert!(checked.out.contains("the cluster's autoscaler has no metrics of pods"), "{checked:?}");
    if !cluster.start_metrics() || !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.says("scale to 2: application-2 started");
    assert!(objects(&cluster).contains("application-2"), "{}", objects(&cluster));
    control(&place, "rate=1");
    going.says("scale to 1: application-2 stopped");
    stop_load(&place);
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let supplies: Vec<(u32, u32)> = run.supplies().map(|supply| (supply.ready, supply.running)).collect();
    assert_eq!(supplies[..3], [(1, 1), (1, 2), (2, 2)]);
    assert_eq!(supplies.last(), Some(&(1, 1)), "{supplies:?}");
    assert!(run.actions().all(|action| action.failed.is_none()), "{:?}", run.actions().collect::<Vec<_>>());
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

#[test]
fn a_node_is_lost_under_load_and_its_part_starts_on_the_other() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let replace = "deploy.kubernetes_lost_node=replace";
    let Some(going) = loses_a_node(&mut cluster, &place, &[replace]) else { return };
    going.says("action: node-lost");
    assert_eq!(node_of(&cluster, "application-2"), "node-0");
    stop_load(&place);
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let action = run.actions().last().unwrap();
    assert_eq!((action.name.as_str(), action.unit.as_str()), ("node-lost", "application-2"), "{action:?}");
    assert_eq!(action.act, "node-lost node-1: application-2 started elsewhere");
    let pause = action.pause_s.filter(|pause| *pause > 0.0 && *pause <= action.took_s);
    assert!(action.failed.is_none() && pause.is_some(), "{action:?}");
    let note = "application-2 was lost with its node node-1, and starts on another one";
    assert!(run.notes().any(|(_, text)| text == note), "{:?}", run.notes().collect::<Vec<_>>());
    assert!(run.impacts().iter().any(|impact| impact.action == action), "{:?}", run.impacts());
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Unless the plan has its parts replaced, a lost node ends the run.
#[test]
fn the_end_of_a_run_names_the_lost_node() {
    let Some(mut cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let Some(going) = loses_a_node(&mut cluster, &place, &[]) else { return };
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let named = "barograph: application-2 ended in mid-run: its node node-1 was lost";
    assert!(ended.err.contains(named), "{}", ended.err);
    let run = place.record();
    let why = run.interrupted();
    assert!(run.complete && why.is_some_and(|why| why.cause.contains("node-1")), "{why:?}");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

#[test]
fn a_run_outlives_a_restart_of_the_api_server() {
    let Some(mut cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("hold");
    cluster.restart_api_server();
    fine(&place, going);
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Without a cluster: what pods cannot see is refused before one is asked.
#[test]
fn files_that_parts_share_are_not_sent() {
    let place = TestFolders::new();
    let checked = |more: &[&str]| {
        let mut command = place.checks(&plan("auction-full.toml"));
        let sets = ["platform=kubernetes", "deploy.kubernetes_files=sent", "load.users=20"];
        for set in sets.iter().chain(more) {
            command.args(["--set", set]);
        }
        RunningProgram::start(command).end()
    };
    let image = "deploy.kubernetes_image=registry.test/tools:1";
    let alone = checked(&[]);
    assert!(alone.err.contains("\"seen\" without deploy.kubernetes_image"), "{alone:?}");
    let shared = checked(&[image]);
    assert!(shared.err.contains("application-1 keeps files in a folder that other parts see"), "{shared:?}");
    let apart = checked(&[image, "deploy.images=events", "deploy.kubernetes_access=/none"]);
    assert!(apart.out.contains("loaded in every run: on platform kubernetes their folders"), "{apart:?}");
}
