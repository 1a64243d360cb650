//! The user: systems of equations, one after the other.

use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::thread;

use barograph_engine::{BlockingFactory, BlockingUser, OpContext};
use barograph_matrix::{
    Factors, Instructions, factorise, fill_column, leading_dimension, operations, residual, right_side,
};
use barograph_model::{CounterId, OpId, OpSpec, Outcome, UserId};
use barograph_pages::{Array, PageSize};
use barograph_workload::{Failure, Reasons};

use crate::measures::{AT_PEAK, OPERATIONS, PEAK_OPERATIONS, PEAK_TIME, SOLVING};
use crate::plan::LinpackPlan;

/// Rounds of multiplications and additions for the peak: a tenth of a second or less.
const ROUNDS: u64 = 20_000_000;

/// The residual of a right solution is smaller.
const MOST_RESIDUAL: f64 = 16.0;

/// The least share of the matrix in huge pages, where they are wanted.
const HUGE_SHARE: f64 = 0.95;

/// A step of the work on a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Peak,
    Generate,
    Solve,
    Check,
}

impl Step {
    /// All steps, by index of operation.
    pub(crate) const ALL: [Step; 4] = [Step::Peak, Step::Generate, Step::Solve, Step::Check];

    pub(crate) const SPECS: [OpSpec; 4] = [
        OpSpec { name: "Peak", about: "multiplies and adds in registers, on all threads" },
        OpSpec { name: "Generate", about: "fills the matrix and the right side" },
        OpSpec { name: "Solve", about: "factorises the matrix and solves the system" },
        OpSpec { name: "Check", about: "generates the system again and computes the residual" },
    ];

    pub(crate) const fn op(self) -> OpId {
        OpId(self as u8)
    }
}

/// Makes the user of a load.
#[derive(Clone, Debug)]
pub(crate) struct Solvers {
    pub(crate) plan: LinpackPlan,
    pub(crate) seed: u64,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl BlockingFactory for Solvers {
    type User = Solver;

    fn user(&self, _: UserId) -> Solver {
        let cores = || thread::available_parallelism().map_or(1, NonZero::get);
        Solver {
            of: self.clone(),
            threads: if self.plan.threads == 0 { cores() } else { self.plan.threads },
            set: Instructions::widest(),
            system: None,
            solution: None,
            peak: 0.0,
            solved: 0,
        }
    }
}

/// The user with its system.
#[derive(Debug)]
pub(crate) struct Solver {
    of: Solvers,
    threads: usize,
    set: Instructions,
    system: Option<System>,
    solution: Option<Vec<f64>>,
    /// The measured peak of all threads, in operations per nanosecond; 0 until it is measured.
    peak: f64,
    /// Systems solved so far.
    solved: u64,
}

/// A matrix and its right side.
#[derive(Debug)]
struct System {
    matrix: Array,
    side: Vec<f64>,
}

impl BlockingUser for Solver {
    fn act(&mut self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let step = Step::ALL[op.index()];
        let done = match step {
            Step::Peak => self.measure_peak(context),
            Step::Generate => self.generate(),
            Step::Solve => self.solve(context),
            Step::Check => self.check(),
        };
        match done {
            Ok(()) => Outcome::Good,
            Err((outcome, why)) => {
                Reasons::note(&self.of.reasons, op, &Failure { outcome, why, seen: b"" });
                outcome
            }
        }
    }
}

/// An outcome, and the reason for it.
type Trouble = (Outcome, String);

impl Solver {
    /// The seed of the system at hand: each is another one.
    fn seed(&self) -> u64 {
        self.of.seed.wrapping_add(self.solved)
    }

    fn measure_peak(&mut self, context: &mut OpContext) -> Result<(), Trouble> {
        let (set, threads) = (self.set, self.threads);
        let done = context.timed(PEAK_TIME, || {
            thread::scope(|scope| {
                let others: Vec<_> = (1..threads).map(|_| scope.spawn(move || set.peak(ROUNDS))).collect();
                let own = set.peak(ROUNDS);
                own + others.into_iter().filter_map(|other| other.join().ok()).sum::<u64>()
            })
        });
        context.add(PEAK_OPERATIONS, done);
        self.peak = rate(done as f64, context, PEAK_TIME);
        Ok(())
    }

    /// Fills the columns by all threads, so that each touches a part of the matrix first.
    fn generate(&mut self) -> Result<(), Trouble> {
        let order = self.of.plan.order;
        let ld = leading_dimension(order);
        self.solution = None;
        let mut matrix = match self.system.take() {
            Some(system) => system.matrix,
            None => Array::map(order * ld, self.of.plan.pages).map_err(|why| {
                (Outcome::DriverFault, format!("cannot have {} bytes: {why}", self.of.plan.bytes()))
            })?,
        };
        let (seed, share) = (self.seed(), order.div_ceil(self.threads));
        thread::scope(|scope| {
            for (part, columns) in matrix.chunks_mut(share * ld).enumerate() {
                scope.spawn(move || {
                    let numbers = columns.chunks_mut(ld).zip(part * share..);
                    numbers.for_each(|(column, at)| fill_column(seed, at, &mut column[..order]));
                });
            }
        });
        let share = matrix.huge_share().unwrap_or(0.0);
        self.system = Some(System { matrix, side: right_side(seed, order) });
        let is_huge = self.of.plan.pages == PageSize::Small || share >= HUGE_SHARE || is_small(order);
        is_huge.then_some(()).ok_or_else(|| (Outcome::DriverFault, few_huge(share)))
    }

    fn solve(&mut self, context: &mut OpContext) -> Result<(), Trouble> {
        let order = self.of.plan.order;
        let ld = leading_dimension(order);
        let system = self.system.as_mut().ok_or_else(no_system)?;
        let (set, threads) = (self.set, self.threads);
        let solved = context.timed(SOLVING, || {
            let factors: Factors = factorise(&mut system.matrix, (order, ld), set, threads)?;
            let mut side = std::mem::take(&mut system.side);
            factors.solve(&system.matrix, ld, &mut side);
            Ok(side)
        });
        let solution =
            solved.map_err(|why: barograph_matrix::Singular| (Outcome::WrongAnswer, why.to_string()))?;
        let done = operations(order);
        context.add(OPERATIONS, done as u64);
        if self.peak > 0.0 {
            context.add(AT_PEAK, (done / self.peak) as u64);
        }
        self.solution = Some(solution);
        Ok(())
    }

    fn check(&mut self) -> Result<(), Trouble> {
        let solution = self.solution.take().ok_or_else(no_system)?;
        let residual = residual(self.seed(), &solution);
        self.solved += 1;
        let is_right = residual < MOST_RESIDUAL;
        is_right.then_some(()).ok_or_else(|| {
            (Outcome::WrongAnswer, format!("residual {residual:.3}, allowed is less than {MOST_RESIDUAL}"))
        })
    }
}

/// Whether a matrix fits in less than a huge page, so that small ones are all it can have.
fn is_small(order: usize) -> bool {
    leading_dimension(order) * order * size_of::<f64>() < barograph_pages::HUGE
}

fn few_huge(share: f64) -> String {
    format!(
        "{:.0} % of the matrix is in pages of 2 MiB: set linpack.pages = \"small\", or let the system give them \
         (/sys/kernel/mm/transparent_hugepage/enabled)",
        share * 1e2
    )
}

fn no_system() -> Trouble {
    (Outcome::DriverFault, "there is no system: the step before it failed".to_owned())
}

/// Operations per nanosecond of what an operation counted; 0 outside of a run, which has no clock.
fn rate(operations: f64, context: &OpContext, time: CounterId) -> f64 {
    match context.added(time) {
        0 => 0.0,
        nanos => operations / nanos as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solver(order: usize, threads: usize) -> Solver {
        let plan = LinpackPlan { order, threads, pages: PageSize::Small };
        Solvers { plan, seed: 7, reasons: Reasons::shared() }.user(UserId(0))
    }

    fn act(solver: &mut Solver, step: Step) -> Outcome {
        solver.act(step.op(), &mut OpContext::for_test())
    }

    #[test]
    fn systems_are_solved_one_after_the_other() {
        for threads in [1, 2] {
            let mut solver = solver(300, threads);
            for _ in 0..2 {
                for step in [Step::Generate, Step::Solve, Step::Check] {
                    assert_eq!(act(&mut solver, step), Outcome::Good, "{step:?}");
                }
            }
            assert_eq!(solver.solved, 2);
        }
    }

    #[test]
    fn solving_counts_operations_by_the_rule() {
        let (mut solver, mut context) = (solver(100, 1), OpContext::for_test());
        assert_eq!(act(&mut solver, Step::Generate), Outcome::Good);
        assert_eq!(solver.act(Step::Solve.op(), &mut context), Outcome::Good);
        assert_eq!(context.added(OPERATIONS), operations(100) as u64);
        assert_eq!(solver.act(Step::Peak.op(), &mut context), Outcome::Good);
        assert!(context.added(PEAK_OPERATIONS) >= ROUNDS);
    }

    #[test]
    fn a_wrong_solution_is_a_wrong_answer_with_its_residual() {
        let mut solver = solver(50, 1);
        assert_eq!(act(&mut solver, Step::Generate), Outcome::Good);
        assert_eq!(act(&mut solver, Step::Solve), Outcome::Good);
        solver.solution.as_mut().unwrap()[3] += 1e-6;
        assert_eq!(act(&mut solver, Step::Check), Outcome::WrongAnswer);
        let reasons = solver.of.reasons.lock().unwrap();
        assert!(reasons.of(Step::Check.op())[0].why.starts_with("residual "), "{reasons:?}");
    }

    #[test]
    fn a_step_without_the_one_before_is_a_fault_of_the_driver() {
        let mut solver = solver(50, 1);
        assert_eq!(act(&mut solver, Step::Solve), Outcome::DriverFault);
        assert_eq!(act(&mut solver, Step::Check), Outcome::DriverFault);
    }
}
