//! Reads `pace`, and the distributions of time in it.

use std::sync::Arc;

use barograph_model::{Distribution, MissedBeats, Nanos, Pace};

use crate::qos;
use crate::read::ScenarioReader;
use crate::section::Section;
use crate::settings_reader::ReadValue;

/// Possible values of `pace`, for refusals.
const PACES: &str = "\"at_once\", or a table with one of think, cycle, beat";

/// Largest file of measured times, in bytes.
const MOST_MEASURED: usize = 16 << 20;

impl ScenarioReader<'_> {
    /// The pace of a behaviour; by default without pauses.
    pub(crate) fn pace(&mut self, behaviour: &mut Section<'_>) -> Pace {
        if !behaviour.has_table("pace") {
            let pace = behaviour.text_or("pace", "at_once");
            if pace != "at_once" {
                let at = behaviour.at_key("pace");
                self.given.refuse(
                    &at,
                    format!("\"{pace}\""),
                    PACES,
                    "write one of them, as in { think = \"7 s\" }",
                );
            }
            return Pace::AtOnce;
        }
        let Some(mut section) = behaviour.section("pace") else { return Pace::AtOnce };
        let given: Vec<&str> =
            ["think", "cycle", "beat"].into_iter().filter(|way| section.has(way)).collect();
        let pace = match given.as_slice() {
            ["think"] => self.distribution(&mut section, "think").map(Pace::Think),
            ["cycle"] => self.distribution(&mut section, "cycle").map(Pace::Cycle),
            ["beat"] => beat(self, &mut section),
            _ => {
                let found = if given.is_empty() { "none of them".to_owned() } else { given.join(" and ") };
                self.given.refuse(&section.at, found, PACES, "keep one, as in { think = \"7 s\" }");
                ["think", "cycle", "beat"].into_iter().for_each(|way| drop(section.any(way)));
                None
            }
        };
        section.finish();
        pace.unwrap_or(Pace::AtOnce)
    }

    /// A distribution: a time, or a table with its name and numbers.
    fn distribution(&mut self, section: &mut Section<'_>, key: &'static str) -> Option<Distribution> {
        const NAMES: [&str; 6] = ["constant", "uniform", "exponential", "normal", "lognormal", "empirical"];
        if !section.has_table(key) {
            return section.span(key).map(|got| Distribution::Constant(got.value));
        }
        let mut kinds = section.section(key)?;
        let given: Vec<&'static str> = NAMES.into_iter().filter(|name| kinds.has(name)).collect();
        let [name] = given.as_slice() else {
            let found = if given.is_empty() { "none of them".to_owned() } else { given.join(" and ") };
            let allowed = format!("one of {}", NAMES.join(", "));
            self.given.refuse(
                &kinds.at,
                found,
                &allowed,
                "keep one, as in { exponential = { mean = \"5 s\", max = \"1 min\" } }",
            );
            NAMES.into_iter().for_each(|name| drop(kinds.any(name)));
            kinds.finish();
            return None;
        };
        let distribution = match *name {
            "constant" => kinds.span("constant").map(|got| Distribution::Constant(got.value)),
            name => kinds.section(name).and_then(|numbers| self.numbers(name, numbers)),
        };
        kinds.finish();
        distribution
    }

    fn numbers(&mut self, name: &str, mut s: Section<'_>) -> Option<Distribution> {
        let span = |s: &mut Section<'_>, key| {
            let got = s.span(key);
            self.required(s, key, got).map(|got| got.value)
        };
        let distribution = match name {
            "uniform" => {
                let (min, max) = (span(&mut s, "min"), span(&mut s, "max"));
                min.zip(max).map(|(min, max)| Distribution::Uniform { min, max })
            }
            "exponential" => {
                let (mean, max) = (span(&mut s, "mean"), span(&mut s, "max"));
                let min = s.span("min").map(|got| got.value);
                mean.zip(max).map(|(mean, max)| match min {
                    Some(min) => Distribution::ShiftedExponential { min, mean, max },
                    None => Distribution::Exponential { mean, max },
                })
            }
            "normal" => {
                let (mean, sd) = (span(&mut s, "mean"), span(&mut s, "sd"));
                let (min, max) = (span(&mut s, "min"), span(&mut s, "max"));
                let all = mean.zip(sd).zip(min.zip(max));
                all.map(|((mean, sd), (min, max))| Distribution::TruncatedNormal { mean, sd, min, max })
            }
            "lognormal" => {
                let (median, max) = (span(&mut s, "median"), span(&mut s, "max"));
                let sigma = s.number_or("sigma", 0.0..=5.0, 1.0);
                median.zip(max).map(|(median, max)| Distribution::LogNormal { median, sigma, max })
            }
            _ => self.empirical(&mut s),
        };
        let at = s.at.clone();
        s.finish();
        distribution.inspect(|d| {
            if let Some((found, allowed)) = senseless(d) {
                self.given.refuse(&at, found, allowed, "correct the numbers");
            }
        })
    }

    /// Measured times: a list, or a file with one in each line.
    fn empirical(&mut self, section: &mut Section<'_>) -> Option<Distribution> {
        let mut texts = section.texts("values");
        if let Some(file) = section.text("file") {
            let text = self.text_file(&file, MOST_MEASURED)?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            texts.extend(lines.map(|line| ReadValue { value: line.to_owned(), at: file.at.clone() }));
        }
        let mut times: Vec<Nanos> = Vec::with_capacity(texts.len());
        for text in &texts {
            match qos::span(&text.value) {
                Some(time) => times.push(time),
                None => {
                    self.given.refuse(&text.at, format!("\"{}\"", text.value), qos::SPAN, "correct it");
                    return None;
                }
            }
        }
        if times.is_empty() {
            let allowed = "`values`, a list of times, or `file`, with a time in each line";
            self.given.refuse(&section.at, "", allowed, "give at least one time");
            return None;
        }
        times.sort_unstable();
        Some(Distribution::Empirical(Arc::from(times)))
    }
}

/// A fault in the numbers of a distribution, with the allowed ones.
fn senseless(distribution: &Distribution) -> Option<(String, &'static str)> {
    let seconds = |n: Nanos| format!("{} s", n.as_secs_f64());
    match distribution {
        Distribution::Uniform { min, max } if min > max => {
            Some((format!("min {} above max {}", seconds(*min), seconds(*max)), "min up to max"))
        }
        Distribution::Exponential { mean, max } if mean > max => {
            Some((format!("mean {} above max {}", seconds(*mean), seconds(*max)), "a mean up to max"))
        }
        Distribution::ShiftedExponential { min, mean, max } if mean < min || mean > max => {
            let found = format!("mean {} outside of {} to {}", seconds(*mean), seconds(*min), seconds(*max));
            Some((found, "a mean between min and max"))
        }
        Distribution::LogNormal { median, max, .. } if median > max => {
            Some((format!("median {} above max {}", seconds(*median), seconds(*max)), "a median up to max"))
        }
        Distribution::TruncatedNormal { mean, min, max, .. } if mean < min || mean > max => {
            let found = format!("mean {} outside of {} to {}", seconds(*mean), seconds(*min), seconds(*max));
            Some((found, "a mean between min and max"))
        }
        _ => None,
    }
}

fn beat(reading: &ScenarioReader<'_>, section: &mut Section<'_>) -> Option<Pace> {
    let every = section.span("beat");
    let missed = section.word(
        "missed",
        &[("catch_up", MissedBeats::CatchUp), ("skip", MissedBeats::Skip)],
        MissedBeats::CatchUp,
    );
    let every = every?;
    if every.value == Nanos::ZERO {
        reading.given.refuse(&every.at, "\"0 s\"", "more than nothing", "use \"at_once\"");
    }
    Some(Pace::Beat { every: every.value, missed })
}
