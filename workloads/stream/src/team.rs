//! The threads of a load, each with its part of the arrays.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use barograph_bandwidth::{Instructions, Pass, Stores};
use barograph_pages::PageSize;

use crate::arrays::{ArrayPart, ExpectedValues};

/// What a team is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TeamSpec {
    pub(crate) threads: usize,
    /// Numbers of an array of one thread.
    pub(crate) len: usize,
    pub(crate) pages: PageSize,
    pub(crate) stores: Stores,
    pub(crate) set: Instructions,
}

/// An order to a thread.
#[derive(Clone, Copy, Debug)]
enum Order {
    Pass(Pass),
    Check(ExpectedValues),
}

/// What a thread reports when an order is done; an error ends the run of its user.
type Report = Result<(), String>;

/// Threads that do the same at the same time. The thread of the user is the first of them.
#[derive(Debug)]
pub(crate) struct Team {
    spec: TeamSpec,
    own: ArrayPart,
    others: Vec<Member>,
}

/// Another thread.
#[derive(Debug)]
struct Member {
    /// Its end is the order to end. Taken when the team ends.
    orders: Option<SyncSender<Order>>,
    reports: Receiver<Report>,
    thread: Option<JoinHandle<()>>,
}

impl Team {
    /// Starts the threads. Each maps its part and touches it.
    pub(crate) fn start(spec: TeamSpec) -> Result<Self, String> {
        let others = (1..spec.threads).map(|_| Member::start(spec)).collect::<Result<Vec<_>, _>>()?;
        let own = part(spec)?;
        for member in &others {
            member.report()?;
        }
        Ok(Team { spec, own, others })
    }

    /// Makes a pass over all parts; it is over when the slowest thread is.
    pub(crate) fn pass(&mut self, pass: Pass) -> Report {
        self.order(Order::Pass(pass))
    }

    /// Compares all parts with what passes must have made.
    pub(crate) fn check(&mut self, expected: ExpectedValues) -> Report {
        self.order(Order::Check(expected))
    }

    fn order(&mut self, order: Order) -> Report {
        for member in &self.others {
            let sent = member.orders.as_ref().map(|orders| orders.send(order));
            sent.and_then(Result::ok).ok_or_else(lost)?;
        }
        let own = obey(&mut self.own, self.spec, order);
        self.others.iter().map(Member::report).fold(own, Result::and)
    }

    #[cfg(test)]
    pub(crate) fn damage(&mut self) {
        self.own.damage();
    }
}

impl Member {
    fn start(spec: TeamSpec) -> Result<Self, String> {
        let (orders, ordered) = sync_channel(1);
        let (reporting, reports) = sync_channel(1);
        let run = move || {
            let mut part = match part(spec) {
                Ok(part) => part,
                Err(why) => return drop(reporting.send(Err(why))),
            };
            // An end of either channel is the end of the team.
            let mut is_heard = reporting.send(Ok(())).is_ok();
            while let (true, Ok(order)) = (is_heard, ordered.recv()) {
                is_heard = reporting.send(obey(&mut part, spec, order)).is_ok();
            }
        };
        let thread = thread::Builder::new().name("stream".to_owned()).spawn(run);
        let thread = thread.map_err(|why| format!("cannot start a thread: {why}"))?;
        Ok(Member { orders: Some(orders), reports, thread: Some(thread) })
    }

    fn report(&self) -> Report {
        self.reports.recv().unwrap_or_else(|_| Err(lost()))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported nothing, which the user has noticed.
            drop(thread.join());
        }
    }
}

fn lost() -> String {
    "a thread ended early".to_owned()
}

/// The arrays of a thread, in the pages that were asked for.
fn part(spec: TeamSpec) -> Result<ArrayPart, String> {
    let bytes = 3 * spec.len * size_of::<f64>();
    let part =
        ArrayPart::map(spec.len, spec.pages).map_err(|why| format!("cannot have {bytes} bytes: {why}"))?;
    match part.huge_share().filter(|share| spec.pages == PageSize::Huge && *share < HUGE_SHARE) {
        None => Ok(part),
        Some(share) => Err(format!(
            "{:.0} % of an array is in pages of 2 MiB: set stream.pages = \"small\", or let the system give them \
             (/sys/kernel/mm/transparent_hugepage/enabled)",
            share * 1e2
        )),
    }
}

/// The least share of an array in huge pages, where they are wanted.
const HUGE_SHARE: f64 = 0.95;

fn obey(part: &mut ArrayPart, spec: TeamSpec, order: Order) -> Report {
    match order {
        Order::Pass(pass) => {
            part.pass(pass, spec.set, spec.stores);
            Ok(())
        }
        Order::Check(expected) => match part.wrong(&expected) {
            None => Ok(()),
            Some((array, found, expected)) => {
                Err(format!("a number of array {array} is {found:e}, expected is {expected:e}"))
            }
        },
    }
}
