//! The answer in one sentence, which must not say more than was measured.

use barograph_record::{KeptResult, Trial};
use barograph_stats::search::{Answer, BoundedBy};

use super::reasons::{disbelieved_by, lowest_failure, reasons_of};
use crate::MostUsers;
use crate::words::{listed, users};

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
    /// The application and the profile, with its article.
    pub(super) application: &'a str,
    pub(super) trials: &'a [&'a Trial],
    pub(super) data: DataAfter,
    pub(super) most: MostUsers,
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
}

/// The sentence on a fixed load, whose answer rests on `trial`.
pub(super) fn of_fixed(case: &Case<'_>, trial: &Trial) -> String {
    let judgement = match (case.data_trouble(), trial.result) {
        (Some(trouble), _) => format!("cannot be judged, because the data {trouble}"),
        (None, KeptResult::Pass) => "kept every rule".to_owned(),
        (None, KeptResult::Fail) => format!("did not keep the rules: {}", reasons_of(trial).join("; ")),
        (None, KeptResult::Invalid) => format!("cannot be judged, because {}", not_held(trial)),
    };
    format!("{} of {} {judgement}.", users(trial.users), case.application)
}

/// The sentence on a search.
pub(super) fn of_search(case: &Case<'_>, answer: &Answer) -> String {
    let application = case.application;
    if let Some(trouble) = case.data_trouble() {
        let kept = answer.capacity.map_or_else(String::new, |n| format!("; {} kept every rule", users(n)));
        return format!(
            "It is not known how many users of {application} this machine holds, because the data {trouble}{kept}."
        );
    }
    match answer.capacity {
        Some(capacity) => {
            let (verb, how) = if answer.confirmed {
                ("holds", "confirmed by a second window")
            } else {
                ("held", "passed once and not confirmed by a second window")
            };
            let held = users(capacity);
            format!("This machine {verb} {held} of {application}, {how}{}.", limit(case, answer))
        }
        None => without_a_pass(case, answer),
    }
}

fn without_a_pass(case: &Case<'_>, answer: &Answer) -> String {
    let application = case.application;
    let Some(failure) = lowest_failure(case.trials) else {
        let why = case.trials.last().map_or_else(String::new, |t| format!(": {}", disbelief(t)));
        return format!("It is not known how many users of {application} this machine holds{why}.");
    };
    match answer.bounded_by {
        BoundedBy::Minimum => format!(
            "This machine does not hold {} of {application}, the fewest worth a trial{}.",
            users(failure.users),
            gave_way(case, Place::AtThisNumber)
        ),
        BoundedBy::Disbelief => format!(
            "No number of users of {application} that was tried passed{}{}.",
            gave_way(case, Place::Named),
            lowest_disbelieved(case, 0)
        ),
        BoundedBy::Maximum | BoundedBy::Fail | BoundedBy::Budget => format!(
            "No number of users of {application} that was tried passed{}.",
            gave_way(case, Place::Named)
        ),
    }
}

/// What kept the capacity from being higher, as the end of the sentence.
fn limit(case: &Case<'_>, answer: &Answer) -> String {
    match answer.bounded_by {
        BoundedBy::Maximum => format!("; more was not tried, because {}", case.most.because()),
        BoundedBy::Disbelief => lowest_disbelieved(case, answer.capacity.unwrap_or(0)),
        BoundedBy::Budget => format!(
            "; the trials were used up before the edge was found closer{}",
            gave_way(case, Place::Named)
        ),
        BoundedBy::Fail | BoundedBy::Minimum => gave_way(case, Place::Named),
    }
}

/// How the sentence says where something gave way.
#[derive(Clone, Copy)]
enum Place {
    Named,
    AtThisNumber,
}

/// What failed in the lowest trial that failed. The report lists all of it.
fn gave_way(case: &Case<'_>, place: Place) -> String {
    let first = lowest_failure(case.trials).and_then(|t| Some((t.users, reasons_of(t).into_iter().next()?)));
    first.map_or_else(String::new, |(n, why)| match place {
        Place::Named => format!("; at {}, {why}", users(n)),
        Place::AtThisNumber => format!(": {why}"),
    })
}

/// The lowest level above `above` that could not be believed.
fn lowest_disbelieved(case: &Case<'_>, above: u32) -> String {
    let invalid = case.trials.iter().filter(|t| t.result == KeptResult::Invalid && t.users > above);
    invalid.min_by_key(|t| t.users).map_or_else(String::new, |trial| format!("; {}", disbelief(trial)))
}

fn disbelief(trial: &Trial) -> String {
    format!("{} could not be judged, because {}", users(trial.users), not_held(trial))
}

fn not_held(trial: &Trial) -> String {
    let names = disbelieved_by(trial);
    let checks = if names.len() == 1 { "this check" } else { "these checks" };
    format!("{checks} of the measurement did not hold: {}", listed(&names))
}

/// What bounds the answer, for the summary of a search.
pub(super) fn bound_words(case: &Case<'_>, bound: BoundedBy) -> String {
    match bound {
        BoundedBy::Maximum => format!("the most users allowed: {}", case.most.because()),
        BoundedBy::Fail => "a higher level that failed".to_owned(),
        BoundedBy::Disbelief => "a level that could not be believed".to_owned(),
        BoundedBy::Budget => "the number of trials".to_owned(),
        BoundedBy::Minimum => "the fewest users worth a trial".to_owned(),
    }
}
