//! Aims of the search. The simulation fails when it misses one, so that regressions show without reading the
//! tables.

use super::contest::{Cell, Contender, Neighbours, Outcome};

use super::TRIALS;

/// Largest share of spurious failures within the aims.
const MOST_SPURIOUS: f64 = 0.10;
/// Largest share of searches off by more than a tenth.
const MOST_OFF: f64 = 0.01;
/// Least share of intervals that hold the capacity.
const LEAST_COVERAGE: f64 = 0.93;
/// Allowance for chance, in standard errors: a line has few searches.
const ERRORS: f64 = 2.0;

/// An aim with its result.
pub(super) struct Aim {
    pub(super) what: String,
    pub(super) found: f64,
    pub(super) met: bool,
}

/// Comparison of a share with its limit.
#[derive(Clone, Copy)]
enum AimBound {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
}

impl AimBound {
    /// Whether a share meets the limit, with an allowance for chance.
    fn by(self, share: f64, chance: f64) -> bool {
        match self {
            AimBound::AtMost(limit) => share <= limit + chance,
            AimBound::Below(limit) => share < limit + chance,
            AimBound::AtLeast(limit) => share >= limit - chance,
        }
    }

    fn limit(self) -> f64 {
        let (AimBound::AtMost(limit) | AimBound::Below(limit) | AimBound::AtLeast(limit)) = self;
        limit
    }

    fn words(self) -> String {
        let words = match self {
            AimBound::AtMost(_) => "at most",
            AimBound::Below(_) => "below",
            AimBound::AtLeast(_) => "at least",
        };
        format!("{words} {:.0} %", self.limit() * 100.0)
    }

    /// The share that is farthest on the wrong side.
    fn worst(self, shares: impl Iterator<Item = f64>) -> f64 {
        match self {
            AimBound::AtMost(_) | AimBound::Below(_) => shares.fold(0.0, f64::max),
            AimBound::AtLeast(_) => shares.fold(1.0, f64::min),
        }
    }
}

/// All aims, with the results of the lines of the tables.
pub(super) fn of(lines: &[(Cell, Outcome)]) -> Vec<Aim> {
    let ours = |neighbours: Neighbours| -> Vec<Outcome> {
        let counts = |cell: &Cell| {
            matches!(cell.contender, Contender::Ramped { trials: TRIALS, .. })
                && cell.target.neighbours == neighbours
                && cell.target.spurious <= MOST_SPURIOUS
        };
        lines.iter().filter(|(cell, _)| counts(cell)).map(|(_, outcome)| *outcome).collect()
    };
    let ending: Vec<Outcome> = lines
        .iter()
        .filter(|(cell, _)| matches!(cell.contender, Contender::Ending { .. }))
        .map(|(_, outcome)| *outcome)
        .collect();
    let (calm, gated) = (ours(Neighbours::None), ours(Neighbours::Gated));
    let off = |found: &Outcome| found.gross;
    let holds = |found: &Outcome| found.coverage.unwrap_or(0.0);
    let with = |what: &str| format!("{TRIALS} trials, {what}");
    [
        aims(&with("no neighbours, off"), &calm, (off, AimBound::AtMost(MOST_OFF))),
        aims(&with("no neighbours, coverage"), &calm, (holds, AimBound::AtLeast(LEAST_COVERAGE))),
        aims(&with("neighbours that a gate notices, off"), &gated, (off, AimBound::Below(MOST_OFF))),
        aims("ending as runs do, coverage", &ending, (holds, AimBound::AtLeast(LEAST_COVERAGE))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// One aim for all lines together, and the same for each of them with an allowance for chance. Without lines
/// both are missed.
fn aims(what: &str, lines: &[Outcome], (share, held): (fn(&Outcome) -> f64, AimBound)) -> [Aim; 2] {
    let searches: f64 = lines.iter().map(|line| f64::from(line.searches)).sum();
    let together = lines.iter().map(|line| share(line) * f64::from(line.searches)).sum::<f64>() / searches;
    let error = |line: &Outcome| (held.limit() * (1.0 - held.limit()) / f64::from(line.searches)).sqrt();
    let each = |line: &Outcome| held.by(share(line), ERRORS * error(line));
    let words = held.words();
    [
        Aim { what: format!("{what}: {words}, all lines"), found: together, met: held.by(together, 0.0) },
        Aim {
            what: format!("{what}: {words} but for {ERRORS:.0} standard errors, each line"),
            found: held.worst(lines.iter().map(share)),
            met: !lines.is_empty() && lines.iter().all(each),
        },
    ]
}

#[cfg(test)]
mod tests {
    use barograph_model::Share;
    use barograph_stats::search::Prior;

    use super::super::contest::{Edge, Target};
    use super::*;

    fn ending(coverage: f64) -> (Cell, Outcome) {
        let (cell, outcome) = line(Neighbours::None, 0.5, coverage);
        let contender = Contender::Ending { trials: 9, resolution: Share::percent(5.0) };
        (Cell { contender, ..cell }, outcome)
    }

    fn line(neighbours: Neighbours, gross: f64, coverage: f64) -> (Cell, Outcome) {
        let target = Target { edge: Edge::Normal, softness: 0.01, spurious: 0.1, neighbours };
        let contender = Contender::Ramped { trials: TRIALS, prior: Prior::Even };
        let outcome = Outcome {
            searches: 200,
            error: (-0.01, 0.01),
            gross,
            coverage: Some(coverage),
            width: Some(0.05),
            trials: 30.0,
            confirmed: 0.5,
            drifted: 0.0,
        };
        (Cell { contender, target, number: 0 }, outcome)
    }

    fn met(lines: &[(Cell, Outcome)]) -> Vec<bool> {
        of(lines).iter().map(|aim| aim.met).collect()
    }

    #[test]
    fn aims_are_met_or_missed() {
        let gated = line(Neighbours::Gated, 0.005, 0.9);
        let ends = ending(0.93);
        assert_eq!(met(&[line(Neighbours::None, 0.01, 0.93), gated, ends]), [true; 8]);
        // One line is off by more than chance, but not all together.
        let lines = [line(Neighbours::None, 0.03, 0.89), gated];
        let many = [vec![line(Neighbours::None, 0.0, 0.97); 9], lines.to_vec(), vec![ends]].concat();
        assert_eq!(met(&many), [true, false, true, false, true, true, true, true]);
        // The gate's is "below": a share of exactly 1 % misses it.
        let lines = [line(Neighbours::None, 0.0, 0.95), line(Neighbours::Gated, 0.01, 0.95), ending(0.92)];
        assert_eq!(met(&lines), [true, true, true, true, false, true, false, true]);
        let few = [line(Neighbours::None, 0.015, 0.92), gated, ending(0.88)];
        assert_eq!(met(&few), [false, true, false, true, true, true, false, false]);
        assert_eq!(met(&[]), [false; 8]);
    }

    #[test]
    fn other_searches_have_no_aims() {
        let mut rival = line(Neighbours::None, 0.5, 0.1);
        rival.0.contender = Contender::FindMax;
        let mut short = line(Neighbours::None, 0.5, 0.1);
        short.0.contender = Contender::Ramped { trials: 9, prior: Prior::Even };
        let unnoticed = line(Neighbours::Unnoticed, 0.5, 0.1);
        let fine = [line(Neighbours::None, 0.0, 0.95), line(Neighbours::Gated, 0.0, 0.95), ending(0.95)];
        assert_eq!(met(&[fine[0], fine[1], fine[2], rival, short, unnoticed]), [true; 8]);
        let said = &of(&fine)[2];
        assert_eq!(said.what, "30 trials, no neighbours, coverage: at least 93 %, all lines");
    }
}
