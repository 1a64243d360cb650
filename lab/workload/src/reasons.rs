//! Reasons for failed operations, for users: the first few distinct reasons of each operation, and their
//! counts.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use barograph_model::{OpId, OpSpec, Outcome, words};

use crate::FailureReason;

/// Distinct reasons kept for each operation.
const MOST: usize = 5;

/// Bytes of an answer kept as an example.
const EXCERPT: usize = 160;

/// Reasons of failed operations. Workers share it, and lock it only when an operation fails.
#[derive(Debug, Default)]
pub struct Reasons {
    by_op: Vec<OperationReasons>,
}

#[derive(Clone, Debug, Default)]
struct OperationReasons {
    kept: Vec<Reason>,
    beyond: u64,
}

/// A reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    /// Outcome counted by the engine.
    pub outcome: Outcome,
    /// Defect, as in `status 500`.
    pub why: String,
    /// Number of occurrences.
    pub count: u64,
    /// Beginning of the first answer; empty if there was none.
    pub first: String,
}

impl fmt::Display for Reason {
    /// Formats as in `status 500 (1,234 times), first: the answer`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times =
            if self.count == 1 { "once".to_owned() } else { format!("{} times", words::count(self.count)) };
        write!(f, "{} ({times})", self.why)?;
        if self.first.is_empty() { Ok(()) } else { write!(f, ", first: {}", self.first) }
    }
}

impl Reasons {
    /// Returns an empty collection, to be passed to the workload and read after the run.
    #[must_use]
    pub fn shared() -> Arc<Mutex<Reasons>> {
        Arc::default()
    }

    /// Returns the reasons of an operation, in the order of their first occurrence.
    #[must_use]
    pub fn of(&self, op: OpId) -> &[Reason] {
        self.by_op.get(op.index()).map_or(&[], |of| &of.kept)
    }

    /// Returns the failures of an operation for further reasons.
    #[must_use]
    pub fn beyond(&self, op: OpId) -> u64 {
        self.by_op.get(op.index()).map_or(0, |of| of.beyond)
    }

    /// Counts one failure.
    pub fn note(shared: &Mutex<Reasons>, op: OpId, failure: &Failure<'_>) {
        // A panic here leaves counts at most slightly wrong.
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(op, failure);
    }

    /// Returns the reasons of all operations, by name.
    #[must_use]
    pub fn by_name(&self, ops: &[OpSpec]) -> Vec<FailureReason> {
        let of = |i: usize| OpId(u8::try_from(i).expect("operations are numbered in eight bits"));
        let ops = ops.iter().enumerate();
        ops.flat_map(|(i, op)| self.of(of(i)).iter().map(|reason| reason.of_operation(op.name))).collect()
    }

    fn add(&mut self, op: OpId, failure: &Failure<'_>) {
        if self.by_op.len() <= op.index() {
            self.by_op.resize_with(op.index() + 1, OperationReasons::default);
        }
        let of = &mut self.by_op[op.index()];
        let known = |r: &&mut Reason| r.outcome == failure.outcome && r.why == failure.why;
        if let Some(reason) = of.kept.iter_mut().find(known) {
            reason.count += 1;
        } else if of.kept.len() < MOST {
            let (outcome, why) = (failure.outcome, failure.why.clone());
            of.kept.push(Reason { outcome, why, count: 1, first: excerpt(failure.seen) });
        } else {
            of.beyond += 1;
        }
    }
}

impl Reason {
    fn of_operation(&self, operation: &'static str) -> FailureReason {
        FailureReason {
            operation,
            outcome: self.outcome.name(),
            why: self.why.clone(),
            count: self.count,
            answer: self.first.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

/// One failure.
pub struct Failure<'a> {
    /// Outcome counted by the engine.
    pub outcome: Outcome,
    /// Defect, as in `status 500`.
    pub why: String,
    /// The examined body or message.
    pub seen: &'a [u8],
}

/// Beginning of an answer, on one line.
fn excerpt(seen: &[u8]) -> String {
    let end = seen.len().min(EXCERPT);
    let text = String::from_utf8_lossy(&seen[..end]);
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if end < seen.len() {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reasons_are_kept_and_all_are_counted() {
        let shared = Reasons::shared();
        for n in 0..20 {
            let why = format!("status {}", 500 + n % 8);
            let seen = format!("answer\n{n}");
            Reasons::note(
                &shared,
                OpId(1),
                &Failure { outcome: Outcome::Refused, why, seen: seen.as_bytes() },
            );
        }
        let reasons = shared.lock().unwrap();
        assert_eq!(reasons.of(OpId(0)), []);
        let of = reasons.of(OpId(1));
        assert_eq!(of.len(), MOST);
        let first = Reason {
            outcome: Outcome::Refused,
            why: "status 500".into(),
            count: 3,
            first: "answer 0".into(),
        };
        assert_eq!(of[0], first);
        assert_eq!(of[0].to_string(), "status 500 (3 times), first: answer 0");
        assert_eq!(of.iter().map(|r| r.count).sum::<u64>() + reasons.beyond(OpId(1)), 20);
        assert_eq!(excerpt(&[b'x'; 300]).len(), EXCERPT + 3);
    }
}
