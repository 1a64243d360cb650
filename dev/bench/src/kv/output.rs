//! Parsers of each tool's final output. The tests have examples.

use anyhow::Context;
use serde_json::Value;

use super::tools::Job;

/// A tool's figures of its own run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolReport {
    pub(super) commands: u64,
    pub(super) per_s: f64,
    pub(super) failed: u64,
    pub(super) p50_ms: Option<f64>,
    pub(super) p90_ms: Option<f64>,
    pub(super) p95_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
    pub(super) max_ms: Option<f64>,
    pub(super) lag_p50_ms: Option<f64>,
    pub(super) lag_p99_ms: Option<f64>,
    /// CPU per command by the tool's own account, in microseconds.
    pub(super) own_cpu_us: Option<f64>,
}

/// Parses redis-benchmark and valkey-benchmark with `--csv`: the last line, by the titles of the first.
pub(super) fn csv(text: &str, job: &Job) -> anyhow::Result<ToolReport> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with("\"test\","));
    let titles = lines.next().context("no line of titles")?;
    let values = lines.next().with_context(|| format!("no line after the titles, but `{text}`"))?;
    let of = |title: &str| -> anyhow::Result<f64> {
        let mut both = titles.split(',').zip(values.split(','));
        let (_, value) =
            both.find(|(t, _)| t.trim_matches('"') == title).with_context(|| format!("no column {title}"))?;
        let number = value.trim_matches('"').parse().ok().filter(|number: &f64| number.is_finite());
        number.with_context(|| format!("no number in column {title}"))
    };
    Ok(ToolReport {
        commands: job.count,
        per_s: of("rps")?,
        p50_ms: Some(of("p50_latency_ms")?),
        p95_ms: Some(of("p95_latency_ms")?),
        p99_ms: Some(of("p99_latency_ms")?),
        max_ms: Some(of("max_latency_ms")?),
        ..ToolReport::default()
    })
}

/// Parses the file written by memtier_benchmark.
pub(super) fn memtier(text: &str, _job: &Job) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let total = json.pointer("/ALL STATS/Totals").context("no totals")?;
    let of =
        |key: &str| total.get(key).and_then(Value::as_f64).with_context(|| format!("no number at {key}"));
    let quantile = |key: &str| total.get("Percentile Latencies").and_then(|all| all.get(key)?.as_f64());
    Ok(ToolReport {
        commands: of("Count")? as u64,
        per_s: of("Ops/sec")?,
        failed: of("Connection Errors")? as u64,
        p50_ms: quantile("p50.00"),
        p90_ms: quantile("p90.00"),
        p95_ms: quantile("p95.00"),
        p99_ms: quantile("p99.00"),
        max_ms: Some(of("Max Latency")?),
        ..ToolReport::default()
    })
}

/// Parses `barograph kv --json`. With a rate its commands per second are those that started.
pub(super) fn barograph(text: &str, job: &Job) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let of = |key: &str| json.get(key).and_then(Value::as_f64).with_context(|| format!("no number at {key}"));
    Ok(ToolReport {
        commands: of("requests")? as u64,
        per_s: of(if job.rate.is_some() { "achieved_rate" } else { "requests_per_s" })?,
        failed: of("errors")? as u64,
        p50_ms: Some(of("p50_ms")?),
        p90_ms: Some(of("p90_ms")?),
        p95_ms: Some(of("p95_ms")?),
        p99_ms: Some(of("p99_ms")?),
        max_ms: Some(of("max_ms")?),
        lag_p50_ms: Some(of("lag_p50_ms")?),
        lag_p99_ms: Some(of("lag_p99_ms")?),
        own_cpu_us: of("cpu_us_per_request").ok(),
    })
}

#[cfg(test)]
mod tests;
