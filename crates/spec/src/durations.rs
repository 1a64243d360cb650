//! How long the parts of a run take, by the name of a pace: `quick`, `standard`, `full`.

use barograph_model::{Durations, Nanos};

const fn s(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// The names, in the order of their length.
pub(crate) const NAMES: [&str; 3] = ["quick", "standard", "full"];

/// The durations of a pace, and how many trials its search may take.
///
/// Ramp and warm-up together are never shorter than one and a half sessions (of 103 s): users that begin together move
/// through their sessions in step, and auctions that woke together sell their items in step; simulated load
/// (`workloads/auction/tests`) shows the mix swing by more than its tolerance until then.
pub(crate) fn of(name: &str) -> (Durations, u64) {
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
