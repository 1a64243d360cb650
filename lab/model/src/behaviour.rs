//! Behaviour of users as data: behaviours, transition vectors, choosers, pace.

use crate::{Distribution, Nanos, OpId, Share};

/// Most operations of a user in flight on its beats. Each is an activity, and a user has no room for more.
pub const MOST_BESIDE: u32 = 16;

/// Index of a behaviour in [`Behaviours`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BehaviourId(pub u8);

/// Index of a question about a user's state that a workload answers, for instance whether its basket is
/// empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChooserId(pub u8);

/// Operations with probabilities that sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<(OpId, Share)>);

impl Vector {
    /// Builds a vector. Fails unless the shares sum to 1 (within a millionth).
    pub fn new(entries: Vec<(OpId, Share)>) -> Result<Self, String> {
        let sum: f64 = entries.iter().map(|e| e.1.get()).sum();
        if (sum - 1.0).abs() < 1e-6 {
            Ok(Vector(entries))
        } else {
            Err(format!("transition vector sums to {sum}, must be 1"))
        }
    }

    /// Returns the operation for a uniform draw `u` in 0..1.
    #[must_use]
    pub fn pick(&self, u: f64) -> OpId {
        let mut left = u;
        for (op, share) in &self.0 {
            left -= share.get();
            if left < 0.0 {
                return *op;
            }
        }
        self.0[self.0.len() - 1].0
    }

    /// Returns the operations and their probabilities.
    #[must_use]
    pub fn entries(&self) -> &[(OpId, Share)] {
        &self.0
    }
}

/// Successor of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum NextOp {
    /// Always this operation.
    Op(OpId),
    /// One of several, by probability.
    Vector(Vector),
    /// Depends on the user's state: the chooser returns an index into `branches`.
    Choose {
        /// The question.
        chooser: ChooserId,
        /// Successor for each answer.
        branches: Vec<NextOp>,
    },
    /// The session ends: the user's state is reset and the behaviour begins again at its first operation.
    EndSession {
        /// The first operation of the next session.
        first: OpId,
    },
}

/// Rule for the intended start of an activity's next operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Pace {
    /// As soon as the previous answer is there.
    AtOnce,
    /// Distance from start to start ("cycle time"); if the answer comes later, the next start is at once.
    Cycle(Distribution),
    /// As [`Pace::Cycle`], with a distance for each operation, by its index: that from its start to the next one.
    CycleByOperation(Vec<Distribution>),
    /// Time from the previous answer to the next start ("think time").
    Think(Distribution),
    /// Time from the previous answer to the next start, by operation index: the wait after the one plus the
    /// wait before the other.
    ByOperation(Vec<Waits>),
    /// Starts on a fixed beat ("pacing"), independent of answers.
    Beat {
        /// Time from one beat to the next.
        every: Nanos,
        /// Treatment of beats that pass while an operation is still in progress.
        missed: MissedBeats,
    },
}

/// Waits of a user around an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    /// Wait before its start ("keying time").
    pub before: Nanos,
    /// Wait after its answer ("think time").
    pub after: Distribution,
}

/// Treatment of beats that pass while an operation is still in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedBeats {
    /// They are made up for one after another, each counted from its own beat.
    CatchUp,
    /// They are left out and counted as skipped.
    Skip,
    /// They are started beside it, as an open loop does, up to `most` in flight, which is at least 1 and at most
    /// [`MOST_BESIDE`]; further ones wait, each counted from its own beat. Beats later than the time limit of an
    /// operation are left out and counted as skipped. Users have their beats at different instants. Members of groups,
    /// which have one operation in flight, catch up.
    Beside {
        /// Most operations of a user in flight.
        most: u32,
    },
}

/// One activity of a user: its first operation, transitions and pace.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Name in records and reports.
    pub name: &'static str,
    /// First operation.
    pub first: OpId,
    /// Successor of each operation, by operation index; `None` if the behaviour never uses that operation.
    pub next: Vec<Option<NextOp>>,
    /// Pace of the operations.
    pub pace: Pace,
}

/// All behaviours of a profile. Number 0 is the main one, which every user runs from its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviours(Vec<Behaviour>);

impl Behaviours {
    /// Builds the list. Fails if a behaviour can reach an operation without a successor.
    pub fn new(list: Vec<Behaviour>) -> Result<Self, String> {
        if list.is_empty() {
            return Err("a profile needs at least the main behaviour".into());
        }
        for behaviour in &list {
            let mut todo = vec![behaviour.first];
            let mut seen = Vec::new();
            while let Some(op) = todo.pop() {
                if seen.contains(&op) {
                    continue;
                }
                seen.push(op);
                let next = behaviour.next.get(op.index()).and_then(Option::as_ref);
                let next = next.ok_or_else(|| {
                    format!("behaviour {}: operation {} has no successor", behaviour.name, op.0)
                })?;
                reach(next, &mut todo)?;
            }
        }
        Ok(Behaviours(list))
    }

    /// Returns the behaviour with this number.
    ///
    /// # Panics
    /// If it does not exist; ids come from the same profile.
    #[must_use]
    pub fn get(&self, id: BehaviourId) -> &Behaviour {
        &self.0[id.0 as usize]
    }

    /// Returns all of them, main first.
    #[must_use]
    pub fn all(&self) -> &[Behaviour] {
        &self.0
    }
}

fn reach(next: &NextOp, todo: &mut Vec<OpId>) -> Result<(), String> {
    match next {
        NextOp::Op(op) | NextOp::EndSession { first: op } => todo.push(*op),
        NextOp::Vector(vector) => todo.extend(vector.entries().iter().map(|e| e.0)),
        NextOp::Choose { branches, .. } => {
            if branches.is_empty() {
                return Err("a chooser without branches".into());
            }
            for branch in branches {
                reach(branch, todo)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_picks_by_share() {
        let half = Share::percent(50.0);
        let v = Vector::new(vec![(OpId(3), half), (OpId(4), half)]).unwrap();
        assert_eq!(v.pick(0.0), OpId(3));
        assert_eq!(v.pick(0.499), OpId(3));
        assert_eq!(v.pick(0.5), OpId(4));
        assert_eq!(v.pick(1.0), OpId(4));
        assert!(Vector::new(vec![(OpId(3), half)]).is_err());
    }

    #[test]
    fn a_reachable_operation_needs_a_successor() {
        let dangling = Behaviour {
            name: "main",
            first: OpId(0),
            next: vec![Some(NextOp::Op(OpId(1)))],
            pace: Pace::AtOnce,
        };
        assert_eq!(
            Behaviours::new(vec![dangling]).unwrap_err(),
            "behaviour main: operation 1 has no successor"
        );
    }
}
