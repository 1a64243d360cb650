//! Reference rates of a tile, by which a run of tiles is scored.

use std::collections::BTreeMap;

use barograph_model::Refusal;

use crate::settings_reader::SettingsReader;

/// The rate of a load unless another is named: operations per second that ended well.
const DEFAULT: &str = "throughput";

/// Smallest and largest rate.
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e15;

/// Rates of a reference: of the loads of one tile, and of operations on the infrastructure.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Origin of the rates, in words.
    pub about: String,
    /// Rate by the name of a load within its tile.
    pub rates: BTreeMap<String, ReferenceRate>,
    /// Completed operations per hour by the act of an action, for the whole run; empty for a score of the
    /// applications alone.
    pub operations: BTreeMap<String, f64>,
    /// Position of each key and table, such as `rates.shop` and `rates.shop.of`.
    pub places: BTreeMap<String, String>,
}

/// Rate of a load of the reference.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceRate {
    /// Name of the rate: `throughput`, `goodput`, `requests`, or the id of a measure of the workload.
    pub of: String,
    /// Its value, above 0.
    pub rate: f64,
}

/// Parses the text of a reference. A refusal names the file and the line.
pub fn reference(name: &str, text: &str) -> Result<Reference, Vec<Refusal>> {
    let mut given = SettingsReader::parse(name, text, &[]).map_err(|refused| refused.0)?;
    let about = given.word("about", &[], "");
    let mut rates = BTreeMap::new();
    for load in given.tables_below("rates") {
        let key = format!("rates.{load}");
        let of = given.word(&format!("{key}.of"), &[], DEFAULT);
        let rate = needed(&mut given, &format!("{key}.rate"), "give the load its rate");
        if let (Some(of), Some(rate)) = (of, rate) {
            rates.insert(load, ReferenceRate { of, rate });
        }
    }
    if rates.is_empty() {
        given.refuse(
            "rates",
            "nothing",
            "a table of rates by load, as in [rates.shop]",
            "give each load of the tile its rate",
        );
    }
    let mut operations = BTreeMap::new();
    let acts = given.tables_below("operations");
    if acts.is_empty() && given.has_table("operations") {
        let allowed = "a table of rates by act, as in [operations.restart]";
        given.refuse("operations", "nothing", allowed, "give each operation its rate, or remove the table");
    }
    for act in acts {
        let key = format!("operations.{act}.per_hour");
        if let Some(rate) = needed(&mut given, &key, "give the operation its rate") {
            operations.insert(act, rate);
        }
    }
    let places = given.places_of_all();
    match (about, given.finish()) {
        (Some(about), refusals) if refusals.is_empty() => Ok(Reference { about, rates, operations, places }),
        (_, refusals) => Err(refusals),
    }
}

/// Reads a rate that must be given.
fn needed(given: &mut SettingsReader, key: &str, remedy: &str) -> Option<f64> {
    if !given.stands(key) {
        given.refuse(key, "nothing", "a number above 0", remedy);
    }
    given.listed_fraction(key, LEAST..=MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Vec<(String, String)> {
        let refusals = reference("r.toml", text).unwrap_err().into_iter();
        refusals.map(|refusal| (refusal.place, refusal.key)).collect()
    }

    #[test]
    fn each_load_has_a_rate_and_its_name() {
        let text =
            "about = \"a machine\"\n[rates.shop]\nrate = 20\n[rates.till]\nof = \"orders\"\nrate = 0.5\n";
        let read = reference("r.toml", text).unwrap();
        let rate = |of: &str, rate: f64| ReferenceRate { of: of.to_owned(), rate };
        assert_eq!(read.about, "a machine");
        let rates = [("shop", rate("throughput", 20.0)), ("till", rate("orders", 0.5))];
        assert_eq!(read.rates, rates.map(|(load, rate)| (load.to_owned(), rate)).into());
        assert!(read.operations.is_empty());
        let place = |key: &str| read.places.get(key).map(String::as_str);
        assert_eq!((place("rates.till"), place("rates.till.of")), (Some("r.toml:4"), Some("r.toml:5")));
    }

    #[test]
    fn operations_have_rates_per_hour() {
        let text = "about = \"a\"\n[rates.shop]\nrate = 1\n[operations.move]\nper_hour = 28\n[operations.scale]\nper_hour = 0.5\n";
        let read = reference("r.toml", text).unwrap();
        let rates = [("move", 28.0), ("scale", 0.5)];
        assert_eq!(read.operations, rates.map(|(act, rate)| (act.to_owned(), rate)).into());
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let of = |place: &str, key: &str| vec![(place.to_owned(), key.to_owned())];
        assert_eq!(refused("about = \"a\"\n"), of("r.toml", "rates"));
        assert_eq!(refused("[rates.shop]\nrate = 0\n")[0].0, "r.toml:2");
        assert_eq!(refused("[rates.shop]\nrate = 1\nper = 2\n"), of("r.toml:3", "rates.shop.per"));
        assert_eq!(refused("[rates\n")[0].0, "r.toml:1");
        let operation = |of: &str| refused(&format!("[rates.shop]\nrate = 1\n[operations.move]\n{of}\n"));
        assert_eq!(operation("per_hour = 0"), of("r.toml:4", "operations.move.per_hour"));
        assert_eq!(operation("rate = 1")[0], of("r.toml:3", "operations.move.per_hour")[0]);
        assert_eq!(operation(""), of("r.toml:3", "operations.move.per_hour"));
        assert_eq!(refused("[rates.shop]\nrate = 1\n[rates.till]\n"), of("r.toml:3", "rates.till.rate"));
        assert_eq!(refused("[operations]\n[rates.shop]\nrate = 1\n"), of("r.toml:1", "operations"));
    }
}
