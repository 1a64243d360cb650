//! Limits of open files: the largest number of connections, and the workers needed to hold them.
//!
//! The limit holds for a table of open files. Each worker of the driver has its own table, so more workers
//! hold more connections. The workload states the number of tables of a deployed application.

use barograph_model::words::{count, users};
use barograph_model::{LoadUnit, Strategy};
use barograph_spec::Connections;

use super::{LoadLimit, PlanCheck, Target, WrongValue};

/// Files in a table besides the users' connections.
const OTHER_FILES: u64 = 500;

/// Largest number of workers, as for the key `driver.workers`.
const MOST_WORKERS: usize = 256;

impl PlanCheck<'_> {
    /// Connections that fit in one table of open files.
    fn table(&self) -> u64 {
        self.machine.open_files.saturating_sub(OTHER_FILES).max(1)
    }

    /// Connections that both target and driver can hold.
    fn capacity(&self) -> u64 {
        self.capacity_of(match self.plan.driver.workers {
            0 => MOST_WORKERS,
            given => given,
        })
    }

    fn capacity_of(&self, workers: usize) -> u64 {
        let tables = self.target_tables().map_or(workers, |target| target.min(workers));
        self.table().saturating_mul(tables as u64)
    }

    /// Tables of open files available to an application of the run.
    fn target_tables(&self) -> Option<usize> {
        let application = self.workload.application().filter(|_| self.target == Target::Deployed)?;
        Some(application.tables(&self.plan))
    }

    /// Largest number of users, up to `most`, whose connections fit.
    fn fitting(&self, most: u32, kept: Connections) -> u32 {
        self.fitting_into(self.capacity(), most, kept)
    }

    /// As `fitting`, with connections kept and no workers added.
    pub(super) fn fitting_as_asked(&self, most: u32) -> u32 {
        let workers = match self.plan.driver.workers {
            0 => self.half_the_cores(),
            given => given,
        };
        let kept = match self.plan.driver.connections {
            Connections::Close => Connections::Close,
            Connections::Keep | Connections::Auto => Connections::Keep,
        };
        self.fitting_into(self.capacity_of(workers), most, kept).max(1)
    }

    fn half_the_cores(&self) -> usize {
        (self.machine.cores / 2).max(1)
    }

    fn fitting_into(&self, capacity: u64, most: u32, kept: Connections) -> u32 {
        let fits = |users: u32| self.workload.connections(users, kept) <= capacity;
        if fits(most) {
            return most;
        }
        let (mut low, mut high) = (0, most);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Names the side whose limit of open files is too low.
    fn holder(&self) -> String {
        match self.capacity() / self.table() {
            0 | 1 => "a process here".to_owned(),
            n if self.target_tables() == Some(n as usize) => {
                format!("each of {n} threads of the target here")
            }
            n => format!("each of {n} workers here"),
        }
    }

    /// Largest number of users that fit, independent of the plan.
    pub(super) fn most_users(&self) -> u32 {
        let admitted = self.data.as_ref().map_or(u32::MAX, |data| data.max_users);
        self.fitting(admitted, self.plan.driver.connections)
    }

    /// Chooses how users treat idle connections, by the limit of open files. If even closing them is not
    /// enough, a search is bounded by what fits, and a fixed number of users is refused.
    pub(super) fn connections(&mut self, most: u32) {
        if self.plan.driver.connections == Connections::Auto {
            let keep = self.fitting(most, Connections::Keep) >= most;
            self.plan.driver.connections = if keep { Connections::Keep } else { Connections::Close };
            if !keep {
                let open_files = self.machine.open_files;
                self.notes.push(format!(
                    "a process here may open {open_files} files, too few for {} to keep idle connections; they close \
                     them when an operation ends (driver.connections = close)",
                    users(most)
                ));
            }
        }
        let fits = self.fitting(most, self.plan.driver.connections);
        if fits < most {
            self.fit(most, fits);
        }
    }

    /// Handles `most` users whose connections exceed the limit of open files; those of `fits` users do not.
    fn fit(&mut self, most: u32, fits: u32) {
        let (open_files, holder) = (self.machine.open_files, self.holder());
        let per_table = self.capacity() / self.table();
        let connections = self.workload.connections(most, self.plan.driver.connections);
        let needed = connections.div_ceil(per_table.max(1)) + OTHER_FILES;
        let remedy =
            format!("raise the limit to {needed} (ulimit -n; it needs root), or lower the number of users");
        let is_rate = self.plan.unit == LoadUnit::PerSecond;
        let (key, wanted) = match &mut self.plan.strategy {
            _ if is_rate => ("load.most_users", most),
            Strategy::Search(bounds) if fits >= bounds.min.max(1) => {
                // Rounded down, so that the search does not spend trials on the last few users.
                let fits = if fits >= 1_000 { fits / 100 * 100 } else { fits }.max(bounds.min);
                bounds.max = fits;
                self.most = LoadLimit::OpenFiles { limit: self.machine.open_files };
                self.notes.push(format!(
                    "the connections of {} fit into the {open_files} files {holder} may open, so the search looks no further; \
                     to look further: {remedy}",
                    users(fits)
                ));
                return;
            }
            Strategy::Search(bounds) => ("load.min_users", bounds.min.max(1)),
            Strategy::Fixed { level, .. } => ("load.users", level.whole()),
            Strategy::Path(_) => ("load.path", most),
        };
        let allowed = format!("at most {fits}: {holder} may open {open_files} files");
        self.refuse(WrongValue { key, value: wanted.to_string(), allowed, remedy });
    }

    /// Sets the number of workers if the plan leaves it open: half of the cores, as the other half belongs to
    /// the target, and more if the users' connections need more tables of open files. In an open loop every
    /// worker has at least one user.
    pub(super) fn workers(&mut self) {
        if self.workload.operations_block() {
            return self.a_worker_for_each_user();
        }
        if self.plan.driver.workers > 0 {
            self.refuse_idle_workers();
            return;
        }
        let most = self.plan.most_users();
        let connections = self.workload.connections(most, self.plan.driver.connections);
        let needed = usize::try_from(connections.div_ceil(self.table())).unwrap_or(MOST_WORKERS);
        let half = self.half_the_cores();
        let useful = self.open.as_ref().map_or(MOST_WORKERS, |open| open.most_users.max(1) as usize);
        self.plan.driver.workers = half.max(needed).min(useful).min(MOST_WORKERS);
        if needed > half {
            self.notes.push(format!(
                "{} workers drive the load instead of {half}: the connections of {} need {} open files, and each worker \
                 has a table of {}",
                self.plan.driver.workers,
                users(most),
                count(connections),
                count(self.machine.open_files)
            ));
        }
    }

    /// Sets one worker for each user of a workload whose operations block.
    fn a_worker_for_each_user(&mut self) {
        let most = match &mut self.plan.strategy {
            Strategy::Fixed { level, .. } => level.whole(),
            Strategy::Path(path) => path.most().whole(),
            Strategy::Search(bounds) => {
                if self.most == LoadLimit::LeftOpen {
                    bounds.max = bounds.max.min(MOST_WORKERS as u32);
                }
                bounds.max
            }
        };
        let key = match &self.plan.strategy {
            Strategy::Fixed { .. } => "load.users",
            Strategy::Search(_) => "load.max_users",
            Strategy::Path(_) => "load.path",
        };
        let threads = most as usize;
        if self.plan.unit == LoadUnit::PerSecond {
            self.refuse(WrongValue {
                key: "load.unit",
                value: "\"rate\"".to_owned(),
                allowed: "users: operations of this workload block, and each user is a thread".to_owned(),
                remedy: "ask for users; a pace of theirs limits the rate".to_owned(),
            });
        } else if threads > MOST_WORKERS {
            self.refuse(WrongValue {
                key,
                value: most.to_string(),
                allowed: format!("at most {MOST_WORKERS}: each user of this workload is a thread"),
                remedy: "lower it".to_owned(),
            });
        } else if ![0, threads].contains(&self.plan.driver.workers) {
            self.refuse(WrongValue {
                key: "driver.workers",
                value: self.plan.driver.workers.to_string(),
                allowed: format!("{threads}, one for each user: operations of this workload block"),
                remedy: "leave it out".to_owned(),
            });
        }
        self.plan.driver.workers = threads.min(MOST_WORKERS);
    }

    /// Refuses an open loop with fewer users than workers. Arrivals are dealt evenly to all workers, and a
    /// worker without users would drop its share.
    fn refuse_idle_workers(&mut self) {
        let (given, users) = match &self.open {
            Some(open) => (self.plan.driver.workers, open.most_users),
            None => return,
        };
        if given > users as usize {
            self.refuse(WrongValue {
                key: "driver.workers",
                value: given.to_string(),
                allowed: format!(
                    "at most {users}, the number of load.most_users: a worker without a user can start nothing"
                ),
                remedy: "lower it, or raise load.most_users".to_owned(),
            });
        }
    }
}
