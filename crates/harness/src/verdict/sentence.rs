//! The answer in one sentence, which must not say more than was measured.

use barograph_model::words::{count, listed, offered};
use barograph_model::{LoadUnit, Offered};
use barograph_record::{KeptResult, Purpose, Trial};
use barograph_stats::search::{Answer, BoundedBy};

use super::certainty;
use super::reasons::{disbelieved_by, lowest_failure, reasons_of};
use crate::check::Most;

/// Broken rules that a sentence names; the verdict lists all of them.
const NAMED: usize = 2;

/// What the data checks after the run say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataAfter {
    /// Nothing wrong.
    Right,
    /// Something is wrong.
    Wrong,
    /// They could not be made.
    Unknown,
}

/// What a sentence is about.
pub(super) struct Case<'a> {
    /// Who holds the load: `this machine`, `the target`.
    pub(super) holder: &'a str,
    /// What the load is of, or where: `of the shop application (browsing)`, `at http://127.0.0.1:8080`.
    pub(super) object: &'a str,
    pub(super) unit: LoadUnit,
    pub(super) trials: &'a [&'a Trial],
    pub(super) data: DataAfter,
    pub(super) most: Most,
    /// Seconds of load until a search was over.
    pub(super) searched_s: Option<f64>,
}

impl Case<'_> {
    /// What is wrong with the data, if something is.
    fn data_trouble(&self) -> Option<&'static str> {
        match self.data {
            DataAfter::Right => None,
            DataAfter::Wrong => Some("were not right after the run"),
            DataAfter::Unknown => Some("could not be checked after the run"),
        }
    }

    /// A level without its unit.
    pub(super) fn number(&self, level: f64) -> String {
        count(level.round().max(0.0) as u64)
    }

    pub(super) fn load(&self, level: u32) -> String {
        offered(Offered { unit: self.unit, level })
    }

    /// The holder at the beginning of a sentence.
    fn subject(&self) -> String {
        let mut letters = self.holder.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    /// That nobody knows.
    fn unknown(&self) -> String {
        format!("It is not known how many {} {} {} holds", self.unit.name(), self.object, self.holder)
    }
}

/// The sentence on the windows of a fixed load or of a path, whose answer rests on `trial`.
pub(super) fn of_windows(case: &Case<'_>, trial: &Trial) -> String {
    let judgement = match (case.data_trouble(), trial.result) {
        (Some(trouble), _) => format!("cannot be judged, because the data {trouble}"),
        (None, KeptResult::Pass) => "kept every rule".to_owned(),
        (None, KeptResult::Fail) => format!("did not keep the rules: {}", worst(reasons_of(trial))),
        (None, KeptResult::Invalid) => format!("cannot be judged, because {}", not_held(trial)),
    };
    match (trial.purpose, trial.result) {
        (Purpose::Path, KeptResult::Pass) => {
            let most = case.trials.iter().map(|t| t.level).max().unwrap_or(trial.level);
            let windows = case.trials.len();
            format!("A path of {windows} holds up to {} {} {judgement}.", case.load(most), case.object)
        }
        (Purpose::Path, _) => {
            let windows = case.trials.len();
            format!("{} {} {judgement} (hold {} of {windows}).", case.load(trial.level), case.object, trial.n)
        }
        _ => format!("{} {} {judgement}.", case.load(trial.level), case.object),
    }
}

/// The first of the reasons, which come worst first, and how many there are besides.
fn worst(mut reasons: Vec<String>) -> String {
    let more = reasons.len().saturating_sub(NAMED);
    reasons.truncate(NAMED);
    let named = reasons.join("; ");
    if more == 0 { named } else { format!("{named}; and {more} more") }
}

/// The sentence on a search.
pub(super) fn of_search(case: &Case<'_>, answer: &Answer) -> String {
    if let Some(trouble) = case.data_trouble() {
        let kept =
            answer.capacity.map_or_else(String::new, |n| format!("; {} kept every rule", case.load(n)));
        return format!("{}, because the data {trouble}{kept}.", case.unknown());
    }
    let told = told(case, answer);
    // The interval of a search by posterior has it already.
    if answer.estimate.is_some() && answer.capacity.is_some() {
        return told;
    }
    let invalid = case.trials.iter().filter(|trial| trial.result == KeptResult::Invalid).count();
    format!("{told} It took {}.", certainty::effort(case, answer, invalid as u32))
}

/// What the search found.
fn told(case: &Case<'_>, answer: &Answer) -> String {
    match answer.capacity {
        Some(capacity) if answer.estimate.is_some() => {
            let sure = answer
                .estimate
                .as_ref()
                .map(|e| (certainty::of(case, answer, e), certainty::guarantee(case, e)));
            let (interval, guarantee) = sure.unwrap_or_default();
            let (subject, held) = (case.subject(), case.load(capacity));
            let claim = match answer.bounded_by {
                BoundedBy::Maximum => format!("{subject} holds {held}"),
                // A level that passed below one that could not be judged is no estimate of the capacity.
                BoundedBy::Disbelief => format!("{subject} held {held}"),
                // At its capacity half of the trials fail, so that it is held would be too much said.
                _ => format!("The capacity of {} is {held}", case.holder),
            };
            format!("{claim} {}. {interval}{}{guarantee}.", case.object, limit(case, answer))
        }
        Some(capacity) => {
            let (verb, how) = if answer.confirmed {
                ("holds", "confirmed by a second window")
            } else {
                ("held", "passed once and not confirmed by a second window")
            };
            let (subject, held) = (case.subject(), case.load(capacity));
            format!("{subject} {verb} {held} {}, {how}{}.", case.object, limit(case, answer))
        }
        None => without_a_pass(case, answer),
    }
}

fn without_a_pass(case: &Case<'_>, answer: &Answer) -> String {
    let Some(failure) = lowest_failure(case.trials) else {
        let why = case.trials.last().map_or_else(String::new, |t| format!(": {}", disbelief(t)));
        return format!("{}{why}.", case.unknown());
    };
    let none = format!("No number of {} {} that was tried passed", case.unit.name(), case.object);
    match answer.bounded_by {
        BoundedBy::Minimum => format!(
            "{} does not hold {} {}, the {} worth a trial{}.",
            case.subject(),
            case.load(failure.level),
            case.object,
            fewest(case.unit),
            gave_way(case, answer, Place::AtThisLevel)
        ),
        BoundedBy::Disbelief => {
            format!("{none}{}{}.", gave_way(case, answer, Place::Named), lowest_disbelieved(case, 0))
        }
        BoundedBy::Maximum | BoundedBy::Fail | BoundedBy::Budget | BoundedBy::Gain | BoundedBy::Cpu => {
            format!("{none}{}.", gave_way(case, answer, Place::Named))
        }
    }
}

fn fewest(unit: LoadUnit) -> &'static str {
    match unit {
        LoadUnit::Users => "fewest",
        LoadUnit::PerSecond => "lowest rate",
        LoadUnit::Scale => "lowest scale",
    }
}

/// What kept the capacity from being higher, as the end of the sentence.
fn limit(case: &Case<'_>, answer: &Answer) -> String {
    match answer.bounded_by {
        BoundedBy::Maximum => format!("; more was not tried, because {}", case.most.because()),
        BoundedBy::Disbelief => lowest_disbelieved(case, answer.capacity.unwrap_or(0)),
        BoundedBy::Budget => format!(
            "; the trials were used up before the edge was found closer{}",
            gave_way(case, answer, Place::Named)
        ),
        BoundedBy::Fail | BoundedBy::Minimum => gave_way(case, answer, Place::Named),
        BoundedBy::Gain => "; the next step brought no more throughput".to_owned(),
        BoundedBy::Cpu => {
            "; more was not tried, because the host's CPU was used as far as the plan allows".to_owned()
        }
    }
}

/// How the sentence says where something gave way.
#[derive(Clone, Copy)]
enum Place {
    Named,
    AtThisLevel,
}

/// What failed in the lowest trial that failed, above the capacity where one did. The report lists all of it.
fn gave_way(case: &Case<'_>, answer: &Answer, place: Place) -> String {
    let above: Vec<&Trial> =
        case.trials.iter().filter(|t| Some(t.level) > answer.capacity).copied().collect();
    let first = lowest_failure(&above).or_else(|| lowest_failure(case.trials));
    let first = first.and_then(|t| Some((t.level, reasons_of(t).into_iter().next()?)));
    first.map_or_else(String::new, |(n, why)| match place {
        Place::Named => format!("; at {}, {why}", case.load(n)),
        Place::AtThisLevel => format!(": {why}"),
    })
}

/// The lowest level above `above` that could not be believed.
fn lowest_disbelieved(case: &Case<'_>, above: u32) -> String {
    let invalid = case.trials.iter().filter(|t| t.result == KeptResult::Invalid && t.level > above);
    invalid.min_by_key(|t| t.level).map_or_else(String::new, |trial| format!("; {}", disbelief(trial)))
}

fn disbelief(trial: &Trial) -> String {
    format!("{} could not be judged, because {}", offered(trial.offered()), not_held(trial))
}

fn not_held(trial: &Trial) -> String {
    let names = disbelieved_by(trial);
    let checks = if names.len() == 1 { "this check" } else { "these checks" };
    format!("{checks} of the measurement did not hold: {}", listed(&names))
}

/// What bounds the answer, for the summary of a search.
pub(super) fn bound_words(case: &Case<'_>, bound: BoundedBy) -> String {
    match bound {
        BoundedBy::Maximum => format!("the most {} allowed: {}", case.unit.name(), case.most.because()),
        BoundedBy::Fail => "a higher level that failed".to_owned(),
        BoundedBy::Disbelief => "a level that could not be believed".to_owned(),
        BoundedBy::Budget => "the number of trials".to_owned(),
        BoundedBy::Minimum => format!("the fewest {} worth a trial", case.unit.name()),
        BoundedBy::Gain => "a step that brought no more throughput".to_owned(),
        BoundedBy::Cpu => "the CPU of the host".to_owned(),
    }
}
