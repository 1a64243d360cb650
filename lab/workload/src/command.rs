//! The seam to load commands: a target under load with one line, without a plan file.

use std::sync::Arc;

use barograph_model::{Level, Nanos, Share};
use clap::{ArgMatches, Command};

use crate::typed::{Limit, TypedRule};
use crate::{CommandError, Workload};

/// A load command, as in `barograph http URL`. Amount and duration of the load and the output are options
/// that the program adds to every such command.
pub trait LoadCommand: Sync {
    /// Name, description, and arguments of the command.
    fn arguments(&self) -> Command;

    /// Name of a request.
    fn request(&self) -> Noun;

    /// Returns the amounts of a load typed with `given`, for a command with other defaults, or one that counts in another unit.
    fn amounts(&self, typed: &ArgMatches, given: Amounts) -> Amounts {
        let _ = typed;
        given
    }

    /// Returns the typed load. `typed` has the values of [`Self::arguments`].
    ///
    /// # Errors
    /// If arguments are impossible, or files cannot be read.
    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError>;

    /// Answers a question about the target in place of a load, where the arguments have one. Returns the text of the answer.
    fn answer(&self, typed: &ArgMatches) -> Option<Result<String, CommandError>> {
        let _ = typed;
        None
    }
}

/// Amounts of a typed load; `None` for those that were not typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// `-n`: operations after which the load is over.
    pub operations: Option<u64>,
    /// `--duration`.
    pub duration: Option<Nanos>,
    /// `--timeout`: longest time of an operation.
    pub timeout: Option<Nanos>,
    /// `--users`.
    pub users: Option<u32>,
}

/// A noun, as in `request` and `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noun {
    /// Singular.
    pub one: &'static str,
    /// Plural.
    pub several: &'static str,
}

/// Options of every load command that matter to a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// `--users`.
    pub users: Option<u32>,
    /// `--rate`: starts per second of an open loop; `None` for a closed loop.
    pub rate: Option<Level>,
    /// `--search`.
    pub search: bool,
    /// Rules of `--qos`, or the default one of a search.
    pub rules: Vec<TypedRule>,
    /// `--errors`: the largest share of failed operations.
    pub errors: Share,
    /// `--think`: pause of a user after an answer.
    pub think: Option<Nanos>,
    /// `--timeout`: longest time for an answer.
    pub timeout: Nanos,
}

impl Default for LoadOptions {
    /// The options of a command without any.
    fn default() -> Self {
        let (errors, timeout) = (Share::percent(1.0), Nanos::from_secs(10));
        LoadOptions {
            users: None,
            rate: None,
            search: false,
            rules: Vec::new(),
            errors,
            think: None,
            timeout,
        }
    }
}

impl LoadOptions {
    /// Returns the first limit of response time.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        self.rules.iter().find_map(|rule| match rule {
            TypedRule::Response(limit) => Some(*limit),
            _ => None,
        })
    }

    /// Returns the typed number of users, or else the default for this kind of load.
    #[must_use]
    pub fn users_or(&self, usual: UsualUsers) -> u32 {
        self.users.unwrap_or(match (self.rate, self.search) {
            (Some(_), _) => usual.in_flight,
            (None, true) => usual.searched,
            (None, false) => usual.fixed,
        })
    }
}

/// Default numbers of users, for a command without `--users`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualUsers {
    /// Users of a closed loop.
    pub fixed: u32,
    /// Largest number of users in a search.
    pub searched: u32,
    /// Largest number of users in an open loop: the bound on operations in flight.
    pub in_flight: u32,
}

/// A load as typed.
pub struct TypedLoad {
    /// Title of the load, as in `GET http://127.0.0.1:8080/`.
    pub title: String,
    /// `target.url` of the plan; empty if the run deploys its target.
    pub url: String,
    /// Users of a closed loop; for a search or an open loop, the largest number.
    pub users: u32,
    /// Keys of the workload, a line of TOML each, as in `store.size = "small"`.
    pub keys: Vec<String>,
    /// The workload; `None` for that of the plan.
    pub workload: Option<Arc<dyn Workload>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_users_depend_on_the_kind_of_load() {
        let usual = UsualUsers { fixed: 50, searched: 5_000, in_flight: 1_000 };
        let users = |users, rate: Option<u32>, search| {
            let rate = rate.map(Level::from);
            LoadOptions { users, rate, search, ..LoadOptions::default() }.users_or(usual)
        };
        assert_eq!((users(None, None, false), users(None, None, true)), (50, 5_000));
        assert_eq!((users(None, Some(9), false), users(None, Some(9), true)), (1_000, 1_000));
        assert_eq!((users(Some(7), None, false), users(Some(7), Some(9), true)), (7, 7));
    }
}
