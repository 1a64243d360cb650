//! The user: cycles of passes, and checks between them.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread;

use barograph_bandwidth::{Instructions, Pass};
use barograph_engine::{BlockingFactory, BlockingUser, OpContext};
use barograph_model::{ChooserId, OpId, OpSpec, Outcome, UserId};
use barograph_workload::{Failure, Reasons};

use crate::arrays::ExpectedValues;
use crate::measures::{bytes, time};
use crate::plan::StreamPlan;
use crate::team::{Team, TeamSpec};

/// Cycles between two checks.
const CYCLES: u32 = 10;

/// The operations: the passes, and the check.
pub(crate) const SPECS: [OpSpec; 5] = [
    OpSpec { name: "Copy", about: "c = a" },
    OpSpec { name: "Scale", about: "b = s c" },
    OpSpec { name: "Add", about: "c = a + b" },
    OpSpec { name: "Triad", about: "a = b + s c" },
    OpSpec { name: "Check", about: "compares all numbers with what the passes must have made" },
];

/// The check.
pub(crate) const CHECK: OpId = OpId(4);

/// The operation of a pass.
pub(crate) const fn op(pass: Pass) -> OpId {
    OpId(pass as u8)
}

/// Makes the user of a load.
#[derive(Clone, Debug)]
pub(crate) struct Passers {
    pub(crate) plan: StreamPlan,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl BlockingFactory for Passers {
    type User = Passer;

    fn user(&self, _: UserId) -> Passer {
        Passer { of: self.clone(), team: None, expected: ExpectedValues::START, cycles: 0 }
    }
}

/// The user with its threads, which its first operation starts.
#[derive(Debug)]
pub(crate) struct Passer {
    of: Passers,
    team: Option<Team>,
    expected: ExpectedValues,
    /// Cycles since the last check.
    cycles: u32,
}

impl BlockingUser for Passer {
    fn act(&mut self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let done = match Pass::ALL.get(op.index()) {
            Some(pass) => self.pass(*pass, context).map_err(|why| (Outcome::DriverFault, why)),
            None => self.check().map_err(|why| (Outcome::WrongAnswer, why)),
        };
        match done {
            Ok(()) => Outcome::Good,
            Err((outcome, why)) => {
                Reasons::note(&self.of.reasons, op, &Failure { outcome, why, seen: b"" });
                outcome
            }
        }
    }

    /// After a cycle: a check (1) when it is time for one, else the next cycle (0).
    fn choose(&mut self, _: ChooserId, _: &mut OpContext) -> usize {
        self.cycles += 1;
        usize::from(self.cycles.is_multiple_of(CYCLES))
    }
}

impl Passer {
    fn pass(&mut self, pass: Pass, context: &mut OpContext) -> Result<(), String> {
        let spec = self.of.plan.team(Instructions::fastest(self.of.plan.stores), cores());
        let team = match &mut self.team {
            Some(team) => team,
            empty => empty.insert(Team::start(spec)?),
        };
        context.timed(time(pass), || team.pass(pass))?;
        self.expected.pass(pass);
        context.add(bytes(pass), (pass.bytes() * spec.len * spec.threads) as u64);
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        let expected = self.expected;
        self.team.as_mut().map_or(Ok(()), |team| team.check(expected))
    }
}

/// Cores of this process.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

impl StreamPlan {
    /// The team of a load on a machine with these cores. Parts are whole lines of the cache.
    pub(crate) fn team(&self, set: Instructions, cores: usize) -> TeamSpec {
        let threads = if self.threads == 0 { cores } else { self.threads };
        let line = barograph_bandwidth::LINE / size_of::<f64>();
        let len = self.elements.div_ceil(threads).next_multiple_of(line);
        TeamSpec { threads, len, pages: self.pages, stores: self.stores, set }
    }
}

#[cfg(test)]
mod tests {
    use barograph_bandwidth::Stores;
    use barograph_pages::PageSize;

    use super::*;

    fn passer(threads: usize) -> Passer {
        let set = Instructions::widest();
        let stores = if set.can_store(Stores::Streaming) { Stores::Streaming } else { Stores::Cached };
        let plan = StreamPlan { elements: 1_000, threads, pages: PageSize::Small, stores, caches: 0.0 };
        Passers { plan, reasons: Reasons::shared() }.user(UserId(0))
    }

    fn act(passer: &mut Passer, op: OpId) -> Outcome {
        passer.act(op, &mut OpContext::for_test())
    }

    #[test]
    fn passes_are_right_with_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let mut passer = passer(threads);
            for pass in Pass::ALL.repeat(7) {
                assert_eq!(act(&mut passer, op(pass)), Outcome::Good);
            }
            assert_eq!(act(&mut passer, CHECK), Outcome::Good);
        }
    }

    #[test]
    fn a_pass_counts_the_bytes_of_all_threads() {
        let (mut passer, mut context) = (passer(3), OpContext::for_test());
        assert_eq!(passer.act(op(Pass::Triad), &mut context), Outcome::Good);
        assert_eq!(context.added(bytes(Pass::Triad)), 24 * 3 * 336);
    }

    #[test]
    fn a_wrong_number_is_found_by_the_check() {
        let mut passer = passer(2);
        assert_eq!(act(&mut passer, op(Pass::Copy)), Outcome::Good);
        passer.team.as_mut().unwrap().damage();
        assert_eq!(act(&mut passer, CHECK), Outcome::WrongAnswer);
        let reasons = passer.of.reasons.lock().unwrap();
        assert!(reasons.of(CHECK)[0].why.contains("array b is 1e0, expected is 0e0"), "{reasons:?}");
    }

    #[test]
    fn every_tenth_cycle_is_followed_by_a_check() {
        let mut passer = passer(1);
        let next: Vec<usize> =
            (0..20).map(|_| passer.choose(ChooserId(0), &mut OpContext::for_test())).collect();
        let checks: Vec<usize> =
            next.iter().enumerate().filter(|(_, next)| **next == 1).map(|(at, _)| at).collect();
        assert_eq!(checks, [9, 19]);
    }
}
