//! Load of a plan: open bounds, limits of the data, traces.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use barograph_model::words::count;
use barograph_model::{Arrivals, Behaviours, Level, LoadUnit, Nanos, OpenLoop, Refusal, Strategy};
use barograph_spec::{ArrivalsPlan, DEFAULT_MIN_RATE, DEFAULT_MIN_USERS, FEWEST_INTERVALS};

use super::{LoadLimit, PlanCheck, WrongValue};

/// Highest number of users in a search, if neither plan nor data set a bound.
const MOST_USERS_LEFT_OPEN: u32 = 100_000;

/// Highest rate of a search in starts per second, if the plan sets no bound.
const MOST_RATE_LEFT_OPEN: u32 = 1_000_000;

/// Smallest number of users for an open loop that leaves the number open.
const MOST_USERS_AT_LEAST: f64 = 1_000.0;
/// Largest number of users for an open loop that leaves the number open.
const MOST_USERS_NO_MORE: f64 = 100_000.0;

/// Room for response times in an open loop that leaves its users open, in multiples of the tightest limit.
/// Twice the limit lets a target fail by service time alone. With fewer users a limit of the target could not
/// be told from a limit of the driver.
const LIMITS_OF_ROOM: f64 = 2.0;

/// Used as the tightest limit if there is none: the usual patience of a person.
const UNLIMITED: Nanos = Nanos::from_secs(1);

/// Longest trace file, in bytes.
const LONGEST_TRACE: u64 = 256 << 20;

impl PlanCheck<'_> {
    /// Builds the open loop of the plan and reads its trace. A window of length zero becomes as long as the
    /// trace.
    pub(super) fn open_loop(&mut self) {
        let Some(open) = self.plan.open.clone() else { return };
        let arrivals = match &open.arrivals {
            ArrivalsPlan::Constant => Arrivals::Constant,
            ArrivalsPlan::Poisson => Arrivals::Poisson,
            ArrivalsPlan::Trace(file) => match read_trace(&self.plan.file_of("load.trace", file)) {
                Ok(instants) => Arrivals::Trace(instants),
                Err(mut wrong) => {
                    if wrong.place.is_empty() {
                        self.plan.place("load.trace").clone_into(&mut wrong.place);
                    }
                    self.refusals.push(wrong);
                    return;
                }
            },
        };
        if let (Arrivals::Trace(instants), Nanos::ZERO) = (&arrivals, self.plan.durations.window) {
            let length = instants.last().map_or(0.0, |last| last.as_secs_f64());
            let least = self.plan.driver.interval.as_secs_f64() * f64::from(FEWEST_INTERVALS);
            // One second beyond the last arrival, so that its operations can end in the window.
            self.plan.durations.window = Nanos::from_secs_f64((length.ceil() + 1.0).max(least.ceil()));
        }
        if let Arrivals::Trace(instants) = &arrivals {
            self.mean_of(instants);
        }
        self.open = Some(OpenLoop {
            arrivals,
            start_of: open.start_of,
            most_users: open.most_users,
            most_waiting: open.most_waiting,
        });
    }

    /// Sets the level of a trace to its mean rate, as traces have no level of their own.
    fn mean_of(&mut self, instants: &[Nanos]) {
        let length = instants.last().map_or(0.0, |last| last.as_secs_f64()).max(1.0);
        let mean = Level::from((instants.len() as f64 / length).round().max(1.0) as u32);
        if let Strategy::Fixed { level, .. } = &mut self.plan.strategy {
            *level = mean;
        }
        self.notes.push(format!(
            "the trace has {} starts in {length:.1} s; its mean of {mean} starts/s stands for the load where one is named",
            count(instants.len() as u64)
        ));
    }

    /// Sets the number of users of an open loop once the highest rate is known. By Little's law it is rate
    /// times response time.
    pub(super) fn open_users(&mut self) {
        let Some(open) = self.open.as_ref().filter(|open| open.most_users == 0) else { return };
        let rate = match (&open.arrivals, &self.plan.strategy) {
            // The peak of a trace is not known without playing it.
            (Arrivals::Trace(_), _) => Level::ZERO,
            (_, strategy) => strategy.most(),
        };
        let profile = self.workload.profile(&self.plan.profile);
        let limits = profile.iter().flat_map(|profile| profile.response_limits());
        let limit = limits.map(|(.., limit)| limit).min().unwrap_or(UNLIMITED);
        let wanted = f64::from(rate) * limit.as_secs_f64() * LIMITS_OF_ROOM;
        let wanted = wanted.clamp(MOST_USERS_AT_LEAST, MOST_USERS_NO_MORE) as u32;
        let admitted = self.data.as_ref().map_or(u32::MAX, |data| data.max_users);
        let fits = self.fitting_as_asked(wanted.min(admitted));
        if let (Some(open), Some(plan)) = (&mut self.open, &mut self.plan.open) {
            (open.most_users, plan.most_users) = (fits, fits);
        }
    }

    /// Refuses a number of operations where it cannot be counted: remote drivers share no counter, and with
    /// several activities an arrival begins more than one operation.
    pub(super) fn operations(&mut self) {
        let Some(operations) = self.plan.operations else { return };
        let has_more = |behaviours: Behaviours| behaviours.all().len() > 1;
        let allowed = if self.plan.driver_units() > 0 {
            "0 with drivers that are units"
        } else if self.open.is_some() && self.workload.behaviours(&self.plan.profile).is_some_and(has_more) {
            "0 with a rate for users that have several activities"
        } else {
            return;
        };
        self.refuse(WrongValue {
            key: "load.operations",
            value: operations.to_string(),
            allowed: allowed.to_owned(),
            remedy: "set load.window_s instead, or one driver with driver.place = \"own\" and load.unit = \"users\""
                .to_owned(),
        });
    }

    /// Refuses a number of users that the data do not admit.
    fn refuse_users(&mut self, key: &'static str, users: u32) {
        let Some(data) = &self.data else { return };
        let allowed = format!("at most {}, which is what data of size {} admit", data.max_users, data.size);
        self.refuse(WrongValue {
            key,
            value: users.to_string(),
            allowed,
            remedy: "lower it, or choose a larger data.size (`barograph list sizes`)".to_owned(),
        });
    }

    /// Fills in the highest level if the plan leaves it open. Returns the largest number of users.
    pub(super) fn most_load(&mut self) -> u32 {
        let unit = self.plan.unit;
        let admitted = self.data.as_ref().map(|data| data.max_users);
        let left_open = match (unit, admitted) {
            (LoadUnit::Users, Some(admitted)) => (admitted, LoadLimit::Data),
            (LoadUnit::Users, None) => (MOST_USERS_LEFT_OPEN, LoadLimit::LeftOpen),
            (LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles, _) => {
                (MOST_RATE_LEFT_OPEN, LoadLimit::LeftOpen)
            }
        };
        let (key, level) = match &mut self.plan.strategy {
            Strategy::Fixed { level, .. } => ("load.users", level.whole()),
            Strategy::Path(path) => ("load.path", path.most().whole()),
            Strategy::Search(bounds) => {
                if bounds.max == 0 {
                    (bounds.max, self.most) = left_open;
                }
                ("load.max_users", bounds.max)
            }
        };
        self.open_users();
        // In an open loop the data limit the users, not the rate.
        let (key, users) = match (unit, &self.open) {
            (LoadUnit::PerSecond, Some(open)) => ("load.most_users", open.most_users),
            _ => (key, level),
        };
        if let Some(admitted) = admitted {
            if users > admitted {
                self.refuse_users(key, users);
            }
            if unit == LoadUnit::Users && users >= admitted {
                self.most = LoadLimit::Data;
            }
        }
        users
    }

    /// Fills in the lowest level worth a trial, once the highest is known.
    pub(super) fn least_load(&mut self) {
        let unit = self.plan.unit;
        let admitted = self.data.as_ref().map(|data| data.max_users);
        let Strategy::Search(bounds) = &mut self.plan.strategy else { return };
        let asked = bounds.min;
        if asked == 0 {
            let default = match unit {
                LoadUnit::Users => DEFAULT_MIN_USERS,
                LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => DEFAULT_MIN_RATE,
            };
            bounds.min = default.min(bounds.max);
        } else if unit == LoadUnit::Users && admitted.is_some_and(|admitted| asked > admitted) {
            self.refuse_users("load.min_users", asked);
        }
    }
}

/// A refusal without a place is about the key of the plan, one with a place about a line of the file.
fn read_trace(file: &Path) -> Result<Arc<[Nanos]>, Refusal> {
    let name = file.display().to_string();
    let unreadable = |allowed: String| Refusal {
        place: String::new(),
        key: "load.trace".to_owned(),
        value: format!("{name:?}"),
        allowed,
        remedy: "name a file with an instant per line, in seconds from the start of the load".to_owned(),
    };
    let mut text = String::new();
    let opened = std::fs::File::open(file);
    let read = opened.and_then(|file| file.take(LONGEST_TRACE + 1).read_to_string(&mut text));
    match read {
        Err(why) => Err(unreadable(format!("a file of text that can be read ({why})"))),
        Ok(length) if length as u64 > LONGEST_TRACE => {
            Err(unreadable(format!("at most {} MiB of text", LONGEST_TRACE >> 20)))
        }
        Ok(_) => barograph_spec::trace(&name, &text).map(Into::into),
    }
}
