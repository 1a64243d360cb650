//! Checks in words.

use super::{Check, CheckFacts, CheckId, Excuse, OutlyingStretch};
use crate::words::{count, counted, figure, millis};

impl CheckId {
    /// Returns the name in sentences and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CheckId::StartLag => "driver start lag",
            CheckId::BusiestWorker => "busiest driver worker",
            CheckId::Users => "users present",
            CheckId::OfferedRate => "offered rate",
            CheckId::DriverBound => "driver bound",
            CheckId::DriverFailures => "driver's own failures",
            CheckId::StolenCpu => "stolen CPU",
            CheckId::OutsideCpu => "CPU used by others",
            CheckId::OutsideMemory => "memory pressure from outside",
            CheckId::OutsideDisks => "disk pressure from outside",
            CheckId::Little => "Little's law",
            CheckId::Pacing => "pacing",
            CheckId::SteadyThroughput => "steady throughput",
            CheckId::SteadyResponse => "steady response time",
            CheckId::SteadyState => "steady state",
            CheckId::SteadyMix => "steady mix",
            CheckId::MixAfterStep => "mix after a step",
            CheckId::ErrorMix => "error mix",
            CheckId::Clock => "clock",
            CheckId::ConstantLoad => "constant load",
        }
    }
}

impl Check {
    /// Returns the value with its unit.
    #[must_use]
    pub fn found(&self) -> String {
        let excuse = match self.excuse {
            None => "",
            Some(Excuse::SlowService) => "; by service time alone the target is too slow",
            Some(Excuse::GetsWorse) => "; it gets worse in a window that fails anyway",
            Some(Excuse::Overload) => "; the window fails anyway",
        };
        let driver = self.driver.as_ref().map_or_else(String::new, |(name, figure)| match self.id {
            CheckId::StartLag => format!("; most in {name} with {}", millis(*figure)),
            _ => format!("; most in {name} with {:.0} %", figure * 100.0),
        });
        format!("{}{excuse}{driver}", found(self.id, &self.facts))
    }

    /// Returns the limit with its unit.
    #[must_use]
    pub fn allowed(&self) -> String {
        let whole = |share: f64| format!("{:.0} %", share * 100.0);
        match &self.facts {
            CheckFacts::StartLag { most_ms, is_limited, .. } => {
                let why = if *is_limited { "" } else { ", as no response time is limited" };
                format!("at most {}{why}", millis(*most_ms))
            }
            CheckFacts::Worker { most, .. }
            | CheckFacts::Stolen { most, .. }
            | CheckFacts::Waiting { most, .. } => format!("at most {}", whole(*most)),
            CheckFacts::Users { asked, tolerance, .. } => format!("{asked} within {}", whole(*tolerance)),
            CheckFacts::Rate { tolerance: None, .. } => {
                "any: arrivals are a trace, or begin sessions".to_owned()
            }
            CheckFacts::Rate { asked, tolerance: Some(tolerance), .. } => {
                format!("{asked} within {}", percent(*tolerance))
            }
            CheckFacts::Dropped { .. } => "none; raise load.most_users or load.most_waiting".to_owned(),
            CheckFacts::Failed { .. } => "none".to_owned(),
            CheckFacts::Outside { most, idle_enough, .. } => {
                format!("at most {}, or {} of the host idle", whole(*most), whole(*idle_enough))
            }
            CheckFacts::Little { most, .. } => format!("at most {} apart", whole(*most)),
            CheckFacts::NothingEnded => "some".to_owned(),
            CheckFacts::Pacing { least_s, most_s, tolerance, .. } => format!(
                "{:.2} to {:.2}, as the profile and service times make them, within {}",
                least_s * 60.0,
                most_s * 60.0,
                percent(*tolerance)
            ),
            CheckFacts::Thirds { tolerance, .. } => format!("within {} in every third", percent(*tolerance)),
            CheckFacts::Drift { most, floor_ms, .. } => {
                let floor = floor_ms.map_or_else(String::new, |ms| format!(", or at most {}", millis(ms)));
                format!("within {} of the mean, or not certain at 99 %{floor}", whole(*most))
            }
            CheckFacts::Stretch { most, floor_ms, .. } => {
                let floor = floor_ms.map_or_else(String::new, |ms| {
                    format!(", of response time by more than {} besides", millis(ms))
                });
                format!("no stretch that moves the mean by more than {}{floor}", whole(*most))
            }
            CheckFacts::Shares { most, .. } if self.id == CheckId::ErrorMix => {
                format!("{} of other kinds in a third of the window, or not certain", whole(*most))
            }
            CheckFacts::Shares { most, .. } => {
                format!("at most {}, or not certain beyond how it swings anyway", whole(*most))
            }
            CheckFacts::AfterStep { session_s, .. } => {
                format!("the required mix, or a window later than a mean session ({session_s:.0} s)")
            }
            CheckFacts::Clock { most_s, .. } => format!("less than {most_s} s apart"),
            CheckFacts::Changes { .. } => "none in a measured window".to_owned(),
            CheckFacts::NotJudged { .. } => "any".to_owned(),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn starts(rate: f64) -> String {
    match rate {
        _ if rate < 10.0 => figure(rate),
        _ if rate < 1_000.0 => format!("{rate:.1}"),
        _ => count(rate.round() as u64),
    }
}

fn found(id: CheckId, facts: &CheckFacts) -> String {
    match facts {
        CheckFacts::StartLag { p99_ms, .. } => format!("p99 {}", millis(*p99_ms)),
        CheckFacts::Worker { share, .. } => format!("{:.0} % of a core", share * 100.0),
        CheckFacts::Users { least, most, .. } if least == most => least.to_string(),
        CheckFacts::Users { least, most, .. } => format!("{least} to {most}"),
        CheckFacts::Rate { rate, late: 0, .. } => format!("{} starts/s", starts(*rate)),
        CheckFacts::Rate { rate, late, .. } => {
            format!("{} starts/s, {} late", starts(*rate), counted(*late, "arrival"))
        }
        CheckFacts::Dropped { arrivals } => format!("{} dropped", counted(*arrivals, "arrival")),
        CheckFacts::Failed { operations: 0 } => "none".to_owned(),
        CheckFacts::Failed { operations } => format!(
            "{} failed because the driver had no port, file or memory left, or was forbidden to connect",
            counted(*operations, "operation")
        ),
        CheckFacts::Stolen { share, .. } => {
            format!("{} of the host's CPU time taken by the hypervisor", percent(*share))
        }
        CheckFacts::Outside { cores, of_cores, share, idle, .. } => format!(
            "{cores:.2} of {of_cores} cores ({}) outside of the run, {} idle",
            percent(*share),
            percent(*idle)
        ),
        CheckFacts::Waiting { share, .. } => {
            let what = if id == CheckId::OutsideMemory { "memory" } else { "disks" };
            format!("others waited for {what} in {} of the time", percent(*share))
        }
        CheckFacts::Little { in_flight, served, over_edges, apart, .. } => format!(
            "{in_flight:.2} in flight, throughput x service time {served:.2}, over the edges {over_edges:.2}: {} apart",
            percent(*apart)
        ),
        CheckFacts::NothingEnded => "no operation ended".to_owned(),
        CheckFacts::Pacing { behaviour, rate_s, .. } => {
            format!("{:.2} operations of {behaviour} per user and minute", rate_s * 60.0)
        }
        CheckFacts::Thirds { furthest_s, mean_s, .. } => {
            format!("{furthest_s:.1} starts/s in the third that is furthest from the mean of {mean_s:.1}")
        }
        CheckFacts::Drift { found: None, fewest, .. } => {
            format!("fewer than {fewest} intervals, or nothing in them")
        }
        CheckFacts::Drift { found: Some(drift), .. } => format!(
            "drifts by {:+.1} % ({:+.1} to {:+.1} %)",
            drift.relative * 100.0,
            drift.low * 100.0,
            drift.high * 100.0
        ),
        CheckFacts::Stretch { found: None, .. } => "the same throughout".to_owned(),
        CheckFacts::Stretch { found: Some(found), .. } => stretch(found),
        CheckFacts::Shares { kind, third, share, in_rest, .. } if id == CheckId::ErrorMix => {
            error_mix(kind.as_deref(), *third, (*share, *in_rest))
        }
        CheckFacts::Shares { kind, third, distance, share, in_rest, .. } => format!(
            "{} of the operations in the {} are others than in the rest, most of all {}: {} and {}",
            percent(*distance),
            name_of_third(*third),
            kind.as_deref().unwrap_or("rare operations"),
            percent(*share),
            percent(*in_rest)
        ),
        CheckFacts::AfterStep { op, share, required, after_s, .. } => format!(
            "{op} was {:.2} % of the mix instead of {:.2} %, {after_s:.0} s after many users came or had waited",
            share * 100.0,
            required * 100.0
        ),
        CheckFacts::Clock { apart_s, .. } => format!("wall clock {apart_s:+.3} s against monotonic clock"),
        CheckFacts::Changes { changes: 1 } => "1 change by a control command".to_owned(),
        CheckFacts::Changes { changes } => format!("{changes} changes by control commands"),
        CheckFacts::NotJudged { why: None } => "not judged".to_owned(),
        CheckFacts::NotJudged { why: Some(why) } => format!("not judged: {why}"),
    }
}

/// The difference in percent; both means where one of them is zero.
fn stretch(found: &OutlyingStretch) -> String {
    let (what, amount): (_, fn(f64) -> String) = match found.is_response {
        true => ("mean response time", |seconds| millis(seconds * 1e3)),
        false => ("throughput", |rate| format!("{}/s", figure(rate))),
    };
    let difference = match found.change().filter(|_| found.mean > 0.0) {
        Some(change) if change < 0.0 => format!("{:.0} % below that of the rest", -change * 100.0),
        Some(change) => format!("{:.0} % above that of the rest", change * 100.0),
        None => format!("{}, in the rest {}", amount(found.mean), amount(found.rest)),
    };
    format!("from {:.0} s to {:.0} s {what} was {difference}", found.from_s, found.to_s)
}

fn error_mix(kind: Option<&str>, third: usize, (share, in_rest): (f64, f64)) -> String {
    format!(
        "{}: {:.0} % of the failures in the {}, {:.0} % in the rest",
        kind.unwrap_or("rare kinds"),
        share * 100.0,
        name_of_third(third),
        in_rest * 100.0
    )
}

fn name_of_third(third: usize) -> &'static str {
    ["first third", "middle third", "last third"].get(third).copied().unwrap_or("window")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_of_checks_differ() {
        let of = |text: fn(CheckId) -> &'static str| {
            CheckId::ALL.into_iter().map(text).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!((of(CheckId::id), of(CheckId::name)), (CheckId::ALL.len(), CheckId::ALL.len()));
    }

    #[test]
    fn a_stretch_apart_is_compared_with_the_rest_or_beside_it_where_one_is_zero() {
        let facts = |is_response, (mean, rest)| CheckFacts::Stretch {
            found: Some(OutlyingStretch { is_response, mean, rest, from_s: 0.0, to_s: 3.0 }),
            most: 0.1,
            floor_ms: None,
        };
        let says =
            |is_response, means| Check::new(CheckId::SteadyState, facts(is_response, means), false).found();
        assert_eq!(says(false, (14.0, 10.0)), "from 0 s to 3 s throughput was 40 % above that of the rest");
        let slow = "from 0 s to 3 s mean response time was 25 % below that of the rest";
        assert_eq!(says(true, (0.3, 0.4)), slow);
        assert_eq!(says(false, (3.25, 0.0)), "from 0 s to 3 s throughput was 3.25/s, in the rest 0/s");
        assert_eq!(says(false, (0.0, 3.25)), "from 0 s to 3 s throughput was 0/s, in the rest 3.25/s");
        let named = |means| facts(false, means).figures()[0].0;
        assert_eq!((named((1.0, 2.0)), named((1.0, 0.0))), ("change_share", "from_s"), "no infinite share");
    }

    #[test]
    fn a_check_names_the_driver_and_the_excuse() {
        let lag = CheckFacts::StartLag { p99_ms: 40.0, most_ms: 15.0, is_limited: true };
        let check = Check {
            driver: Some(("driver-1".to_owned(), 41.0)),
            ..Check::new(CheckId::StartLag, lag, false)
        };
        assert_eq!(
            (check.found().as_str(), check.allowed().as_str()),
            ("p99 40 ms; most in driver-1 with 41 ms", "at most 15 ms")
        );
        let dropped = CheckFacts::Dropped { arrivals: 1_700 };
        let check = Check::excused(CheckId::DriverBound, dropped, (false, Some(Excuse::SlowService)));
        assert!(check.ok);
        assert_eq!(check.found(), "1,700 arrivals dropped; by service time alone the target is too slow");
    }
}
