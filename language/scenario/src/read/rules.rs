//! Reads `qos`: the rules of an operation.

use barograph_model::{MOST_FURTHER_LIMITS, Nanos, OpId, QosRule, Rule, Share};

use crate::qos;
use crate::read::ScenarioReader;
use crate::section::Section;
use crate::settings_reader::{KeyPosition, ReadValue};

/// Default quantile.
const QUANTILE: Share = Share::percent(99.0);

/// Default share of allowed failures.
const FAILURES: &str = "0.5 %";

/// Default tolerance of the mix.
const TOLERANCE: &str = "10 %";

/// Largest excess over 1 of the sum of a mix: published mixes are rounded.
const ROUNDING: f64 = 0.001;

impl ScenarioReader<'_> {
    /// The usual rules of an operation, and further limits. A waiting operation has no limit: it waits on
    /// purpose.
    pub(crate) fn rules(&self, section: &mut Section<'_>, op: OpId, waits: bool) -> (QosRule, Vec<Rule>) {
        let mut rule = QosRule {
            op,
            quantile: QUANTILE,
            limit: None,
            judged: section.has("qos"),
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: qos::share(FAILURES).expect("defaults are written in the source"),
        };
        let limits = if section.has_table("qos") {
            let Some(mut table) = section.section("qos") else { return (rule, Vec::new()) };
            let limits = table.texts("limit");
            rule.failures = table.share_or("failures", FAILURES);
            if let Some(mix) = table.share("mix") {
                rule.mix = mix.value;
                rule.mix_tolerance = table.share_or("tolerance", TOLERANCE);
            }
            table.finish();
            limits
        } else {
            section.texts("qos")
        };
        if let Some(got) = limits.get(MOST_FURTHER_LIMITS + 1) {
            let allowed = format!("at most {} limits for one operation", MOST_FURTHER_LIMITS + 1);
            self.given.refuse(&got.at, format!("\"{}\"", got.value), &allowed, "remove some of them");
        }
        let mut limits = limits.iter().filter_map(|got| self.limit(got, waits));
        if let Some((quantile, limit)) = limits.next() {
            rule.quantile = quantile;
            rule.limit = Some(limit);
        }
        let further = limits.map(|(quantile, limit)| Rule::response(op, quantile, limit)).collect();
        (rule, further)
    }

    fn limit(&self, got: &ReadValue<String>, waits: bool) -> Option<(Share, Nanos)> {
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

    /// Refuses a mix that exceeds the whole.
    pub(crate) fn mix_fits(&self, at: &KeyPosition, rules: &[QosRule]) {
        let sum: f64 = rules.iter().map(|rule| rule.mix.get()).sum();
        if sum > 1.0 + ROUNDING {
            let at = at.inner("qos.mix", at.line);
            let found = format!("a sum of {:.2} % over all operations", sum * 100.0);
            self.given.refuse(&at, found, "at most 100 %", "correct the shares");
        }
    }
}
