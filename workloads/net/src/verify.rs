//! The data check: both ends count the same bytes on the connections that were closed in order.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::words::count;
use barograph_workload::VerifyResult;

use crate::control::Control;
use crate::ledger::{Ledger, Totals};
use crate::seam::route;

/// Longest wait for the last connections of a driver, which end with its workers.
const LAST_TIME: Duration = Duration::from_secs(30);

/// Numbers of one run of a driver among its counts.
const NUMBERS: usize = 6;

/// Counts of all drivers of a load, each with the token of its run at the responder.
#[derive(Debug, Default)]
pub(crate) struct DriverCounts {
    own: Mutex<Vec<(u64, Arc<Ledger>)>>,
    others: Mutex<Vec<(u64, Totals)>>,
}

impl DriverCounts {
    /// Adds a run of this driver; returns its ledger.
    pub(crate) fn add(&self, token: u64) -> Arc<Ledger> {
        let ledger = Arc::<Ledger>::default();
        self.own.lock().unwrap_or_else(PoisonError::into_inner).push((token, Arc::clone(&ledger)));
        ledger
    }

    /// Totals of this driver's runs.
    fn own(&self) -> Vec<(u64, Totals)> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner).clone();
        own.into_iter().map(|(token, ledger)| (token, ledger.settled(0, LAST_TIME).0)).collect()
    }

    /// Counts of this driver, for the process that compares.
    pub(crate) fn of_this_driver(&self) -> Vec<i64> {
        let numbers = |(token, totals): (u64, Totals)| {
            let Totals { closed, sent, received, broken, wrong } = totals;
            [token, closed, sent, received, broken, wrong].map(|number| number as i64)
        };
        self.own().into_iter().flat_map(numbers).collect()
    }

    /// Adds the counts of a driver in another process.
    pub(crate) fn add_of_other(&self, counts: &[i64]) {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        for numbers in counts.chunks_exact(NUMBERS) {
            let number = |at: usize| numbers[at] as u64;
            let (closed, sent, received) = (number(1), number(2), number(3));
            let (broken, wrong) = (number(4), number(5));
            others.push((number(0), Totals { closed, sent, received, broken, wrong }));
        }
    }

    /// Holds the counts of all drivers against those of the responder.
    ///
    /// # Errors
    /// If the responder does not answer.
    pub(crate) fn compare(&self, url: &str, compare: Compare) -> Result<VerifyResult, String> {
        let (address, _) = route(url).map_err(|why| why.to_string())?;
        let mut line = Control::connect(address).map_err(|why| why.to_string())?;
        let mut all = self.own();
        all.extend_from_slice(&self.others.lock().unwrap_or_else(PoisonError::into_inner));
        let (mut driver, mut target, mut is_final) = (Totals::default(), Totals::default(), true);
        for (token, totals) in all {
            let (theirs, is_settled) = line.totals(token, totals.closed).map_err(|why| why.to_string())?;
            driver += totals;
            target += theirs;
            is_final &= is_settled;
        }
        Ok(compare(&driver, &target, is_final))
    }
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, more: Totals) {
        self.closed += more.closed;
        self.sent += more.sent;
        self.received += more.received;
        self.broken += more.broken;
        self.wrong += more.wrong;
    }
}

/// The result for the totals of driver and target, and whether those are final.
pub(crate) type Compare = fn(&Totals, &Totals, bool) -> VerifyResult;

/// The result of datagrams, of which some may be lost.
pub(crate) fn of_datagrams(driver: &Totals, target: &Totals, is_final: bool) -> VerifyResult {
    let pairs = [
        ("sent by the driver", driver.sent, "by the target", target.received),
        ("sent by the target", target.sent, "by the driver", driver.received),
    ];
    let more = pairs.into_iter().filter(|(_, sent, _, received)| received > sent);
    let defects: Vec<String> = more
        .map(|(what, sent, end, received)| {
            format!("{} bytes were {what}, and {} received {end}", count(sent), count(received))
        })
        .collect();
    if !defects.is_empty() {
        return VerifyResult { ok: false, findings: defects };
    }
    let used = pairs.into_iter().filter(|(_, sent, _, _)| *sent > 0);
    let mut findings: Vec<String> = used
        .map(|(what, sent, end, received)| {
            let lost = 100.0 * (sent - received) as f64 / sent as f64;
            format!(
                "of {} bytes {what}, {} were received {end}: {lost:.3} % were lost",
                count(sent),
                count(received)
            )
        })
        .collect();
    if !is_final {
        findings.push("the end of a flow did not arrive at the target".to_owned());
    }
    VerifyResult { ok: true, findings }
}

/// The result of connections.
pub(crate) fn of_connections(driver: &Totals, target: &Totals, is_final: bool) -> VerifyResult {
    let mut defects = Vec::new();
    if !is_final {
        defects.push("the target still had open connections when its bytes were counted".to_owned());
    }
    let pairs = [
        ("connections were closed by the driver", driver.closed, "ended at the target", target.closed),
        ("bytes were sent by the driver", driver.sent, "received by the target", target.received),
        ("bytes were sent by the target", target.sent, "received by the driver", driver.received),
    ];
    for (what, one, end, other) in pairs {
        if one != other {
            defects.push(format!("{} {what}, and {} {end}", count(one), count(other)));
        }
    }
    let wrong = driver.wrong + target.wrong;
    if wrong > 0 {
        defects.push(format!("{} connections received bytes that were not sent", count(wrong)));
    }
    if !defects.is_empty() {
        return VerifyResult { ok: false, findings: defects };
    }
    let mut findings = vec![format!(
        "both ends count the same bytes on {} connections: {} to the target, {} from it",
        count(driver.closed),
        count(driver.sent),
        count(driver.received)
    )];
    if driver.broken > 0 {
        findings.push(format!("{} connections broke and were not compared", count(driver.broken)));
    }
    VerifyResult { ok: true, findings }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVER: Totals = Totals { closed: 2, sent: 1_000, received: 30, broken: 0, wrong: 0 };
    const TARGET: Totals = Totals { closed: 2, sent: 30, received: 1_000, broken: 0, wrong: 0 };

    fn findings(driver: Totals, target: Totals, is_final: bool) -> (bool, String) {
        let VerifyResult { ok, findings } = of_connections(&driver, &target, is_final);
        (ok, findings.join("\n"))
    }

    #[test]
    fn equal_bytes_pass_with_their_number() {
        let good = "both ends count the same bytes on 2 connections: 1,000 to the target, 30 from it";
        assert_eq!(findings(DRIVER, TARGET, true), (true, good.to_owned()));
        let broken = Totals { broken: 3, ..DRIVER };
        let told = format!("{good}\n3 connections broke and were not compared");
        assert_eq!(findings(broken, TARGET, true), (true, told));
    }

    #[test]
    fn any_difference_is_a_defect() {
        let of = |driver, target| {
            let (ok, told) = findings(driver, target, true);
            assert!(!ok);
            told
        };
        assert_eq!(
            of(DRIVER, Totals { received: 999, ..TARGET }),
            "1,000 bytes were sent by the driver, and 999 received by the target"
        );
        assert_eq!(
            of(DRIVER, Totals { sent: 31, ..TARGET }),
            "31 bytes were sent by the target, and 30 received by the driver"
        );
        assert_eq!(
            of(DRIVER, Totals { closed: 3, ..TARGET }),
            "2 connections were closed by the driver, and 3 ended at the target"
        );
        assert_eq!(
            of(DRIVER, Totals { wrong: 1, ..TARGET }),
            "1 connections received bytes that were not sent"
        );
        assert!(!findings(DRIVER, TARGET, false).0);
    }

    #[test]
    fn datagrams_may_be_lost_and_not_made() {
        let of = |driver, target, is_final| {
            let VerifyResult { ok, findings } = of_datagrams(&driver, &target, is_final);
            (ok, findings.join("\n"))
        };
        let stream = Totals { received: 0, ..DRIVER };
        let received = Totals { sent: 0, received: 990, ..TARGET };
        let lost = "of 1,000 bytes sent by the driver, 990 were received by the target: 1.000 % were lost";
        assert_eq!(of(stream, received, true), (true, lost.to_owned()));
        let told = format!("{lost}\nthe end of a flow did not arrive at the target");
        assert_eq!(of(stream, received, false), (true, told));
        let (ok, told) = of(DRIVER, Totals { sent: 29, ..TARGET }, true);
        assert_eq!(
            (ok, told.as_str()),
            (false, "29 bytes were sent by the target, and 30 received by the driver")
        );
    }

    #[test]
    fn counts_of_other_drivers_are_those_that_they_had() {
        let (one, other) = (DriverCounts::default(), DriverCounts::default());
        let ledger = one.add(7);
        ledger.open();
        ledger.close(crate::ledger::Close::InOrder { sent: 1_000, received: 30 });
        other.add_of_other(&one.of_this_driver());
        assert_eq!(*other.others.lock().unwrap(), [(7, Totals { closed: 1, ..DRIVER })]);
    }
}
