//! The seam to commands of one line: a target under load without a plan file.

use std::sync::Arc;

use barograph_model::{Level, Nanos, Share};
use clap::{ArgMatches, Command};

use crate::typed::{Limit, TypedRule};
use crate::{CommandError, Workload};

/// A command of one line, as in `barograph http URL`. How much load, for how long and what is shown are options that the
/// program adds to every such command.
pub trait LoadCommand: Sync {
    /// Its name, what it is about, and the arguments that only it has.
    fn arguments(&self) -> Command;

    /// What it calls a request.
    fn request(&self) -> Noun;

    /// The load that was typed. `typed` has the values of [`Self::arguments`].
    ///
    /// # Errors
    /// Arguments that are not possible, and files that cannot be read.
    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError>;
}

/// A noun, as in `request` and `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noun {
    /// Of one.
    pub one: &'static str,
    /// Of several.
    pub several: &'static str,
}

/// Options of every load command, as far as a workload depends on them.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// `--users`.
    pub users: Option<u32>,
    /// `--rate`: starts per second of an open loop; `None` in a closed one.
    pub rate: Option<Level>,
    /// `--search`.
    pub search: bool,
    /// The rules of `--qos`, or the usual one of a search.
    pub rules: Vec<TypedRule>,
    /// `--errors`: the largest share of failed operations.
    pub errors: Share,
    /// `--think`: the pause of a user after an answer.
    pub think: Option<Nanos>,
    /// `--timeout`: the longest time for an answer.
    pub timeout: Nanos,
}

impl LoadOptions {
    /// The first limit of response time.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        self.rules.iter().find_map(|rule| match rule {
            TypedRule::Response(limit) => Some(*limit),
            _ => None,
        })
    }

    /// The users that were typed, else the usual number for this kind of load.
    #[must_use]
    pub fn users_or(&self, usual: UsualUsers) -> u32 {
        self.users.unwrap_or(match (self.rate, self.search) {
            (Some(_), _) => usual.in_flight,
            (None, true) => usual.searched,
            (None, false) => usual.fixed,
        })
    }
}

/// Users of a command without `--users`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsualUsers {
    /// Of a closed loop.
    pub fixed: u32,
    /// Of a search at the most.
    pub searched: u32,
    /// Of an open loop at the most: the bound on operations in flight.
    pub in_flight: u32,
}

/// A load that was typed.
pub struct TypedLoad {
    /// What is loaded, as in `GET http://127.0.0.1:8080/`.
    pub title: String,
    /// `target.url` of the plan.
    pub url: String,
    /// Users of a closed loop; at the most those of a search, or those in flight in an open loop.
    pub users: u32,
    /// Keys of the workload, a line of TOML each, as in `store.size = "small"`.
    pub keys: Vec<String>,
    /// The workload; `None` for the one of the plan.
    pub workload: Option<Arc<dyn Workload>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_users_depend_on_the_kind_of_load() {
        let usual = UsualUsers { fixed: 50, searched: 5_000, in_flight: 1_000 };
        let users = |users, rate: Option<u32>, search| {
            let errors = Share::ZERO;
            let (rules, think, timeout) = (Vec::new(), None, Nanos::from_secs(1));
            let rate = rate.map(Level::from);
            LoadOptions { users, rate, search, rules, errors, think, timeout }.users_or(usual)
        };
        assert_eq!((users(None, None, false), users(None, None, true)), (50, 5_000));
        assert_eq!((users(None, Some(9), false), users(None, Some(9), true)), (1_000, 1_000));
        assert_eq!((users(Some(7), None, false), users(Some(7), Some(9), true)), (7, 7));
    }
}
