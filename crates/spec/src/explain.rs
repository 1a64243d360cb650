//! A plan in words, and how long it will take.

use std::fmt::Write as _;

use barograph_model::{Durations, Nanos, Strategy};

use crate::Plan;

/// How long the load lasts at most, from the first user to the end of the drain; fill and start-up come on top.
#[must_use]
pub fn estimate(strategy: &Strategy, d: &Durations) -> Nanos {
    let begin = d.ramp + d.warm_up;
    let end = d.drain;
    match strategy {
        Strategy::Fixed { windows, .. } => begin + Nanos(d.window.0 * u64::from(*windows)) + end,
        Strategy::Search(bounds) => {
            // The first trial follows the ramp. Each later one changes the level and settles, and may be one that
            // confirms: after a failed confirmation another level is confirmed.
            let later = u64::from(bounds.max_trials.saturating_sub(1));
            let trial = d.step + d.settle + d.window.max(d.confirm);
            begin + d.window + Nanos(trial.0 * later) + end
        }
    }
}

/// Minutes and seconds.
fn clock(t: Nanos) -> String {
    let s = t.0.div_ceil(1_000_000_000);
    if s < 60 { format!("{s} s") } else { format!("{} min {:02} s", s / 60, s % 60) }
}

/// What will happen, one sentence a line.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let d = &plan.durations;
    let mut text = String::new();
    let mut line = |sentence: String| writeln!(text, "{sentence}").expect("writing to memory cannot fail");
    line(format!(
        "plan      {} (workload {}, profile {}, seed {})",
        plan.name, plan.workload, plan.profile, plan.seed
    ));
    match plan.strategy {
        Strategy::Fixed { users, windows } => {
            line(format!(
                "load      {users} users: ramp {}, warm-up {}, {windows} measured window{} of {}",
                clock(d.ramp),
                clock(d.warm_up),
                if windows == 1 { "" } else { "s" },
                clock(d.window)
            ));
        }
        Strategy::Search(b) => {
            let most =
                if b.max_users == 0 { "what the data admits".to_owned() } else { b.max_users.to_string() };
            let from = if b.min_users == 0 { String::new() } else { format!("from {} ", b.min_users) };
            line(format!(
                "load      search for the most users that pass, {from}up to {most}, at most {} trials",
                b.max_trials
            ));
            line(format!(
                "          first ramp {}, then windows of {} after {} of change and settling; those that confirm take {}",
                clock(d.ramp),
                clock(d.window),
                clock(d.step + d.settle),
                clock(d.confirm)
            ));
        }
    }
    line(format!("data      size {}, in {}", plan.data.size, plan.data.dir.display()));
    line(format!(
        "target    the application as a process of its own on 127.0.0.1{}",
        if plan.target.port == 0 { " on a free port".to_owned() } else { format!(":{}", plan.target.port) }
    ));
    line(format!("record    a new folder in {}", plan.runs.display()));
    line(format!("duration  at most {} of load", clock(estimate(&plan.strategy, d))));
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_estimate_adds_up() {
        let plan = crate::read("p", "", &[]).unwrap();
        // Quick: 90 ramp + 70 warm-up + 45 window + 3 x (10 + 20 + 45) + 5 drain.
        assert_eq!(super::estimate(&plan.strategy, &plan.durations).as_secs_f64(), 435.0);
        assert!(super::explain(&plan).contains("at most 7 min 15 s of load"));
    }

    #[test]
    fn every_trial_but_the_first_may_take_the_longer_window() {
        let sets = [
            "ramp_s=10",
            "warm_up_s=20",
            "window_s=30",
            "step_s=1",
            "settle_s=2",
            "confirm_s=50",
            "drain_s=4",
        ];
        let mut sets: Vec<String> = sets.iter().map(|s| format!("load.{s}")).collect();
        sets.push("load.max_trials=5".to_owned());
        let plan = crate::read("p", "", &sets).unwrap();
        let estimate = super::estimate(&plan.strategy, &plan.durations).as_secs_f64();
        assert_eq!(estimate, 10.0 + 20.0 + 30.0 + 4.0 * (1.0 + 2.0 + 50.0) + 4.0);
    }
}
