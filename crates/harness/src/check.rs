//! Is the plan possible here? Everything that can be known before anything is created.

use std::net::TcpListener;

use barograph_model::{Nanos, Strategy};
use barograph_spec::{Connections, DEFAULT_MIN_USERS, Plan, Refusal, Refused};

use crate::words::{count, users};
use crate::{DataSet, WorkloadKind};

/// Files a process of ours holds beside the connections of users.
const OTHER_FILES: u64 = 500;

/// An answer that was held back still has to be made and to travel; an operation must be given this much longer.
const AFTER_WAIT: Nanos = Nanos::from_secs(5);

/// A plan that is possible, with what was found out on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The plan with its bounds resolved against the data.
    pub plan: Plan,
    /// The data.
    pub data: DataSet,
    /// What a user should know, in sentences.
    pub notes: Vec<String>,
    /// Why there can be no more users than the plan has now.
    pub most_users: MostUsers,
}

/// What sets the most users of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostUsers {
    /// The plan asks for no more.
    Plan,
    /// The data admit no more.
    Data,
    /// More would need more open files than a process may have.
    OpenFiles {
        /// How many files a process may have open.
        limit: u64,
    },
}

impl MostUsers {
    /// As the reason in a sentence.
    pub(crate) fn because(self) -> String {
        match self {
            MostUsers::Plan => "the plan asks for no more".to_owned(),
            MostUsers::Data => "the data admit no more".to_owned(),
            MostUsers::OpenFiles { limit } => {
                format!(
                    "the connections of more do not fit into the {} files a process may open",
                    count(limit)
                )
            }
        }
    }
}

/// What a check must know of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Files a process of ours may have open.
    pub open_files: u64,
    /// Bytes free where the data go; `None` when nobody can tell.
    pub free_bytes: Option<u64>,
}

/// Checks a plan against the workload and this machine.
pub fn check(plan: &Plan, kind: &dyn WorkloadKind, machine: Machine) -> Result<Checked, Refused> {
    let mut refusals = Vec::new();
    if kind.profile(&plan.profile).is_none() {
        let wrong = Wrong {
            key: "profile",
            value: format!("{:?}", plan.profile),
            allowed: format!("one of {}", kind.profiles().join(", ")),
            remedy: "name one of them".to_owned(),
        };
        refusals.push(wrong.at(plan));
    }
    let data = match kind.data(&plan.data, plan.seed) {
        Ok(data) => data,
        Err(mut wrong) => {
            plan.place(&wrong.key).clone_into(&mut wrong.place);
            refusals.push(wrong);
            return Err(Refused(refusals));
        }
    };
    let (plan, notes, most) = (plan.clone(), Vec::new(), MostUsers::Plan);
    let mut checking = Checking { plan, kind, data, machine, refusals, notes, most };
    let users = checking.most_users();
    checking.open_files(users);
    checking.fewest_users();
    checking.port();
    checking.room();
    checking.timeout();
    checking.end()
}

/// A value of the plan that cannot be.
struct Wrong {
    key: &'static str,
    value: String,
    allowed: String,
    remedy: String,
}

impl Wrong {
    fn at(self, plan: &Plan) -> Refusal {
        Refusal {
            place: plan.place(self.key).to_owned(),
            key: self.key.to_owned(),
            value: self.value,
            allowed: self.allowed,
            remedy: self.remedy,
        }
    }
}

/// A check in progress: the plan as far as it is resolved, and what was found.
struct Checking<'a> {
    plan: Plan,
    kind: &'a dyn WorkloadKind,
    data: DataSet,
    machine: Machine,
    refusals: Vec<Refusal>,
    notes: Vec<String>,
    most: MostUsers,
}

impl Checking<'_> {
    fn refuse(&mut self, wrong: Wrong) {
        self.refusals.push(wrong.at(&self.plan));
    }

    /// Refuses a number of users that the data do not admit.
    fn refuse_users(&mut self, key: &'static str, users: u32) {
        self.refuse(Wrong {
            key,
            value: users.to_string(),
            allowed: format!(
                "at most {}, which is what data of size {} admit",
                self.data.max_users, self.data.size
            ),
            remedy: "lower it, or choose a larger data.size (`barograph list sizes`)".to_owned(),
        });
    }

    /// Puts the data's limit into the plan; says how many users there can be at the most.
    fn most_users(&mut self) -> u32 {
        let admitted = self.data.max_users;
        let (key, most) = match &mut self.plan.strategy {
            Strategy::Fixed { users, .. } => ("load.users", *users),
            Strategy::Search(bounds) => {
                if bounds.max_users == 0 {
                    bounds.max_users = admitted;
                }
                ("load.max_users", bounds.max_users)
            }
        };
        if most > admitted {
            self.refuse_users(key, most);
        }
        self.most = if most < admitted { MostUsers::Plan } else { MostUsers::Data };
        most
    }

    /// Resolves the fewest users worth a trial, when the most are known.
    fn fewest_users(&mut self) {
        let admitted = self.data.max_users;
        let Strategy::Search(bounds) = &mut self.plan.strategy else { return };
        let asked = bounds.min_users;
        if asked == 0 {
            bounds.min_users = DEFAULT_MIN_USERS.min(bounds.max_users);
        } else if asked > admitted {
            self.refuse_users("load.min_users", asked);
        }
    }

    /// Chooses what users do with idle connections by what the limit of open files allows. Where even closing them does
    /// not fit, a search looks no further than what fits, and a fixed number is refused.
    fn open_files(&mut self, most: u32) {
        let open_files = self.machine.open_files;
        let room = open_files.saturating_sub(OTHER_FILES) as f64;
        let fits = |c: Connections| (room / self.kind.connections_per_user(c)) as u32;
        if self.plan.driver.connections == Connections::Auto {
            let keep = fits(Connections::Keep) >= most;
            self.plan.driver.connections = if keep { Connections::Keep } else { Connections::Close };
            if !keep {
                self.notes.push(format!(
                    "a process here may open {open_files} files, too few for {} to keep idle connections; they close \
                     them when an operation ends (driver.connections = close)",
                    users(most)
                ));
            }
        }
        let fits = fits(self.plan.driver.connections);
        if fits < most {
            self.fit(most, fits);
        }
    }

    /// The connections of `most` users need more files than there may be; those of `fits` users do not.
    fn fit(&mut self, most: u32, fits: u32) {
        let open_files = self.machine.open_files;
        let per_user = self.kind.connections_per_user(self.plan.driver.connections);
        let needed = (f64::from(most) * per_user) as u64 + OTHER_FILES;
        let remedy =
            format!("raise the limit to {needed} (ulimit -n; it needs root), or lower the number of users");
        let (key, wanted) = match &mut self.plan.strategy {
            Strategy::Search(bounds) if fits >= bounds.min_users.max(1) => {
                // A round number, so that the search does not try to get the last dozen of users in.
                let fits = if fits >= 1_000 { fits / 100 * 100 } else { fits }.max(bounds.min_users);
                bounds.max_users = fits;
                self.most = MostUsers::OpenFiles { limit: open_files };
                self.notes.push(format!(
                    "the connections of {} fit into the {open_files} files a process here may open, so the search \
                     looks no further; to look further: {remedy}",
                    users(fits)
                ));
                return;
            }
            Strategy::Search(bounds) => ("load.min_users", bounds.min_users.max(1)),
            Strategy::Fixed { users, .. } => ("load.users", *users),
        };
        let allowed = format!("at most {fits}: a process here may open {open_files} files");
        self.refuse(Wrong { key, value: wanted.to_string(), allowed, remedy });
    }

    fn port(&mut self) {
        let port = self.plan.target.port;
        if let Err(why) = TcpListener::bind(("127.0.0.1", port)) {
            self.refuse(Wrong {
                key: "target.port",
                value: port.to_string(),
                allowed: format!("a free port, or 0 for any; this one cannot be had ({why})"),
                remedy: "stop what listens there, or choose another".to_owned(),
            });
        }
    }

    /// Is there a place for the data, if they are not there already?
    fn room(&mut self) {
        let dir = self.data.dir_in(&self.plan.data.dir);
        if self.kind.is_filled(&dir) {
            return;
        }
        let value = self.plan.data.dir.display().to_string();
        if let Some(free) = self.machine.free_bytes.filter(|free| *free < self.data.bytes) {
            let (needed, free) = (self.data.bytes as f64 / 1e9, free as f64 / 1e9);
            self.refuse(Wrong {
                key: "data.dir",
                value: value.clone(),
                allowed: format!("a folder with {needed:.3} GB free; there are {free:.3} GB"),
                remedy: "free some, choose another data.dir, or smaller data.history and data.images"
                    .to_owned(),
            });
        }
        // An empty folder is taken; anything else may be somebody's, and is neither used nor removed.
        if std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some()) {
            let dir = dir.display();
            self.refuse(Wrong {
                key: "data.dir",
                value,
                allowed: format!("a folder in which `{dir}` is a whole data set, or absent"),
                remedy: format!("remove `{dir}`, which no fill has finished, or choose another data.dir"),
            });
        }
    }

    /// Operations that wait on purpose must be given the time. A short time-out may be meant, so it is only told.
    fn timeout(&mut self) {
        let timeout = self.plan.driver.timeout;
        let longest = self.kind.longest_wait().filter(|wait| timeout < *wait + AFTER_WAIT);
        if let Some(wait) = longest {
            self.notes.push(format!(
                "operations are timed out after {} s (driver.timeout_s), but the application may hold an answer for {} s: \
                 such waits can end as failures",
                timeout.as_secs_f64(),
                wait.as_secs_f64()
            ));
        }
    }

    fn end(mut self) -> Result<Checked, Refused> {
        if !self.refusals.is_empty() {
            return Err(Refused(self.refusals));
        }
        let decided = self.decided();
        self.plan.resolved.push_str(&decided);
        Ok(Checked { plan: self.plan, data: self.data, notes: self.notes, most_users: self.most })
    }

    /// What was left open in the plan and decided here, as comments under its text.
    fn decided(&self) -> String {
        let mut text = "\n# decided on this machine\n".to_owned();
        if let Strategy::Search(bounds) = self.plan.strategy {
            text.push_str(&format!("# load.min_users = {}\n", bounds.min_users));
            text.push_str(&format!("# load.max_users = {}\n", bounds.max_users));
        }
        let connections = if self.plan.driver.connections == Connections::Keep { "keep" } else { "close" };
        text.push_str(&format!("# driver.connections = \"{connections}\"\n"));
        text
    }
}

#[cfg(test)]
mod tests;
