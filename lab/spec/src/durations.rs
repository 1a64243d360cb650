//! Durations of the parts of a run, by the name of a pace: `quick`, `standard`, `full`.

use barograph_model::{Durations, Nanos, SearchMethod};

const fn s(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// The names, in the order of their length.
pub(crate) const NAMES: [&str; 3] = ["quick", "standard", "full"];

/// The durations of a pace for a search by a method, and the number of trials that it may take.
///
/// A search by posterior learns more from many short windows than from few long ones, since it accounts for
/// windows that fail by luck. All of its windows are equally long, because the pass probability of a level
/// depends on their length. Their least length was measured at 1,000 users of the default workload: the share
/// of the operation that swings the most has a standard deviation of 11 % of itself in windows of 15 s, and
/// it falls with the root of users and seconds. The mix rule makes room for such chance, so short windows do
/// not fail for it; they only see a share that is far off. In less time its run has eight windows of 15 s
/// instead of four of 45 s.
pub(crate) fn of(name: &str, method: Option<SearchMethod>) -> (Durations, u64) {
    let (durations, trials) = few(name);
    let many = |window, step, settle, trials| {
        (
            Durations {
                window: s(window),
                confirm: s(window),
                step: s(step),
                settle: s(settle),
                ..durations
            },
            trials,
        )
    };
    match (method, name) {
        (Some(SearchMethod::Posterior), "full") => many(180, 60, 60, 30),
        (Some(SearchMethod::Posterior), "standard") => many(60, 15, 30, 19),
        (Some(SearchMethod::Posterior), _) => many(15, 5, 10, 8),
        (Some(SearchMethod::FindMax { .. } | SearchMethod::Staircase(_)), _) => (durations, 40),
        (Some(SearchMethod::Bisect) | None, _) => (durations, trials),
    }
}

/// The durations of a pace, and the number of trials of a search with them.
///
/// Ramp and warm-up together are never shorter than one and a half sessions (of 103 s): users that begin
/// together move through their sessions in step, and so do the events they wait for; simulated load of the
/// default workload shows the mix swing by more than its tolerance until then.
fn few(name: &str) -> (Durations, u64) {
    match name {
        "full" => (
            Durations {
                ramp: s(240),
                warm_up: s(300),
                window: s(300),
                step: s(120),
                settle: s(180),
                confirm: s(300),
                drain: s(10),
            },
            16,
        ),
        "standard" => (
            Durations {
                ramp: s(150),
                warm_up: s(60),
                window: s(120),
                step: s(30),
                settle: s(60),
                confirm: s(180),
                drain: s(10),
            },
            8,
        ),
        _ => (
            Durations {
                ramp: s(90),
                warm_up: s(70),
                window: s(45),
                step: s(10),
                settle: s(20),
                confirm: s(45),
                drain: s(5),
            },
            4,
        ),
    }
}
