//! Power of a simulated machine with a made-up `/sys`, a meter's file, and policies that are set back.

use std::fs;
use std::path::PathBuf;

use barograph_model::Metric;

use super::together::{checked_all, there};
use super::*;
use crate::testing::BEGAN_S;

/// A load on a target that exists already, measured for 4 s.
const KEYS: [&str; 3] = [URL, "load.users=1", "load.window_s=4"];

/// Runs on a machine whose devices are in `sys`.
fn run_on_sys(root: &Path, sys: &Path, more: &[&str]) -> Kept {
    let ground = SimulatedHost { sys: sys.to_owned(), ..SimulatedHost::default() };
    let keys = [&KEYS[..], more].concat();
    let loads = checked_all(root, ("", &keys), vec![there(&ground, None)]).unwrap();
    run_loads(ground, loads)
}

fn run_loads(ground: SimulatedHost, loads: Vec<CheckedLoad>) -> Kept {
    let (_keep, stop) = Stop::new();
    let screen = &mut SilentScreen::default();
    let finished = run_checked(RunClock::of(ground), loads, (stop, &here()), screen).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    Kept::open(&finished.dir).unwrap()
}

fn file(root: &Path, name: &str, text: &str) -> PathBuf {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn close(found: Option<f64>, wanted: f64) {
    let found = found.unwrap();
    assert!((found / wanted - 1.0).abs() < 1e-4, "{found}, not {wanted}");
}

#[test]
fn a_sensor_of_the_machine_gives_power_and_energy() {
    let root = tempfile::tempdir().unwrap();
    let sys = root.path().join("sys");
    file(&sys, "class/hwmon/hwmon0/name", "power_meter\n");
    file(&sys, "class/hwmon/hwmon0/power1_average", "80000000\n");
    // Simulated time stands still without load.
    let kept = run_on_sys(root.path(), &sys, &["power.idle_s=0"]);
    let window = &kept.deciding_trial().unwrap().window;
    let power = kept.power_in(window).unwrap();
    assert_eq!((power.scope.as_str(), kept.power_sources()), ("chassis", vec!["chassis"]));
    close(Some(power.joules), 80.0 * window.seconds());
    close(kept.metric(Metric::Power, None), 80.0);
    close(kept.metric(Metric::EnergyPerOperation, None), 80.0 / window.throughput);
    close(kept.metric(Metric::OperationsPerEnergy, None), window.throughput / 80.0);
    assert_eq!(kept.metric(Metric::ScorePerPower, None), None, "there are no tiles");
}

#[test]
fn a_meter_is_wider_than_its_machine_and_a_gap_is_not_filled() {
    let root = tempfile::tempdir().unwrap();
    let sys = root.path().join("sys");
    file(&sys, "class/hwmon/hwmon0/name", "power_meter\n");
    file(&sys, "class/hwmon/hwmon0/power1_average", "80000000\n");
    let line = |second: u32| format!("{},{}\n", BEGAN_S + f64::from(second), 100 + second % 2 * 50);
    let all: String = (0..20).map(line).collect();
    let meter = file(root.path(), "meter.csv", &all);
    let key = format!("power.meter_file={}", meter.display());
    let kept = run_on_sys(root.path(), &sys, &["power.idle_s=0", &key]);
    assert_eq!(kept.power_sources(), ["chassis", "meter"]);
    let power = kept.power_in(&kept.deciding_trial().unwrap().window).unwrap();
    assert_eq!(power.scope, "meter");
    close(Some(power.watts), 125.0);
    assert_eq!(kept.idle_power(), None, "nothing was waited for");

    let root = tempfile::tempdir().unwrap();
    let meter = file(root.path(), "meter.csv", &[line(0), line(9)].concat());
    let key = format!("power.meter_file={}", meter.display());
    let kept = run_on_sys(root.path(), &root.path().join("sys"), &["power.idle_s=0", &key]);
    assert_eq!((kept.metric(Metric::Power, None), kept.power_sources()), (None, vec!["meter"]));
}

#[test]
fn policies_hold_for_the_run_and_are_set_back() {
    let root = tempfile::tempdir().unwrap();
    let sys = root.path().join("sys");
    let policy =
        |n: u32, value| file(&sys, &format!("devices/system/cpu/cpufreq/policy{n}/scaling_governor"), value);
    let places = [policy(0, "powersave\n"), policy(1, "schedutil\n")];
    let ground = SimulatedHost { sys, ..SimulatedHost::default() };
    let mut loads = checked_all(root.path(), ("", &KEYS), vec![there(&ground, None)]).unwrap();
    // The check looks at this machine.
    loads[0].checked.plan.power.governor = Some("performance".to_owned());
    let kept = run_loads(ground, loads);
    let note = "scaling_governor performance instead of powersave, schedutil";
    assert!(kept.notes().any(|(_, text)| text == note), "{:?}", kept.notes().collect::<Vec<_>>());
    assert_eq!(places.map(|path| fs::read_to_string(path).unwrap()), ["powersave", "schedutil"]);
}
