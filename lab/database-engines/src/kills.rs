//! Kills of a server under load, as keys of a plan: what a server promises for its commits, tested at its own end.

use barograph_model::Nanos;
use barograph_spec::MOST_OPERATIONS;
use barograph_workload::{Amounts, CommandError};

use crate::TIER;

/// Servers that a run deploys and kills.
const SERVERS: [&str; 2] = ["postgres", "mariadb"];

/// Seconds from the start of the load to the first kill, and from each kill to the next.
const EVERY_S: u32 = 8;

/// Seconds from a kill to the start after it.
const DEAD_S: u32 = 1;

/// Amounts of a load with kills: its time has room for all of them, and for the recovery after the last. As one of a number of
/// operations it has no steady state, which kills would end.
pub(crate) fn amounts(kills: u8, given: Amounts) -> Amounts {
    let room = Nanos::from_secs(u64::from((u32::from(kills) + 1) * EVERY_S));
    Amounts {
        operations: Some(MOST_OPERATIONS),
        duration: Some(given.duration.map_or(room, |duration| duration.max(room))),
        ..given
    }
}

/// The keys of a server that is killed and started again. `server` is typed in the place of an address.
///
/// # Errors
/// An address.
pub(crate) fn keys(server: &str, kills: u8) -> Result<[String; 2], CommandError> {
    if !SERVERS.contains(&server) {
        let what = "kill a server that is there already; with --kills the address is postgres or mariadb";
        return Err(CommandError::refused(what));
    }
    let action = |at_s: u32, act: &str| format!("{{ at_s = {at_s}, unit = \"{TIER}-1\", act = \"{act}\" }}");
    let actions: Vec<String> = (1..=u32::from(kills))
        .map(|kill| kill * EVERY_S)
        .flat_map(|at_s| [action(at_s, "kill"), action(at_s + DEAD_S, "start")])
        .collect();
    Ok([format!("deploy.database = {server:?}"), format!("actions = [{}]", actions.join(", "))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kill_has_a_start_and_time_to_recover() {
        let [server, actions] = keys("mariadb", 2).map_err(|why| why.why).unwrap();
        assert_eq!(server, "deploy.database = \"mariadb\"");
        assert_eq!(
            actions,
            "actions = [{ at_s = 8, unit = \"database-1\", act = \"kill\" }, \
             { at_s = 9, unit = \"database-1\", act = \"start\" }, \
             { at_s = 16, unit = \"database-1\", act = \"kill\" }, \
             { at_s = 17, unit = \"database-1\", act = \"start\" }]"
        );
        let seconds = |typed: Option<u64>| {
            let given = Amounts { duration: typed.map(Nanos::from_secs), ..Amounts::default() };
            amounts(2, given).duration.map(Nanos::as_secs_f64)
        };
        assert_eq!(
            [seconds(None), seconds(Some(3)), seconds(Some(60))],
            [Some(24.0), Some(24.0), Some(60.0)]
        );
    }

    #[test]
    fn a_server_that_is_there_is_not_killed() {
        for address in ["postgres://me@h/orders", "sqlite:///f.db", "sqlite"] {
            let why = keys(address, 1).unwrap_err().why.to_string();
            assert!(why.contains("with --kills the address is postgres or mariadb"), "{why}");
        }
    }
}
