//! Checks that the run had the whole host: time stolen by a hypervisor, and use by processes outside of the
//! run.
//!
//! Pressure on the CPU (PSI) does not count: driver, application and stores on one machine wait for each
//! other, and that is the load itself. Only CPU used by *others* counts, taken from the kernel's accounts:
//! busy time of the host less that of driver and deployment.

use barograph_model::{Check, CheckFacts, CheckId, Share};

/// Largest share of the host's CPU used by others, through the hypervisor or beside the run: it lowers the
/// capacity of the run by the same part, and the default search distinguishes capacities by 5 %.
const TAKEN_ALLOWED: Share = Share::percent(10.0);

/// Idle share of the host above which the use by others took nothing from the run.
const IDLE_ENOUGH: Share = Share::percent(50.0);

/// Largest share of time in which processes outside of the run may wait for memory or disks.
const WAITING_ALLOWED: Share = Share::percent(10.0);

/// A figure, or the reason why it is missing, as the end of "not judged: …".
pub type HostFigure<T> = Result<T, String>;

/// Use of the host in a window, by user.
#[derive(Clone, Debug, PartialEq)]
pub struct HostUse {
    /// Number of online cores.
    pub cores: f64,
    /// Share of CPU time given to other guests by the hypervisor while this host wanted it.
    pub steal: Share,
    /// Idle share of CPU time.
    pub idle: Share,
    /// Cores used by processes that are neither the driver nor deployed by the run. Interrupts are left out:
    /// they cannot be attributed.
    pub outside_cores: HostFigure<f64>,
    /// Share of time in which processes outside of the deployment waited for memory: that of the host less
    /// that of all parts, an upper estimate.
    pub outside_memory_wait: HostFigure<Share>,
    /// The same for disks.
    pub outside_io_wait: HostFigure<Share>,
}

pub(super) fn all(host: &HostUse) -> Vec<Check> {
    vec![
        steal(host),
        outside_cpu(host),
        waiting(CheckId::OutsideMemory, &host.outside_memory_wait),
        waiting(CheckId::OutsideDisks, &host.outside_io_wait),
    ]
}

fn not_judged(id: CheckId, why: &str) -> Check {
    Check::new(id, CheckFacts::NotJudged { why: Some(why.to_owned()) }, true)
}

fn steal(host: &HostUse) -> Check {
    let facts = CheckFacts::Stolen { share: host.steal.get(), most: TAKEN_ALLOWED.get() };
    Check::new(CheckId::StolenCpu, facts, host.steal <= TAKEN_ALLOWED)
}

fn outside_cpu(host: &HostUse) -> Check {
    let cores = match &host.outside_cores {
        Ok(cores) => *cores,
        Err(why) => return not_judged(CheckId::OutsideCpu, why),
    };
    let share = if host.cores > 0.0 { cores / host.cores } else { 0.0 };
    let facts = CheckFacts::Outside {
        cores,
        of_cores: host.cores,
        share,
        idle: host.idle.get(),
        most: TAKEN_ALLOWED.get(),
        idle_enough: IDLE_ENOUGH.get(),
    };
    Check::new(CheckId::OutsideCpu, facts, share <= TAKEN_ALLOWED.get() || host.idle >= IDLE_ENOUGH)
}

fn waiting(id: CheckId, wait: &HostFigure<Share>) -> Check {
    match wait {
        Err(why) => not_judged(id, why),
        Ok(wait) => {
            let facts = CheckFacts::Waiting { share: wait.get(), most: WAITING_ALLOWED.get() };
            Check::new(id, facts, *wait <= WAITING_ALLOWED)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cores, an eighth idle, all of the rest used by the run.
    fn clean() -> HostUse {
        HostUse {
            cores: 2.0,
            steal: Share::percent(1.0),
            idle: Share::percent(12.5),
            outside_cores: Ok(0.05),
            outside_memory_wait: Ok(Share::ZERO),
            outside_io_wait: Ok(Share::percent(2.0)),
        }
    }

    fn faults(host: &HostUse) -> Vec<&'static str> {
        all(host).into_iter().filter(|check| !check.ok).map(|check| check.id.name()).collect()
    }

    #[test]
    fn a_host_that_serves_the_run_alone_is_believed_however_busy() {
        assert_eq!(faults(&clean()), [""; 0]);
        let full = HostUse { idle: Share::ZERO, ..clean() };
        assert_eq!(faults(&full), [""; 0]);
    }

    #[test]
    fn every_taking_is_flagged_beyond_its_limit() {
        let steal = |percent| HostUse { steal: Share::percent(percent), ..clean() };
        assert_eq!(faults(&steal(10.0)), [""; 0]);
        assert_eq!(faults(&steal(10.1)), ["stolen CPU"]);
        let outside = |cores| HostUse { outside_cores: Ok(cores), ..clean() };
        assert_eq!(faults(&outside(0.2)), [""; 0]);
        assert_eq!(faults(&outside(0.21)), ["CPU used by others"]);
        let told = all(&outside(0.5)).remove(1);
        assert_eq!(told.found(), "0.50 of 2 cores (25.0 %) outside of the run, 12.5 % idle");
        assert_eq!(told.allowed(), "at most 10 %, or 50 % of the host idle");
        let memory = HostUse { outside_memory_wait: Ok(Share::percent(11.0)), ..clean() };
        assert_eq!(faults(&memory), ["memory pressure from outside"]);
        let io = HostUse { outside_io_wait: Ok(Share::percent(30.0)), ..clean() };
        assert_eq!(faults(&io), ["disk pressure from outside"]);
    }

    #[test]
    fn what_others_use_of_a_host_that_is_half_idle_is_not_missing() {
        let host = HostUse { outside_cores: Ok(6.0), cores: 16.0, idle: Share::percent(50.0), ..clean() };
        assert_eq!(faults(&host), [""; 0]);
    }

    #[test]
    fn what_is_not_known_is_not_judged_and_says_why() {
        let host = HostUse { outside_cores: Err("the target is on this host".to_owned()), ..clean() };
        assert_eq!(faults(&host), [""; 0]);
        assert_eq!(all(&host)[1].found(), "not judged: the target is on this host");
    }
}
