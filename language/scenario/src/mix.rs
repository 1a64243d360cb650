//! Stationary shares of operations under a behaviour's transitions.

use barograph_model::{Behaviour, NextOp, OpId, Share};

/// Most rounds of the power iteration. Half of each round stays in place, so that cycles converge too; slow
/// chains (a session of a thousand operations) are within a millionth well before.
const MOST_ROUNDS: usize = 20_000;

/// Largest change of a round that counts as convergence.
const STILL: f64 = 1e-12;

/// Expected share of each of `operations` operations; `None` with choosers.
pub(crate) fn stationary(behaviour: &Behaviour, operations: usize) -> Option<Vec<Share>> {
    let mut edges: Vec<Vec<(OpId, f64)>> = Vec::with_capacity(operations);
    for next in &behaviour.next {
        edges.push(match next {
            None => Vec::new(),
            Some(NextOp::Op(op) | NextOp::EndSession { first: op }) => vec![(*op, 1.0)],
            Some(NextOp::Vector(vector)) => vector.entries().iter().map(|(op, p)| (*op, p.get())).collect(),
            Some(NextOp::Choose { .. }) => return None,
        });
    }
    let mut shares = vec![0.0; operations];
    shares[behaviour.first.index()] = 1.0;
    for _ in 0..MOST_ROUNDS {
        let mut after: Vec<f64> = shares.iter().map(|share| share / 2.0).collect();
        for (share, edges) in shares.iter().zip(&edges) {
            edges.iter().for_each(|(op, p)| after[op.index()] += share / 2.0 * p);
        }
        let moved: f64 = shares.iter().zip(&after).map(|(a, b)| (a - b).abs()).sum();
        shares = after;
        if moved < STILL {
            break;
        }
    }
    // Vectors sum to 1 within a millionth, and errors of many rounds add up: the whole is 1 by definition.
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| Share::new((share / sum).clamp(0.0, 1.0)).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_model::{Pace, Vector};

    fn mix(first: u8, next: Vec<Option<NextOp>>) -> Option<Vec<f64>> {
        let operations = next.len();
        let behaviour = Behaviour { name: "main", first: OpId(first), next, pace: Pace::AtOnce };
        let shares = stationary(&behaviour, operations)?;
        Some(shares.iter().map(|s| (s.get() * 1e6).round() / 1e6).collect())
    }

    fn vector(entries: &[(u8, f64)]) -> Option<NextOp> {
        let entries = entries.iter().map(|(op, p)| (OpId(*op), Share::new(*p).unwrap())).collect();
        Some(NextOp::Vector(Vector::new(entries).unwrap()))
    }

    #[test]
    fn shares_follow_from_transitions() {
        let op = |op| Some(NextOp::Op(OpId(op)));
        assert_eq!(mix(0, vec![op(1), op(0), None]).unwrap(), [0.5, 0.5, 0.0]);
        // Login, then on average four searches, then logout: 1/6, 4/6, 1/6.
        let session =
            vec![op(1), vector(&[(1, 0.75), (2, 0.25)]), Some(NextOp::EndSession { first: OpId(0) })];
        assert_eq!(mix(0, session).unwrap(), [0.166667, 0.666667, 0.166667]);
        // An operation that happens only once has no share in the long run.
        assert_eq!(mix(0, vec![op(1), op(1)]).unwrap(), [0.0, 1.0]);
        let chooser =
            NextOp::Choose { chooser: barograph_model::ChooserId(0), branches: vec![NextOp::Op(OpId(0))] };
        assert_eq!(mix(0, vec![Some(chooser)]), None);
    }
}
