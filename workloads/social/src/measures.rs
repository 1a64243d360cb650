//! Counters of the workload, and measures derived from them.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureDivisor, MeasureSpec};

use crate::operation::Operation;

/// Pictures that home pages name.
pub(crate) const HOME_NAMED: CounterId = CounterId(0);

/// Pictures loaded for home pages.
pub(crate) const HOME_LOADED: CounterId = CounterId(1);

/// Bytes of pictures loaded for home pages.
pub(crate) const HOME_BYTES: CounterId = CounterId(2);

/// Pictures loaded for searches.
pub(crate) const SEARCH_LOADED: CounterId = CounterId(3);

/// Pictures that pages of events name.
pub(crate) const EVENT_NAMED: CounterId = CounterId(4);

/// Attendees added.
pub(crate) const ATTENDED: CounterId = CounterId(5);

/// Static files loaded in full.
pub(crate) const STATIC_LOADED: CounterId = CounterId(6);

/// Static files that had not changed.
pub(crate) const STATIC_KNOWN: CounterId = CounterId(7);

/// Bytes of all answers.
pub(crate) const RECEIVED: CounterId = CounterId(8);

/// Bytes of posted forms.
pub(crate) const POSTED: CounterId = CounterId(9);

/// Microseconds between the starts of operations.
pub(crate) const CYCLES_US: CounterId = CounterId(10);

/// Operations with an earlier one of the same user.
pub(crate) const CYCLES: CounterId = CounterId(11);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 12] = [
    "home_pictures_named",
    "home_pictures_loaded",
    "home_picture_bytes",
    "search_pictures_loaded",
    "event_pictures_named",
    "attendees_added",
    "static_files_loaded",
    "static_files_known",
    "received_bytes",
    "posted_bytes",
    "cycle_us",
    "cycles",
];

const fn per_operation(counter: CounterId, operation: Operation) -> Formula {
    let per = MeasureDivisor::Amount(Amount::Ended(Some(barograph_model::OpId(operation as u8))));
    Formula { amount: Amount::Counter(counter), per, factor: 1.0 }
}

const fn figure(id: &'static str, title: &'static str, unit: &'static str, formula: Formula) -> MeasureSpec {
    MeasureSpec { id, title, unit, better: BetterWhen::Neither, formula }
}

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 9] = [
    figure(
        "home_pictures",
        "pictures named by a home page",
        "pictures",
        per_operation(HOME_NAMED, Operation::Home),
    ),
    figure(
        "home_pictures_loaded",
        "pictures loaded for a home page",
        "pictures",
        per_operation(HOME_LOADED, Operation::Home),
    ),
    figure(
        "home_picture_bytes",
        "bytes of pictures loaded for a home page",
        "B",
        per_operation(HOME_BYTES, Operation::Home),
    ),
    figure(
        "search_pictures",
        "pictures loaded for a search",
        "pictures",
        per_operation(SEARCH_LOADED, Operation::TagSearch),
    ),
    figure(
        "event_pictures",
        "pictures named by the page of an event",
        "pictures",
        per_operation(EVENT_NAMED, Operation::Event),
    ),
    figure(
        "attendance",
        "events attended, of those looked at",
        "%",
        per_operation(ATTENDED, Operation::Event).times(100.0),
    ),
    figure(
        "mean_cycle_s",
        "mean time from start to start of operations",
        "s",
        Formula {
            amount: Amount::Counter(CYCLES_US),
            per: MeasureDivisor::Amount(Amount::Counter(CYCLES)),
            factor: 1e-6,
        },
    ),
    figure(
        "received_mb_per_s",
        "received",
        "MB/s",
        Formula::per_second(Amount::Counter(RECEIVED)).times(1e-6),
    ),
    figure("posted_mb_per_s", "posted", "MB/s", Formula::per_second(Amount::Counter(POSTED)).times(1e-6)),
];
