//! A comparison for programs. Keys are only ever added.

use barograph_stats::compare::{Believed, Direction, Finding};
use serde_json::{Value, json};

use super::Compared;

/// The comparison as JSON. What is not known is `null`.
#[must_use]
pub fn json(compared: &Compared) -> Value {
    let metrics: Vec<Value> = compared
        .metrics
        .iter()
        .map(|metric| {
            let found = &metric.comparison;
            let within = compared
                .within(&metric.name)
                .map(|w| json!({ "low": w.low, "high": w.high, "blocks": w.blocks }));
            json!({
                "name": metric.name,
                "unit": metric.unit,
                "better": match metric.direction { Direction::Higher => "higher", Direction::Lower => "lower" },
                "baseline": metric.baseline,
                "candidate": metric.candidate,
                "pairs": found.pairs,
                "excluded": found.excluded,
                "ratio": found.ratio,
                "median_ratio": found.median_ratio,
                "low": found.low,
                "high": found.high,
                "low_90": found.low_90,
                "high_90": found.high_90,
                "p": found.p,
                "p_holm": found.p_holm,
                "margin": found.margin,
                "finding": found.finding.word(),
                "pairs_needed": found.pairs_needed,
                "within_run": within,
                "believed": metric.believed.map(|(one, other)| {
                    json!({ "baseline": believed(&one), "candidate": believed(&other) })
                }),
            })
        })
        .collect();
    let counts: serde_json::Map<String, Value> =
        Finding::ALL.iter().map(|f| (f.word().to_owned(), json!(compared.count(*f)))).collect();
    json!({
        "v": 1,
        "baseline": compared.baseline,
        "candidate": compared.candidate,
        "sentence": compared.sentence(),
        "counts": counts,
        "metrics": metrics,
        "warnings": compared.warnings,
        "notes": compared.notes,
    })
}

/// A figure with its interval, of which an open end is `null`.
fn believed(figure: &Believed) -> Value {
    json!({ "value": figure.value, "low": figure.low, "high": figure.high })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, searched, single};
    use super::*;

    #[test]
    fn figures_come_through_whole_and_unknown_ones_are_null() {
        let all = json(&compared());
        assert_eq!(all["counts"], json!({ "worse": 1, "undecided": 1, "equivalent": 1, "better": 0 }));
        let login = &all["metrics"][1];
        assert_eq!((&login["finding"], &login["better"]), (&json!("worse"), &json!("lower")));
        assert_eq!(login["ratio"], compared().metrics[1].comparison.ratio);
        assert!(login["pairs_needed"].is_null() && all["metrics"][2]["pairs_needed"].is_u64());
        assert!(login["believed"].is_null());
        let open = json(&searched((12_900.0, 12_500.0, f64::INFINITY)));
        let metric = &open["metrics"][0];
        assert_eq!((&metric["finding"], &metric["high"]), (&json!("undecided"), &Value::Null));
        assert_eq!(
            metric["believed"],
            json!({ "baseline": { "value": 11_100.0, "low": 10_800.0, "high": 11_400.0 },
                "candidate": { "value": 12_900.0, "low": 12_500.0, "high": null } })
        );
        let one = json(&single());
        assert!(one["metrics"][0]["low"].is_null() && one["metrics"][0]["within_run"]["blocks"] == 30);
    }
}
