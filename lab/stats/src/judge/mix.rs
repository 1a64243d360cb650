//! Checks of the mix of operations: against the required one, as far as a window of this size can tell, and
//! for changes within the window.

use barograph_model::{Bound, Check, CheckFacts, CheckId, Excuse, LoadUnit, OpId, OpVerdict, Profile, Share};

use super::{WindowInput, slices};
use crate::homogeneity::unlike;
use crate::steady::mean_within;
use crate::{IntervalSummary, OpSummary};

/// Standard deviations by which independent draws miss their share once in a thousand windows.
const CHANCE: f64 = 3.29;

/// Largest part of the operations of a third of the window that may differ in kind from the rest.
const CHANGE_ALLOWED: Share = Share::percent(5.0);

/// Standard deviations that count as certain here. For independent operations 3.3 would do; users' sessions
/// make mixes swing more, and docs/reference/gates.md gives the rate at which a clean window exceeds this.
const CERTAIN: f64 = 5.0;

/// Largest deviation by chance of an operation's share from the required one, in a window as short and as
/// light as this one: at 99 %, and at least that of independent draws once in a thousand windows. 0 if no
/// share is required.
///
/// Operations are not independent draws: users who see the same event act at the same moment. So the swing of
/// the share from interval to interval is taken from the window itself. A share that is missed all the time
/// does not swing, so it is still found.
pub(super) fn chance(parts: &[IntervalSummary], (profile, is_judged): (&Profile, &[bool]), op: usize) -> f64 {
    let required = profile.mix(OpId(op as u8)).map_or(0.0, Bound::limit);
    if required <= 0.0 {
        return 0.0;
    }
    let of_judged = |part: &IntervalSummary| -> u64 {
        part.ops.iter().zip(is_judged).filter(|(_, judged)| **judged).map(|(op, _)| op.ended()).sum()
    };
    let of_op = |part: &IntervalSummary| part.ops.get(op).map_or(0, OpSummary::ended) as f64;
    let judged: Vec<f64> = parts.iter().map(|part| of_judged(part) as f64).collect();
    let all: f64 = judged.iter().sum();
    if all <= 0.0 {
        return 0.0;
    }
    let (share, mean) = (parts.iter().map(of_op).sum::<f64>() / all, all / judged.len() as f64);
    let swing: Vec<f64> =
        parts.iter().zip(&judged).map(|(part, judged)| (of_op(part) - share * judged) / mean).collect();
    let swung = mean_within(&swing).map_or(0.0, |(_, within)| within);
    swung.max(CHANCE * (required * (1.0 - required) / all).sqrt())
}

/// Compares the shares of judged operations in the thirds of the window. In a `hopeless` window, which is too
/// slow or fails too often in any case, users that wait for one operation do fewer of those that follow; that
/// is a result and no fault. `None` if only one operation is judged.
pub(super) fn drift(input: &WindowInput<'_>, hopeless: bool) -> Option<Check> {
    let is_judged = input.profile.judged(input.ops.len());
    let judged: Vec<usize> = (0..is_judged.len()).filter(|op| is_judged[*op]).collect();
    let (blocks, per_slice) =
        slices::counted(input.parts, |part| judged.iter().map(|op| part.ops[*op].ended()).collect())?;
    let found = unlike(&blocks, per_slice)?;
    let same = found.deviations <= CERTAIN || found.distance <= CHANGE_ALLOWED.get();
    let op = found.kind.map(|kind| input.ops[judged[kind]].name.to_owned());
    let facts = slices::facts(&found, op, CHANGE_ALLOWED);
    let excuse = (hopeless && !same).then_some(Excuse::Overload);
    Some(Check::excused(CheckId::SteadyMix, facts, (same, excuse)))
}

/// Finds a share that is off while users are still in the session in which many of them came, or came out of
/// a queue. They do the same operations at the same time, which is another load and says nothing about the
/// target; a target that keeps users from an operation does so later, too. `None` if every share is kept, if
/// the length of a session is unknown, or if it has passed since.
pub(super) fn unsettled(input: &WindowInput<'_>, ops: &[OpVerdict]) -> Option<Check> {
    let session_s = input.profile.derived?.session_s;
    let spread_s = input.spread_for?.as_secs_f64();
    if input.offered.unit != LoadUnit::Users || spread_s >= session_s {
        return None;
    }
    let off = |op: &&OpVerdict| op.judged && !op.mix_ok && op.mix_required > 0.0;
    let by = |op: &OpVerdict| (op.mix / op.mix_required - 1.0).abs();
    let worst = ops.iter().filter(off).max_by(|a, b| by(a).total_cmp(&by(b)))?;
    let facts = CheckFacts::AfterStep {
        op: worst.op.clone(),
        share: worst.mix,
        required: worst.mix_required,
        after_s: spread_s,
        session_s,
    };
    Some(Check::new(CheckId::MixAfterStep, facts, false))
}

#[cfg(test)]
mod tests {
    use barograph_model::{OpId, Outcome, QosRule};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const WINDOWS: u64 = 200;

    /// Operations that a user begins per second.
    const PACE: f64 = 0.4;

    /// Number of `count` events that happen, each with probability `p`; in the normal form where it is as
    /// good.
    fn happen(rng: &mut Xoshiro256PlusPlus, count: u32, p: f64) -> u64 {
        if f64::from(count) * p < 20.0 {
            return (0..count).filter(|_| rng.random::<f64>() < p).count() as u64;
        }
        let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mean = f64::from(count) * p;
        (mean + normal * (mean * (1.0 - p)).sqrt()).round().clamp(0.0, f64::from(count)) as u64
    }

    /// Seconds of two operations; the second has `share` of them, and `together` users at a time do it.
    struct Load {
        users: u32,
        seconds: u32,
        share: f64,
        together: u32,
    }

    impl Load {
        fn parts(&self, seed: u64) -> Vec<IntervalSummary> {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let second = |_: u32| {
                let mut part = IntervalSummary {
                    seconds: 1.0,
                    ops: vec![OpSummary::default(); 2],
                    ..IntervalSummary::default()
                };
                let first = happen(&mut rng, self.users, PACE * (1.0 - self.share));
                let groups = happen(&mut rng, self.users / self.together, PACE * self.share);
                for (op, count) in [(0_usize, first), (1, groups * u64::from(self.together))] {
                    part.ops[op].outcomes[Outcome::Good.index()] = count;
                }
                part
            };
            (0..self.seconds).map(second).collect()
        }

        /// Number of windows in which the rule of the second operation, 40 % within a tenth, is not kept.
        fn missed(&self) -> u64 {
            let profile = profile();
            let required = profile.mix(OpId(1)).unwrap();
            let missed = |seed| {
                let parts = self.parts(seed);
                let of = |op: usize| parts.iter().map(|part| part.ops[op].ended()).sum::<u64>() as f64;
                !required.holds(of(1) / (of(0) + of(1)), chance(&parts, (&profile, &[true; 2]), 1))
            };
            (0..WINDOWS).filter(|seed| missed(*seed)).count() as u64
        }
    }

    fn rule(op: u8, mix: f64) -> QosRule {
        QosRule {
            op: OpId(op),
            quantile: Share::percent(99.0),
            limit: None,
            judged: true,
            mix: Share::percent(mix),
            mix_tolerance: Share::percent(10.0),
            failures: Share::ZERO,
        }
    }

    fn profile() -> Profile {
        Profile::usual("test", &[rule(0, 0.0), rule(1, 40.0)], None)
    }

    const LOADS: [(u32, u32, u32); 6] =
        [(20, 15, 1), (20, 45, 1), (1_000, 15, 20), (1_000, 45, 50), (10_000, 15, 1), (10_000, 45, 200)];

    /// Without room for chance every third window of 15 s of 20 users would fail.
    #[test]
    fn pure_chance_misses_no_share() {
        for (users, seconds, together) in LOADS {
            let missed = Load { users, seconds, share: 0.4, together }.missed();
            assert!(missed <= 6, "{missed} of {WINDOWS}: {users} users, {seconds} s, {together} together");
        }
    }

    #[test]
    fn a_planted_share_is_found_from_the_size_that_a_window_can_tell() {
        let plants = [0.8, 0.6, 0.6, 0.6, 0.5, 0.6];
        for ((users, seconds, together), share) in LOADS.into_iter().zip(plants) {
            let found = Load { users, seconds, share, together }.missed();
            assert!(found > WINDOWS * 9 / 10, "{found} of {WINDOWS}: {users} users, {seconds} s");
        }
        // With many operations the tolerance is the limit: 46 % are 15 % more than 40 %.
        assert_eq!(Load { users: 10_000, seconds: 45, share: 0.46, together: 1 }.missed(), WINDOWS);
        assert_eq!(Load { users: 10_000, seconds: 45, share: 0.42, together: 1 }.missed(), 0);
    }

    #[test]
    fn chance_is_that_of_independent_draws_at_least() {
        let even = Load { users: 0, seconds: 10, share: 0.4, together: 1 };
        let mut parts = even.parts(1);
        let (profile, judged) = (profile(), [true; 2]);
        let chance = |parts: &[IntervalSummary], op| chance(parts, (&profile, &judged), op);
        assert_eq!(chance(&parts, 1), 0.0, "nothing happened");
        for part in &mut parts {
            part.ops[0].outcomes[Outcome::Good.index()] = 6;
            part.ops[1].outcomes[Outcome::Good.index()] = 4;
        }
        assert!((chance(&parts, 1) - 3.29 * (0.24f64 / 100.0).sqrt()).abs() < 1e-12);
        assert_eq!(chance(&parts, 0), 0.0, "no share is required");
        assert!((chance(&parts[..2], 1) - 3.29 * (0.24f64 / 20.0).sqrt()).abs() < 1e-12);
    }
}
