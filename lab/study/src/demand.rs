//! The demand curve of a study of sizes: the fewest nodes that hold each load.

use barograph_model::words::listed;
use barograph_model::{DemandCurve, LoadUnit, Metric, NodesHold};
use barograph_record::{Conclusions, PointRecord, RunRecord, ScalingRecord};
use barograph_spec::DemandFile;

/// Reason why a study has no demand curve.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DemandError {
    /// No capacity by size.
    #[error(
        "find capacities by a numeric factor in study {study}; its metric is `capacity`, of searches by number of nodes"
    )]
    NoSizes {
        /// The study.
        study: String,
    },
    /// Several factors, or several rows of other levels.
    #[error("choose one of {choices}; name it with --factor")]
    Several {
        /// The factors with the levels of the others.
        choices: String,
    },
    /// Sizes that are no numbers of nodes.
    #[error("take the sizes of factor {factor} for numbers of nodes")]
    NotNodes {
        /// The factor.
        factor: String,
    },
}

/// The demand curve of a study, whose sizes are numbers of nodes and whose speed is the capacity. `factor` is
/// the factor, or the levels of the others as in `nodes (platform vm)`, if there are several. `believed` is
/// the 95 % interval of the capacity of a run.
///
/// The interval of a size is that over blocks. Of fewer blocks than it needs it is the range of what their
/// searches believe, which is wider.
///
/// # Errors
/// If the study has no such sizes, or several.
pub fn demand(
    study: &Conclusions,
    factor: Option<&str>,
    believed: impl Fn(&str) -> Option<(f64, f64)>,
) -> Result<DemandFile, DemandError> {
    let capacity = Metric::Capacity.name();
    let of_capacity = study.scaling.iter().filter(|scaling| scaling.metric == capacity);
    let wanted = |scaling: &&ScalingRecord| {
        factor.is_none_or(|wanted| wanted == scaling.factor || wanted == called(scaling))
    };
    let found: Vec<&ScalingRecord> = of_capacity.filter(wanted).collect();
    let [scaling] = found[..] else {
        return Err(match found.is_empty() {
            true => DemandError::NoSizes { study: study.id.clone() },
            false => {
                let choices: Vec<String> = found.into_iter().map(called).collect();
                let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
                DemandError::Several { choices: listed(&choices) }
            }
        });
    };
    let points = scaling.points.iter().map(|point| {
        let of_runs = runs_of(study, scaling, point.n).filter_map(|run| believed(&run.run));
        hold(point, scaling.bounded.contains(&point.n), &of_runs.collect::<Vec<_>>())
    });
    let curve = points.collect::<Option<Vec<NodesHold>>>().and_then(DemandCurve::new);
    let curve = curve.ok_or_else(|| DemandError::NotNodes { factor: scaling.factor.clone() })?;
    Ok(DemandFile { about: format!("{}: {}", study.id, study.question), unit: unit(&scaling.unit), curve })
}

fn called(scaling: &ScalingRecord) -> String {
    match scaling.among.as_str() {
        "" => scaling.factor.clone(),
        among => format!("{} ({among})", scaling.factor),
    }
}

fn unit(name: &str) -> LoadUnit {
    let all = [LoadUnit::Users, LoadUnit::PerSecond];
    all.into_iter().find(|unit| unit.name() == name).unwrap_or(LoadUnit::Scale)
}

/// Runs of the configuration of a size; none if there are other factors.
fn runs_of<'s>(
    study: &'s Conclusions,
    scaling: &ScalingRecord,
    n: f64,
) -> impl Iterator<Item = &'s RunRecord> {
    let factor = scaling.factor.clone();
    let alone = scaling.among.is_empty();
    let is_of = move |levels: &[(String, String)]| match levels {
        [(name, level)] => alone && *name == factor && level.parse() == Ok(n),
        _ => false,
    };
    let configurations: Vec<&str> = study
        .configurations
        .iter()
        .filter(|of| is_of(&of.levels) && !of.control)
        .map(|of| of.name.as_str())
        .collect();
    study.runs.iter().filter(move |run| configurations.contains(&run.configuration.as_str()))
}

/// A point of the curve; `None` if its size is no number of nodes.
fn hold(point: &PointRecord, is_bound: bool, of_runs: &[(f64, f64)]) -> Option<NodesHold> {
    if !(point.n >= 1.0 && point.n.fract() == 0.0 && point.n <= f64::from(u32::MAX)) {
        return None;
    }
    let high = |high: f64| if is_bound || !high.is_finite() { f64::INFINITY } else { high };
    let within = match (point.low.is_finite(), of_runs) {
        (true, _) => Some((point.low, high(point.high))),
        (false, []) => is_bound.then_some((point.x, f64::INFINITY)),
        (false, believed) => {
            let low = believed.iter().map(|of| of.0).fold(point.x, f64::min);
            Some((low, high(believed.iter().map(|of| of.1).fold(point.x, f64::max))))
        }
    };
    Some(NodesHold { nodes: point.n as u32, load: point.x, within })
}

#[cfg(test)]
mod tests {
    use barograph_record::{ConfigurationRecord, IntervalRecord};

    use super::*;

    fn point(n: f64, x: f64, (low, high): (f64, f64)) -> PointRecord {
        let speedup_within = IntervalRecord::default();
        PointRecord { n, x, low, high, speedup: 1.0, speedup_within, efficiency: 1.0, serial: None }
    }

    fn study() -> Conclusions {
        let nan = (f64::NAN, f64::NAN);
        let configuration = |level: &str| ConfigurationRecord {
            name: format!("nodes {level}"),
            levels: vec![("nodes".to_owned(), level.to_owned())],
            ..ConfigurationRecord::default()
        };
        let run = |run: &str, level: &str| RunRecord {
            run: run.to_owned(),
            configuration: format!("nodes {level}"),
            ..RunRecord::default()
        };
        Conclusions {
            id: "study-1".to_owned(),
            question: "How many?".to_owned(),
            configurations: ["1", "2", "4"].map(configuration).to_vec(),
            runs: vec![run("a", "1"), run("b", "1"), run("c", "2")],
            scaling: vec![ScalingRecord {
                factor: "nodes".to_owned(),
                metric: "capacity".to_owned(),
                unit: "users".to_owned(),
                points: vec![
                    point(1.0, 100.0, nan),
                    point(2.0, 190.0, (180.0, 200.0)),
                    point(4.0, 300.0, nan),
                ],
                bounded: vec![4.0],
                ..ScalingRecord::default()
            }],
            ..Conclusions::default()
        }
    }

    #[test]
    fn a_curve_has_the_intervals_of_blocks_or_of_searches() {
        let believed = |run: &str| match run {
            "a" => Some((80.0, 120.0)),
            "b" => Some((95.0, 125.0)),
            _ => Some((1.0, 2.0)),
        };
        let found = demand(&study(), None, believed).unwrap();
        let hold = |nodes: u32, load: f64, within| NodesHold { nodes, load, within: Some(within) };
        assert_eq!(
            found.curve.points(),
            [
                hold(1, 100.0, (80.0, 125.0)),
                hold(2, 190.0, (180.0, 200.0)),
                hold(4, 300.0, (300.0, f64::INFINITY)),
            ]
        );
        assert_eq!((found.unit, found.about.as_str()), (LoadUnit::Users, "study-1: How many?"));
        let unknown = demand(&study(), Some("nodes"), |_| None).unwrap();
        assert_eq!(unknown.curve.points()[0].within, None);
    }

    #[test]
    fn a_study_without_one_row_of_sizes_says_so() {
        let mut none = study();
        none.scaling[0].metric = "throughput".to_owned();
        assert_eq!(demand(&none, None, |_| None), Err(DemandError::NoSizes { study: "study-1".to_owned() }));
        let mut two = study();
        let other = ScalingRecord { among: "platform vm".to_owned(), ..two.scaling[0].clone() };
        two.scaling.push(other);
        let choices = "nodes and nodes (platform vm)".to_owned();
        assert_eq!(demand(&two, None, |_| None), Err(DemandError::Several { choices }));
        assert!(demand(&two, Some("nodes (platform vm)"), |_| None).is_ok());
        let mut parts = study();
        parts.scaling[0].points[0].n = 0.5;
        let factor = "nodes".to_owned();
        assert_eq!(demand(&parts, None, |_| None), Err(DemandError::NotNodes { factor }));
    }
}
