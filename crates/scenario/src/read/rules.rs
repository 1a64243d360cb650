//! Reads `qos`: by what an operation is judged.

use barograph_model::{Nanos, OpId, QosRule, Share};

use crate::given::{At, Got};
use crate::qos;
use crate::read::Reading;
use crate::section::Section;

/// Judged where nothing else is said.
const QUANTILE: Share = Share::percent(99.0);

/// Failures that are allowed where nothing else is said.
const FAILURES: &str = "0.5 %";

/// How far the mix may be off where nothing else is said.
const TOLERANCE: &str = "10 %";

/// Published mixes are rounded: their sum may be so much above 1.
const ROUNDING: f64 = 0.001;

impl Reading<'_> {
    /// The rule of an operation. One that waits has no limit: it waits on purpose.
    pub(crate) fn rule(&self, section: &mut Section<'_>, op: OpId, waits: bool) -> QosRule {
        let mut rule = QosRule {
            op,
            quantile: QUANTILE,
            limit: None,
            judged: section.has("qos"),
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: qos::share(FAILURES).expect("defaults are written in the source"),
        };
        let limit = if section.has_table("qos") {
            let Some(mut table) = section.section("qos") else { return rule };
            let limit = table.text("limit");
            rule.failures = table.share_or("failures", FAILURES);
            if let Some(mix) = table.share("mix") {
                rule.mix = mix.value;
                rule.mix_tolerance = table.share_or("tolerance", TOLERANCE);
            }
            table.finish();
            limit
        } else {
            section.text("qos")
        };
        if let Some((quantile, limit)) = limit.and_then(|got| self.limit(&got, waits)) {
            rule.quantile = quantile;
            rule.limit = Some(limit);
        }
        rule
    }

    fn limit(&self, got: &Got<String>, waits: bool) -> Option<(Share, Nanos)> {
        let found = format!("\"{}\"", got.value);
        if waits {
            let allowed = "no limit: the operation waits for the target (`wait = true`), its response time is not judged";
            self.given.refuse(&got.at, found, allowed, "remove the limit, or `wait`");
            return None;
        }
        let limit = qos::limit(&got.value);
        if limit.is_none() {
            let remedy = "write a quantile above p0 and below p100, `<`, and a time";
            self.given.refuse(&got.at, found, "a limit as in \"p99 < 250 ms\"", remedy);
        }
        limit
    }

    /// Refuses a mix of more than the whole.
    pub(crate) fn mix_fits(&self, at: &At, rules: &[QosRule]) {
        let sum: f64 = rules.iter().map(|rule| rule.mix.get()).sum();
        if sum > 1.0 + ROUNDING {
            let at = at.inner("qos.mix", at.line);
            let found = format!("a sum of {:.2} % over all operations", sum * 100.0);
            self.given.refuse(&at, found, "at most 100 %", "correct the shares");
        }
    }
}
