//! A comparison for programs. Keys are only ever added.

use barograph_record::{ComparisonRecord, MetricRecord, RowRecord};
use barograph_stats::compare::{Finding, IntervalEstimate};
use serde_json::{Value, json};

/// The comparison as JSON. Unknown values are `null`.
#[must_use]
pub fn json(compared: &ComparisonRecord) -> Value {
    let metrics: Vec<Value> =
        compared.found().map(|(metric, row)| of_metric(compared, metric, row)).collect();
    let counts = Finding::ALL.map(|found| (found.word().to_owned(), json!(compared.count(found.into()))));
    let counts = serde_json::Map::from_iter(counts);
    json!({
        "v": 1,
        "baseline": compared.baseline,
        "candidate": compared.candidate,
        "sentence": compared.sentence,
        "counts": counts,
        "metrics": metrics,
        "missing": compared.missing,
        "breaks_rules": compared.breaks_rules,
        "warnings": compared.warnings,
        "notes": compared.notes,
    })
}

fn of_metric(compared: &ComparisonRecord, metric: &MetricRecord, row: &RowRecord) -> Value {
    let within = compared.within(&metric.label);
    let within = within.map(|w| json!({ "low": w.low, "high": w.high, "blocks": w.blocks }));
    let believed = compared.believed;
    let believed = believed
        .map(|(one, other)| json!({ "baseline": of_believed(&one), "candidate": of_believed(&other) }));
    json!({
        "name": metric.name,
        "unit": metric.unit,
        "better": if metric.more_is_better { "higher" } else { "lower" },
        "baseline": metric.rows[0].median,
        "candidate": row.median,
        "pairs": row.pairs,
        "excluded": row.excluded,
        "ratio": row.ratio,
        "median_ratio": row.median_ratio,
        "low": row.low,
        "high": row.high,
        "low_90": row.low_90,
        "high_90": row.high_90,
        "p": row.p,
        "p_holm": row.p_holm,
        "margin": metric.margin,
        "finding": row.finding.name(),
        "pairs_needed": row.pairs_needed,
        "within_run": within,
        "believed": believed,
    })
}

/// A figure with its interval; an open end is `null`.
fn of_believed(figure: &IntervalEstimate) -> Value {
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
        let order = &all["metrics"][1];
        assert_eq!((&order["finding"], &order["better"]), (&json!("worse"), &json!("lower")));
        assert_eq!(order["ratio"], compared().metrics[1].rows[1].ratio);
        assert!(order["pairs_needed"].is_null() && all["metrics"][2]["pairs_needed"].is_u64());
        assert!(order["believed"].is_null());
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
