//! The rules of a plan in place of those of a workload: the same limit for every operation.

use barograph_model::{Nanos, Share};
use barograph_spec::SettingsReader;

/// The rule of each operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// The quantile of response times that is judged.
    pub quantile: Share,
    /// Its limit; `None` where response times are not judged.
    pub limit: Option<Nanos>,
    /// Largest share of failed operations.
    pub failures: Share,
}

impl Rules {
    /// Reads the keys of a section. The inner value is `None` for the rules of the workload, the outer one where a key is
    /// refused.
    pub fn read(g: &mut SettingsReader, section: &str) -> Option<Option<Self>> {
        let key = |name: &str| format!("{section}.{name}");
        let is_own = g.choice(&key("rules"), &["published", "own"], "published")? == "own";
        for name in ["limit_ms", "quantile", "failures"] {
            g.only_with(&key(name), is_own, &format!("{} = \"own\"", key("rules")));
        }
        let limit_ms = g.fraction(&key("limit_ms"), 0.0..=3_600_000.0, 0.0)?;
        let quantile = g.fraction(&key("quantile"), 0.5..=0.999_999, 0.9)?;
        let failures = g.fraction(&key("failures"), 0.0..=1.0, 0.001)?;
        let rules = Rules {
            quantile: Share::new(quantile).ok()?,
            limit: Some(Nanos::from_secs_f64(limit_ms / 1e3)).filter(|limit| *limit > Nanos::ZERO),
            failures: Share::new(failures).ok()?,
        };
        Some(is_own.then_some(rules))
    }
}
