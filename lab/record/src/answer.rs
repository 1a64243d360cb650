//! The answer of a run as data: a claim about a load, and the claim in words.

use barograph_model::Level;
use barograph_model::words::offered;
use serde::{Deserialize, Serialize};

use crate::{UnitRecord, Verdict};

/// The answer: a claim, and the rest of its sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The claim.
    pub claim: ClaimRecord,
    /// Subject of the claim.
    pub about: AboutRecord,
    /// End of the sentence that begins with the claim; empty if the claim is the whole sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Further sentences.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub details: String,
}

/// Subject of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AboutRecord {
    /// The application that the run deployed, on this machine.
    Application {
        /// Name of the workload.
        workload: String,
        /// Its profile.
        profile: String,
    },
    /// A target that existed already.
    Target {
        /// URL of the target.
        url: String,
        /// Whether it is a part of the driver's machine, such as its processors or a disk. Absent in older records.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_of_driver: bool,
    },
    /// Several loads.
    Loads {
        /// Number of loads.
        loads: u32,
    },
}

/// Defects of the application's data after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataRecord {
    /// The data were wrong.
    Wrong,
    /// The data could not be checked.
    Unchecked,
}

/// A hold of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRecord {
    /// Number of the hold, from 1.
    pub n: u32,
    /// Number of holds in the path.
    pub of: u32,
}

/// A claim. Levels are in the unit of the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClaimRecord {
    /// The level at which half of the trials pass.
    Capacity {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
    },
    /// A level that passed: the highest allowed, or confirmed by a second window.
    Holds {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
        /// Whether a second window confirmed it; absent in a search by posterior.
        confirmed: bool,
    },
    /// A level that passed and may not be the capacity.
    Held {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
        /// Whether no second window confirmed it.
        once: bool,
    },
    /// The lowest level worth a trial failed.
    DoesNotHold {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
    },
    /// No tried level passed.
    NonePassed,
    /// Nothing is known.
    Unknown {
        /// Defect of the data, if that is the reason.
        data: Option<DataRecord>,
    },
    /// Every rule held.
    Kept {
        /// The level; of a path, the highest.
        #[serde(with = "crate::level")]
        level: Level,
        /// Number of windows of a path.
        windows: Option<u32>,
    },
    /// A rule did not hold.
    NotKept {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
        /// The hold of a path.
        hold: Option<HoldRecord>,
    },
    /// Validity checks did not hold.
    NotValid {
        /// The level.
        #[serde(with = "crate::level")]
        level: Level,
        /// The hold of a path.
        hold: Option<HoldRecord>,
        /// Number of checks.
        checks: u32,
    },
    /// Wrong data leave the window without a judgement.
    NotJudged {
        /// The level; of a path that passed, the highest.
        #[serde(with = "crate::level")]
        level: Level,
        /// The hold of a path.
        hold: Option<HoldRecord>,
        /// Number of windows of a path that passed.
        windows: Option<u32>,
        /// Defect of the data.
        data: DataRecord,
    },
    /// All loads pass at a scale.
    AllPass {
        /// The scale.
        #[serde(with = "crate::level")]
        level: Level,
    },
    /// Tiles pass, loaded one after another.
    Tiles {
        /// Percent of a tile.
        #[serde(with = "crate::level")]
        level: Level,
    },
    /// No scale is known, because windows were not valid.
    ScaleUnknown,
    /// No scale was found.
    NoScale,
    /// All loads kept their rules.
    AllKept,
    /// Some loads broke rules.
    SomeFailed {
        /// Number of those loads.
        failed: u32,
    },
    /// A claim written by a later version.
    #[serde(other)]
    Other,
}

impl DataRecord {
    const fn words(self) -> &'static str {
        match self {
            DataRecord::Wrong => "were not right after the run",
            DataRecord::Unchecked => "could not be checked after the run",
        }
    }
}

impl HoldRecord {
    fn words(hold: Option<Self>) -> String {
        hold.map_or_else(String::new, |hold| format!(" (hold {} of {})", hold.n, hold.of))
    }
}

impl UnitRecord {
    fn load(self, level: Level) -> String {
        offered(self.offered(level))
    }

    fn fewest(self) -> &'static str {
        match self {
            UnitRecord::Users => "fewest",
            UnitRecord::StartsPerSecond => "lowest rate",
            UnitRecord::Percent => "lowest scale",
        }
    }
}

impl AboutRecord {
    /// Returns the holder of the load: `this machine`, `the target`.
    #[must_use]
    pub const fn holder(&self) -> &'static str {
        if let AboutRecord::Target { .. } = self { "the target" } else { "this machine" }
    }

    const fn subject(&self) -> &'static str {
        if let AboutRecord::Target { .. } = self { "The target" } else { "This machine" }
    }

    /// Returns the object of the load: `of the shop application (browsing)`, `at http://127.0.0.1:8080`.
    fn object(&self) -> String {
        match self {
            AboutRecord::Application { workload, profile } => {
                format!("of the {workload} application ({profile})")
            }
            AboutRecord::Target { url, .. } => format!("at {url}"),
            AboutRecord::Loads { loads } => format!("{loads} loads"),
        }
    }
}

/// Returns percent of a tile as a number of tiles: `2.5 tiles`.
#[must_use]
pub fn tiles(level: Level) -> String {
    let tiles = f64::from(level) / 100.0;
    format!("{tiles} tile{}", if tiles == 1.0 { "" } else { "s" })
}

impl ClaimRecord {
    /// Returns the beginning of the sentence.
    fn words(self, unit: UnitRecord, about: &AboutRecord) -> String {
        let (object, subject, load) = (about.object(), about.subject(), |level| unit.load(level));
        let path = |windows: Option<u32>| {
            windows.map_or_else(String::new, |windows| format!("A path of {windows} holds up to "))
        };
        match self {
            ClaimRecord::Capacity { level } => {
                format!("The capacity of {} is {} {object}", about.holder(), load(level))
            }
            ClaimRecord::Holds { level, confirmed } => {
                let how = if confirmed { ", confirmed by a second window" } else { "" };
                format!("{subject} holds {} {object}{how}", load(level))
            }
            ClaimRecord::Held { level, once } => {
                let how = if once { ", passed once and not confirmed by a second window" } else { "" };
                format!("{subject} held {} {object}{how}", load(level))
            }
            ClaimRecord::DoesNotHold { level } => {
                format!(
                    "{subject} does not hold {} {object}, the {} worth a trial",
                    load(level),
                    unit.fewest()
                )
            }
            ClaimRecord::NonePassed => format!("No number of {} {object} that was tried passed", unit.name()),
            ClaimRecord::Unknown { data } => {
                let data =
                    data.map_or_else(String::new, |data| format!(", because the data {}", data.words()));
                format!("It is not known how many {} {object} {} holds{data}", unit.name(), about.holder())
            }
            ClaimRecord::Kept { level, windows } => {
                format!("{}{} {object} kept every rule", path(windows), load(level))
            }
            ClaimRecord::NotKept { level, .. } => format!("{} {object} did not keep the rules", load(level)),
            ClaimRecord::NotValid { level, checks, .. } => {
                let checks = if checks == 1 { "this check" } else { "these checks" };
                format!(
                    "{} {object} cannot be judged, because {checks} of the measurement did not hold",
                    load(level)
                )
            }
            ClaimRecord::NotJudged { level, hold, windows, data } => format!(
                "{}{} {object} cannot be judged, because the data {}{}",
                path(windows),
                load(level),
                data.words(),
                HoldRecord::words(hold)
            ),
            ClaimRecord::AllPass { level } => format!("All {object} pass at {}", load(level)),
            ClaimRecord::Tiles { level } => format!("{subject} holds {}", tiles(level)),
            ClaimRecord::ScaleUnknown => {
                format!("It is not known at which scale {object} pass, because windows could not be believed")
            }
            ClaimRecord::NoScale => format!("No scale was found at which {object} pass"),
            ClaimRecord::AllKept => format!("All {object} kept their rules"),
            ClaimRecord::SomeFailed { failed } => format!("{failed} of {object} did not keep their rules"),
            ClaimRecord::Other => "This version does not know the claim of this run".to_owned(),
        }
    }

    /// Whether the end of the sentence is a list and not a reason.
    const fn lists(self) -> bool {
        matches!(
            self,
            ClaimRecord::DoesNotHold { .. }
                | ClaimRecord::Unknown { data: None }
                | ClaimRecord::NotKept { .. }
                | ClaimRecord::NotValid { .. }
        )
    }

    const fn hold(self) -> Option<HoldRecord> {
        match self {
            ClaimRecord::NotKept { hold, .. } | ClaimRecord::NotValid { hold, .. } => hold,
            _ => None,
        }
    }
}

impl AnswerRecord {
    /// Returns the whole answer in words.
    #[must_use]
    pub fn sentence(&self, unit: UnitRecord) -> String {
        let claim = self.claim.words(unit, &self.about);
        let because = match (self.because.is_empty(), self.claim.lists()) {
            (true, _) => String::new(),
            (false, true) => format!(": {}", self.because),
            (false, false) => format!("; {}", self.because),
        };
        let hold = HoldRecord::words(self.claim.hold());
        let details = if self.details.is_empty() { String::new() } else { format!(" {}", self.details) };
        format!("{claim}{because}{hold}.{details}")
    }
}

impl Verdict {
    /// Returns the claim and the words after it. In older records the whole sentence is the claim.
    #[must_use]
    pub fn headline(&self) -> (String, String) {
        let Some(answer) = &self.answer else { return (self.sentence.clone(), String::new()) };
        let claim = answer.claim.words(self.unit, &answer.about);
        let hold = HoldRecord::words(answer.claim.hold());
        match (answer.because.is_empty(), answer.claim.lists()) {
            (true, _) => (format!("{claim}{hold}."), answer.details.clone()),
            (false, lists) => {
                let end = if lists { ":" } else { "." };
                let details = format!("{}{hold}. {}", answer.because, answer.details);
                (format!("{claim}{end}"), details.trim_end().to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(claim: ClaimRecord, because: &str, details: &str) -> Verdict {
        let about = AboutRecord::Target { url: "http://127.0.0.1:80/".to_owned(), is_of_driver: false };
        let answer = AnswerRecord { claim, about, because: because.to_owned(), details: details.to_owned() };
        let verdict = serde_json::json!({
            "sentence": answer.sentence(UnitRecord::Users), "capacity": null, "trial": null, "passed": true,
            "valid": true, "exit_code": 0, "reasons": [], "resources": {}, "search": null, "answer": answer,
        });
        serde_json::from_value(verdict).unwrap()
    }

    #[test]
    fn a_sentence_has_a_headline_and_details() {
        let held = answer(
            ClaimRecord::Holds { level: 500.into(), confirmed: true },
            "at 540 users, A took 2 s",
            "It took 9 s.",
        );
        let headline = "The target holds 500 users at http://127.0.0.1:80/, confirmed by a second window";
        assert_eq!(held.sentence, format!("{headline}; at 540 users, A took 2 s. It took 9 s."));
        assert_eq!(
            held.headline(),
            (format!("{headline}."), "at 540 users, A took 2 s. It took 9 s.".to_owned())
        );
        let hold = Some(HoldRecord { n: 2, of: 3 });
        let failed = answer(ClaimRecord::NotKept { level: 1_000.into(), hold }, "A took 9 s", "");
        let headline = "1,000 users at http://127.0.0.1:80/ did not keep the rules:";
        assert_eq!(failed.sentence, format!("{headline} A took 9 s (hold 2 of 3)."));
        assert_eq!(failed.headline(), (headline.to_owned(), "A took 9 s (hold 2 of 3).".to_owned()));
    }

    #[test]
    fn an_older_verdict_is_all_headline() {
        let old = Verdict { answer: None, ..answer(ClaimRecord::NonePassed, "", "") };
        assert_eq!(old.headline(), (old.sentence.clone(), String::new()));
    }
}
