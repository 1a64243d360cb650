//! Counters of the workload, and measures derived from them.

use barograph_model::{Amount, BetterWhen, CounterId, Formula, MeasureSpec};

/// Mail that servers have taken, by recipient.
pub(crate) const TAKEN: CounterId = CounterId(0);

/// Mail that was seen in IDLE.
pub(crate) const VISIBLE: CounterId = CounterId(1);

/// Bytes of submitted and appended mail.
pub(crate) const SENT: CounterId = CounterId(2);

/// Bytes of fetched mail.
pub(crate) const FETCHED: CounterId = CounterId(3);

/// Operations that had no mail to work on.
pub(crate) const IDLED: CounterId = CounterId(4);

/// Names of the counters.
pub(crate) const COUNTERS: [&str; 5] = ["taken", "visible", "sent_bytes", "fetched_bytes", "without_mail"];

/// The measures.
pub(crate) const MEASURES: [MeasureSpec; 4] = [
    MeasureSpec {
        id: "deliveries_per_s",
        title: "mail delivered",
        unit: "mail/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(TAKEN)),
    },
    MeasureSpec {
        id: "visible_per_s",
        title: "mail seen in IDLE",
        unit: "mail/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(VISIBLE)),
    },
    MeasureSpec {
        id: "sent_mb_per_s",
        title: "mail sent",
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(SENT)).times(1e-6),
    },
    MeasureSpec {
        id: "fetched_mb_per_s",
        title: "mail fetched",
        unit: "MB/s",
        better: BetterWhen::Higher,
        formula: Formula::per_second(Amount::Counter(FETCHED)).times(1e-6),
    },
];
