//! Files of a demand curve: the fewest nodes that hold each load.

use std::fmt::Write as _;

use barograph_model::{DemandCurve, LoadUnit, NodesHold, Refusal};

use crate::settings_reader::SettingsReader;

/// Most numbers of nodes of one curve.
const MOST_POINTS: usize = 1_000;

/// Most nodes of a tier.
const MOST_NODES: u64 = 1_000;

/// Smallest and largest load.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e9;

/// A demand curve, as in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandFile {
    /// Origin of the curve, in words.
    pub about: String,
    /// Unit of its loads.
    pub unit: LoadUnit,
    /// The curve.
    pub curve: DemandCurve,
}

/// The name of a unit in the file: that of the keys of levels in a plan.
fn name_of(unit: LoadUnit) -> &'static str {
    match unit {
        LoadUnit::Users => "users",
        LoadUnit::PerSecond => "rate",
        LoadUnit::Scale | LoadUnit::Tiles => "scale",
    }
}

/// Parses the text of a demand curve. A refusal names the file and the line.
pub fn demand(name: &str, text: &str) -> Result<DemandFile, Vec<Refusal>> {
    let mut given = SettingsReader::parse(name, text, &[]).map_err(|refused| refused.0)?;
    let about = given.word("about", &[], "");
    let unit = given.choice("unit", &["users", "rate", "scale"], "users");
    let allowed = "a list of tables with `count`, `load` and, where it is known, `low` and `high`";
    let count = given.tables("nodes", MOST_POINTS, allowed).unwrap_or(0);
    let points: Vec<Option<NodesHold>> = (0..count).map(|at| point(&mut given, at)).collect();
    let points: Option<Vec<NodesHold>> = points.into_iter().collect();
    let curve = points.and_then(DemandCurve::new);
    if curve.is_none() {
        let allowed = "numbers of nodes that differ, each with a load between its `low` and its `high`";
        given.refuse("nodes", format!("{count} tables"), allowed, "write it with `barograph demand`");
    }
    let unit = match unit {
        Some("rate") => LoadUnit::PerSecond,
        Some("scale") => LoadUnit::Scale,
        _ => LoadUnit::Users,
    };
    match (about, curve, given.finish()) {
        (Some(about), Some(curve), refusals) if refusals.is_empty() => Ok(DemandFile { about, unit, curve }),
        (_, _, refusals) => Err(refusals),
    }
}

/// A number of nodes with what it holds; without an upper end of the interval, more was never tried.
fn point(g: &mut SettingsReader, at: usize) -> Option<NodesHold> {
    let key = |name: &str| format!("nodes[{at}].{name}");
    let load = |g: &mut SettingsReader, name: &str| -> Option<Option<f64>> {
        let key = key(name);
        if !g.stands(&key) {
            return Some(None);
        }
        Some(Some(g.listed_fraction(&key, LEAST..=MOST)?))
    };
    let nodes = g.required_number(&key("count"), 1..=MOST_NODES);
    let (most, low, high) = (load(g, "load"), load(g, "low"), load(g, "high"));
    if most == Some(None) {
        g.refuse(&key("load"), "nothing", "a number above 0", "give the most load that these nodes hold");
    }
    let within = match (low?, high?) {
        (None, None) => None,
        (low, high) => Some((low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))),
    };
    Some(NodesHold { nodes: nodes? as u32, load: most??, within })
}

impl DemandFile {
    /// The text of the file, which reads back to the same curve.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::from("# The fewest nodes that hold each load, with 95 % intervals.\n");
        let mut line = |line: String| writeln!(text, "{line}").expect("writing to memory cannot fail");
        line(format!("about = {}", toml::Value::String(self.about.clone())));
        line(format!("unit = \"{}\"", name_of(self.unit)));
        for point in self.curve.points() {
            line(format!("\n[[nodes]]\ncount = {}\nload = {}", point.nodes, point.load));
            if let Some((low, high)) = point.within {
                line(format!("low = {low}"));
                if high.is_finite() {
                    line(format!("high = {high}"));
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> DemandFile {
        let hold = |nodes: u32, load: f64, within| NodesHold { nodes, load, within };
        let points = vec![
            hold(1, 100.0, Some((90.5, 110.0))),
            hold(2, 190.0, Some((150.0, f64::INFINITY))),
            hold(4, 350.0, None),
        ];
        DemandFile {
            about: "a \"study\"".to_owned(),
            unit: LoadUnit::PerSecond,
            curve: DemandCurve::new(points).unwrap(),
        }
    }

    #[test]
    fn a_file_reads_back_to_the_same_curve() {
        let text = file().text();
        assert_eq!(demand("d.toml", &text).unwrap(), file(), "{text}");
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let refused = |text: &str| -> Vec<(String, String)> {
            let refusals = demand("d.toml", text).unwrap_err().into_iter();
            refusals.map(|refusal| (refusal.place, refusal.key)).collect()
        };
        let of = |place: &str, key: &str| (place.to_owned(), key.to_owned());
        assert_eq!(refused("unit = \"users\"\n"), [of("d.toml", "nodes")]);
        assert!(refused("unit = \"cars\"\n").contains(&of("d.toml:1", "unit")));
        assert!(refused("[[nodes]]\ncount = 0\nload = 1\n").contains(&of("d.toml:2", "nodes[0].count")));
        assert!(refused("[[nodes]]\ncount = 1\n").contains(&of("d.toml:1", "nodes[0].load")));
        assert!(refused("[[nodes]]\ncount = 1\nload = 9\nlow = 10\n").contains(&of("d.toml:1", "nodes")));
        assert!(
            refused("[[nodes]]\ncount = 1\nload = 9\nper = 1\n").contains(&of("d.toml:4", "nodes[0].per"))
        );
    }
}
