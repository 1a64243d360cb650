//! Common parts of contests: programs that do the same work in turn, each pinned to one core beside the core
//! of its target.

use std::process::Command;

use anyhow::{Context, bail};
use barograph_test_services::Service;

pub(crate) mod figures;
mod head;
mod machine;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod server;

pub(crate) use head::{Head, NOT_WRITTEN, readings, write};
pub(crate) use machine::{commit, load};
pub(crate) use process::PinnedProgram;
pub(crate) use server::Server;

/// The core of targets.
pub(crate) const TARGET_CPU: usize = 0;
/// The core of drivers.
pub(crate) const DRIVER_CPU: usize = 1;

/// Refuses machines without a core each for target and driver.
pub(crate) fn need_two_cores() -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    anyhow::ensure!(cores >= 2, "target and driver need a core each: this machine has {cores}");
    Ok(())
}

/// Moves all processes of the server to the core of targets; later ones are there from their begin.
pub(crate) fn pin(server: &Service) -> anyhow::Result<()> {
    for pid in server.pids() {
        let words = ["-a", "-c", "-p", &TARGET_CPU.to_string(), &pid.to_string()].map(str::to_owned);
        let moved = Command::new("taskset").args(words).output().context("start taskset")?;
        // A process may have ended meanwhile; the first one is there.
        if pid == server.pid() && !moved.status.success() {
            bail!("failed to move the server to core {TARGET_CPU}");
        }
    }
    Ok(())
}

/// The order of the contenders in a round. Each is first once, so that none always follows the same one.
pub(crate) fn turns(round: u32, contenders: usize) -> impl Iterator<Item = usize> {
    (0..contenders).map(move |turn| (turn + round as usize) % contenders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contender_begins_a_round() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| turns(round, 3).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        assert_eq!(turns(0, 0).count(), 0);
    }
}
