//! Faults of a window, in several sizes, with the check that should find each.
//!
//! Faults of the target or its users are planted into the simulation and pass through the engine. Those of
//! driver and host do not exist in simulated time; there the measured figures are changed (the program's
//! tests produce some of them for real).

use barograph_engine::Stream;
use barograph_engine::sim::Simulation;
use barograph_model::{CheckId, Nanos, OpId, Outcome, Share};
use rand::RngExt;

use super::shop::{CLEAN, PlantedFault, Shop};
use super::window::{LEVEL, Load, WARM_UP, Window, of_scenario};

/// One kind of fault.
pub(super) struct Fault {
    /// Description, with `{}` for the size.
    pub(super) what: &'static str,
    /// The check that should fail.
    pub(super) check: CheckId,
    /// Sizes, rising; the last must always be found.
    pub(super) sizes: &'static [f64],
    /// Unit of sizes.
    pub(super) unit: Unit,
    /// Makes a window with it.
    pub(super) window: fn(seed: u64, size: f64) -> Window,
}

#[derive(Clone, Copy)]
pub(super) enum Unit {
    Percent,
    Times,
    Milliseconds,
    Count,
}

impl Unit {
    pub(super) fn words(self, size: f64) -> String {
        match self {
            Unit::Percent if size < 0.01 => format!("{:.1} %", size * 100.0),
            Unit::Percent => format!("{:.0} %", size * 100.0),
            Unit::Times => format!("{size:.2} times"),
            Unit::Milliseconds => format!("{:.0} ms", size * 1e3),
            Unit::Count => format!("{size:.0}"),
        }
    }
}

/// Length of windows with faults, in seconds: that of a search with `standard` durations. Shorter ones show
/// less.
pub(super) const SPAN: u32 = super::SPANS[1];

fn one(seed: u64, load: Load, plant: PlantedFault) -> Window {
    changed(seed, load, plant, |_| {})
}

fn changed(seed: u64, load: Load, plant: PlantedFault, change: impl Fn(&mut Simulation<Shop>)) -> Window {
    of_scenario(seed, load, plant, (SPAN, 1), change).remove(0)
}

fn tampered(seed: u64, tamper: impl Fn(&mut Window)) -> Window {
    let mut window = one(seed, Load::Closed, CLEAN);
    tamper(&mut window);
    window
}

/// Position of an instant within the window, 0 to 1.
fn into(seconds: f64) -> f64 {
    (seconds - f64::from(WARM_UP)) / f64::from(SPAN)
}

pub(super) static ALL: [Fault; 21] = [
    Fault {
        what: "{} of the operations in progress are lost by the counting",
        check: CheckId::Little,
        sizes: &[0.005, 0.02, 0.1],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| window.intervals.iter_mut().for_each(|i| i.in_flight_s *= 1.0 + size))
        },
    },
    Fault {
        what: "one start in fifty is {} late",
        check: CheckId::StartLag,
        sizes: &[0.01, 0.03, 0.1],
        unit: Unit::Milliseconds,
        window: |seed, size| {
            tampered(seed, |window| {
                for interval in &mut window.intervals {
                    let late = interval.starts / 50;
                    interval.lag.record_n((size * 1e6) as u64, late as u32 + 1).expect("within bounds");
                }
            })
        },
    },
    Fault {
        what: "the busiest worker uses {} of a core",
        check: CheckId::BusiestWorker,
        sizes: &[0.9, 0.97],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| {
                window.intervals.iter_mut().for_each(|i| i.busiest_worker_cpu_s = size);
            })
        },
    },
    Fault {
        what: "the hypervisor takes {}",
        check: CheckId::StolenCpu,
        sizes: &[0.05, 0.12],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| window.host.steal = Share::new(size).unwrap_or_default())
        },
    },
    Fault {
        what: "others use {} of the host's cores",
        check: CheckId::OutsideCpu,
        sizes: &[0.05, 0.12, 0.5],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| window.host.outside_cores = Ok(size * window.host.cores))
        },
    },
    Fault {
        what: "others wait for memory in {} of the time",
        check: CheckId::OutsideMemory,
        sizes: &[0.05, 0.2],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| {
                window.host.outside_memory_wait = Ok(Share::new(size).unwrap_or_default());
            })
        },
    },
    Fault {
        what: "others wait for disks in {} of the time",
        check: CheckId::OutsideDisks,
        sizes: &[0.05, 0.2],
        unit: Unit::Percent,
        window: |seed, size| {
            tampered(seed, |window| window.host.outside_io_wait = Ok(Share::new(size).unwrap_or_default()))
        },
    },
    Fault {
        what: "the wall clock jumps by {}",
        check: CheckId::Clock,
        sizes: &[0.05, 0.2],
        unit: Unit::Milliseconds,
        window: |seed, size| tampered(seed, |window| window.clock_jump_s = size),
    },
    Fault {
        what: "{} operations find no local port",
        check: CheckId::DriverFailures,
        sizes: &[1.0],
        unit: Unit::Count,
        window: |seed, _| {
            one(
                seed,
                Load::Closed,
                PlantedFault {
                    script: |now, _, rng, _| {
                        // One in three thousand is about four in a window, and one at least by the clock.
                        let own = rng.random::<f64>() < 1.0 / 3_000.0 || (into(now) - 0.5).abs() < 0.001;
                        (1.0, if own { Outcome::DriverFault } else { Outcome::Good })
                    },
                    ..CLEAN
                },
            )
        },
    },
    Fault {
        what: "service times grow {} from the start of the window to its end",
        check: CheckId::SteadyResponse,
        sizes: &[1.5, 2.0, 4.0],
        unit: Unit::Times,
        window: |seed, size| {
            let script = |now: f64, _: OpId, _: &mut Stream, size: f64| {
                (1.0 + (size - 1.0) * into(now).clamp(0.0, 1.0), Outcome::Good)
            };
            one(seed, Load::Closed, PlantedFault { script, size, ..CLEAN })
        },
    },
    Fault {
        what: "the load grows by {} in the window",
        check: CheckId::SteadyThroughput,
        sizes: &[0.05, 0.15, 0.3],
        unit: Unit::Percent,
        window: |seed, size| {
            changed(seed, Load::Closed, CLEAN, |sim| {
                let more = f64::from(LEVEL) * (1.0 + size);
                sim.ramp(more.round() as u32, Nanos::from_secs(SPAN.into()));
            })
        },
    },
    Fault {
        what: "for a third of the window everything takes {} as long",
        check: CheckId::SteadyState,
        sizes: &[2.0, 4.0, 6.0],
        unit: Unit::Times,
        window: |seed, size| {
            let script = |now: f64, _: OpId, _: &mut Stream, size: f64| {
                (if (0.3..0.63).contains(&into(now)) { size } else { 1.0 }, Outcome::Good)
            };
            one(seed, Load::Closed, PlantedFault { script, size, ..CLEAN })
        },
    },
    Fault {
        what: "in the last third {} of those who would browse buy besides",
        check: CheckId::SteadyMix,
        sizes: &[0.05, 0.15, 0.4],
        unit: Unit::Percent,
        window: |seed, size| {
            let buyers = |now: f64, size: f64| if into(now) < 0.667 { 0.2 } else { 0.2 + size };
            one(seed, Load::Closed, PlantedFault { buyers, size, ..CLEAN })
        },
    },
    Fault {
        what: "failures are refusals, and {} of them broken connections in the last third",
        check: CheckId::ErrorMix,
        sizes: &[0.25, 0.5, 1.0],
        unit: Unit::Percent,
        window: |seed, size| {
            let script = |now: f64, _: OpId, rng: &mut Stream, size: f64| {
                let outcome = match rng.random::<f64>() < 0.02 {
                    false => Outcome::Good,
                    true if into(now) > 0.667 && rng.random::<f64>() < size => Outcome::Broken,
                    true => Outcome::Refused,
                };
                (1.0, outcome)
            };
            one(seed, Load::Closed, PlantedFault { script, size, ..CLEAN })
        },
    },
    Fault {
        what: "users wait {} as long as their profile says",
        check: CheckId::Pacing,
        sizes: &[1.03, 1.1, 1.25],
        unit: Unit::Times,
        window: |seed, size| {
            one(seed, Load::Closed, PlantedFault { slower_pace: |size| size, size, ..CLEAN })
        },
    },
    Fault {
        what: "{} of the operations that begin in the first tenth of the window never end",
        check: CheckId::Pacing,
        sizes: &[0.005, 0.02, 0.08],
        unit: Unit::Percent,
        window: |seed, size| {
            let script = |now: f64, _: OpId, rng: &mut Stream, size: f64| {
                let hangs = (0.0..0.1).contains(&into(now)) && rng.random::<f64>() < size;
                (if hangs { f64::INFINITY } else { 1.0 }, Outcome::Good)
            };
            one(seed, Load::Closed, PlantedFault { script, size, ..CLEAN })
        },
    },
    Fault {
        what: "arrivals begin {} too rare and end as much too frequent",
        check: CheckId::Pacing,
        sizes: &[0.005, 0.03, 0.1],
        unit: Unit::Percent,
        window: |seed, size| {
            changed(seed, Load::Open(LEVEL), CLEAN, |sim| {
                let rate = |part: f64| (f64::from(LEVEL) * part).round() as u32;
                sim.ramp(rate(1.0 - size), Nanos::ZERO);
                sim.ramp(rate(1.0 + size), Nanos::from_secs(SPAN.into()));
            })
        },
    },
    Fault {
        what: "{} of the users are missing",
        check: CheckId::Users,
        sizes: &[0.005, 0.03, 0.1],
        unit: Unit::Percent,
        window: |seed, size| {
            changed(seed, Load::Closed, CLEAN, |sim| {
                sim.ramp((f64::from(LEVEL) * (1.0 - size)).round() as u32, Nanos::ZERO);
            })
        },
    },
    Fault {
        what: "arrivals are {} too rare",
        check: CheckId::OfferedRate,
        sizes: &[0.005, 0.03, 0.1],
        unit: Unit::Percent,
        window: |seed, size| {
            changed(seed, Load::Open(LEVEL), CLEAN, |sim| {
                sim.ramp((f64::from(LEVEL) * (1.0 - size)).round() as u32, Nanos::ZERO);
            })
        },
    },
    Fault {
        what: "{} command from outside changes the load",
        check: CheckId::ConstantLoad,
        sizes: &[1.0],
        unit: Unit::Count,
        window: |seed, size| tampered(seed, |window| window.level_changes = size as u32),
    },
    Fault {
        what: "there are {} users for arrivals that need about ten",
        check: CheckId::DriverBound,
        sizes: &[20.0, 5.0],
        unit: Unit::Count,
        window: |seed, size| one(seed, Load::Open(size as u32), CLEAN),
    },
];
