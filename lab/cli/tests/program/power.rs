//! Power through the program: the command of a meter, and policies that a machine does not have.

use barograph_model::Metric;

use crate::going::RunningProgram;
use crate::place::{TestFolders, fixed};
use crate::plans::in_order;

/// A load of nothing with the command of a meter beside it.
fn metered(place: &TestFolders, more: &[&str]) -> RunningProgram {
    let mut command = place.program(&["run"]);
    let keys = ["workload=null", "power.idle_s=4", "power.meter_scope=chassis"];
    let more = keys.iter().chain(more).map(|set| (*set).to_owned());
    for set in fixed(10, 4).into_iter().chain(more) {
        command.args(["--set", &set]);
    }
    RunningProgram::start(command)
}

#[test]
fn the_lines_of_a_command_are_the_power_of_a_run() {
    let place = TestFolders::without_data();
    // Readings without a time, as long as there is a reader; the name of the place finds what is left.
    let root = place.root().display();
    let command = format!("power.meter_command=echo watts; while echo 42.5; do sleep 0.1; done # {root}");
    let ended = metered(&place, &[&command]).end();
    let run = place.record();
    in_order(&run, &ended);
    assert!(ended.out.contains("Power: 42.5 W, scope chassis; "), "{}", ended.out);
    assert!(ended.out.contains(" Without load: 42.5 W."), "{}", ended.out);
    let power = run.metric(Metric::Power, None).unwrap();
    assert!((power - 42.5).abs() < 0.01, "{power}");
    let page = std::fs::read_to_string(run.dir.join("report.html")).unwrap();
    assert!(page.contains("<title id=\"power-t\">") && page.contains("<td>chassis</td>"));
    place.assert_nothing_left();
}

#[test]
fn without_a_source_it_is_not_available() {
    let place = TestFolders::without_data();
    let ended = metered(&place, &["power.meter_command=sleep 1; exit 3"]).end();
    let run = place.record();
    in_order(&run, &ended);
    let notes: Vec<&str> = run.notes().map(|(_, text)| text).collect();
    assert!(
        notes.contains(&"power: the command of the meter ended before the load: exit code 3"),
        "{notes:?}"
    );
    assert!(notes.contains(&"power: the meter had no reading during the run"), "{notes:?}");
    place.assert_nothing_left();
}

#[test]
fn a_policy_that_the_machine_does_not_have_is_refused() {
    let place = TestFolders::without_data();
    let ended = metered(&place, &["power.meter_command=exit 0", "power.governor=sideways"]).end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("`power.governor` = \"sideways\""), "{}", ended.err);
    assert!(place.records().is_empty());
}
