//! Reference rates of a tile, by which a run of tiles is scored.

use std::collections::BTreeMap;

use barograph_model::Refusal;

use crate::settings_reader::SettingsReader;

/// The rate of a load unless another is named: operations per second that ended well.
const DEFAULT: &str = "throughput";

/// Smallest and largest rate.
const LEAST: f64 = 1e-9;
const MOST: f64 = 1e15;

/// Rates of one tile of a reference.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Origin of the rates, in words.
    pub about: String,
    /// Rate by the name of a load within its tile.
    pub rates: BTreeMap<String, ReferenceRate>,
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
    let mut loads: Vec<String> = Vec::new();
    for key in given.keys_below("rates") {
        let load = key.split('.').next().unwrap_or_default().to_owned();
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let mut rates = BTreeMap::new();
    for load in loads {
        let key = format!("rates.{load}");
        let of = given.word(&format!("{key}.of"), &[], DEFAULT);
        let rate = format!("{key}.rate");
        if !given.stands(&rate) {
            given.refuse(&rate, "nothing", "a number above 0", "give the load its rate");
        }
        let rate = given.fraction(&rate, LEAST..=MOST, 1.0);
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
    match (about, given.finish()) {
        (Some(about), refusals) if refusals.is_empty() => Ok(Reference { about, rates }),
        (_, refusals) => Err(refusals),
    }
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
    }

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let of = |place: &str, key: &str| vec![(place.to_owned(), key.to_owned())];
        assert_eq!(refused("about = \"a\"\n"), of("r.toml", "rates"));
        assert_eq!(refused("[rates.shop]\nrate = 0\n")[0].0, "r.toml:2");
        assert_eq!(refused("[rates.shop]\nrate = 1\nper = 2\n"), of("r.toml:3", "rates.shop.per"));
        assert_eq!(refused("[rates\n")[0].0, "r.toml:1");
    }
}
