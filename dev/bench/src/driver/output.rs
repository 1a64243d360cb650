//! Parsers of each tool's final output. The tests have examples.

use anyhow::{Context, bail};
use serde_json::Value;

/// A tool's figures of its own run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolReport {
    pub(super) requests: u64,
    pub(super) requests_per_s: f64,
    /// Answers other than 2xx and requests without an answer.
    pub(super) failed: u64,
    pub(super) p50_ms: Option<f64>,
    pub(super) p99_ms: Option<f64>,
    pub(super) lag_p99_ms: Option<f64>,
    /// CPU per request by the tool's own account, in microseconds.
    pub(super) own_cpu_us: Option<f64>,
}

/// Parses wrk and wrk2: `--latency` prints the quantiles.
pub(super) fn wrk(text: &str) -> anyhow::Result<ToolReport> {
    let first = |marker: &str| {
        text.lines().find_map(|l| l.split_once(marker)).map(|(before, after)| (before.trim(), after.trim()))
    };
    let (requests, _) = first(" requests in ").context("no line `N requests in`")?;
    let (_, rate) = first("Requests/sec:").context("no line `Requests/sec:`")?;
    let failed = first("Non-2xx or 3xx responses:").map_or(Ok(0), |(_, n)| n.parse())?;
    let socket_errors: u64 = match first("Socket errors:") {
        Some((_, list)) => {
            list.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u64>().ok()).sum()
        }
        None => 0,
    };
    let quantile = |names: [&str; 2]| {
        let line = text.lines().map(str::trim).find_map(|l| {
            let (name, value) = l.split_once(char::is_whitespace)?;
            names.contains(&name).then_some(value.trim())
        })?;
        span_ms(line)
    };
    Ok(ToolReport {
        requests: requests.parse()?,
        requests_per_s: rate.parse()?,
        failed: failed + socket_errors,
        p50_ms: quantile(["50%", "50.000%"]),
        p99_ms: quantile(["99%", "99.000%"]),
        ..ToolReport::default()
    })
}

/// Parses `1.24ms`, `808.00us`, `2.01s`.
fn span_ms(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(digits);
    let in_ms = match unit {
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1_000.0,
        "m" => 60_000.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|n| n * in_ms)
}

/// Parses h2load, which prints no quantiles.
pub(super) fn h2load(text: &str) -> anyhow::Result<ToolReport> {
    let rate = text.lines().find(|l| l.starts_with("finished in ")).context("no line `finished in`")?;
    let rate = rate.split(", ").find_map(|part| part.strip_suffix(" req/s")).context("no `req/s`")?;
    let counts = text.lines().find_map(|l| l.strip_prefix("requests: ")).context("no line `requests:`")?;
    let count = |name: &str| {
        let part = counts.split(", ").find_map(|part| part.strip_suffix(name));
        part.with_context(|| format!("no `{name}` in `{counts}`"))?
            .trim()
            .parse::<u64>()
            .map_err(Into::<anyhow::Error>::into)
    };
    Ok(ToolReport {
        requests: count(" succeeded")?,
        requests_per_s: rate.parse()?,
        failed: count(" failed")?,
        ..ToolReport::default()
    })
}

/// Parses `fortio load -json -`, in seconds.
pub(super) fn fortio(text: &str) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let requests = number(&json, "/DurationHistogram/Count")? as u64;
    let good = json.pointer("/RetCodes/200").and_then(Value::as_u64).unwrap_or(0);
    let percentiles = json.pointer("/DurationHistogram/Percentiles").and_then(Value::as_array);
    let quantile = |percent: f64| {
        let found = percentiles?.iter().find(|p| p["Percentile"].as_f64() == Some(percent))?;
        found["Value"].as_f64().map(|s| s * 1_000.0)
    };
    Ok(ToolReport {
        requests,
        requests_per_s: number(&json, "/ActualQPS")?,
        failed: requests.saturating_sub(good),
        p50_ms: quantile(50.0),
        p99_ms: quantile(99.0),
        ..ToolReport::default()
    })
}

/// Parses `oha --output-format json`, in seconds.
pub(super) fn oha(text: &str) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let sum = |pointer: &str| -> u64 {
        let map = json.pointer(pointer).and_then(Value::as_object);
        map.map_or(0, |m| m.values().filter_map(Value::as_u64).sum())
    };
    let good = json.pointer("/statusCodeDistribution/200").and_then(Value::as_u64).unwrap_or(0);
    let requests = sum("/statusCodeDistribution");
    if requests == 0 {
        bail!("no answers in `statusCodeDistribution`; errors: {}", json["errorDistribution"]);
    }
    // Requests in progress at the end are counted as errors by that name.
    let cut = json.pointer("/errorDistribution/aborted due to deadline").and_then(Value::as_u64).unwrap_or(0);
    let quantile = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64).map(|s| s * 1_000.0);
    Ok(ToolReport {
        requests,
        requests_per_s: number(&json, "/summary/requestsPerSec")?,
        failed: requests - good + (sum("/errorDistribution") - cut),
        p50_ms: quantile("/latencyPercentiles/p50"),
        p99_ms: quantile("/latencyPercentiles/p99"),
        ..ToolReport::default()
    })
}

/// Parses the output of this crate's script for k6 with `handleSummary`.
pub(super) fn k6(text: &str) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text.trim()).context("not JSON")?;
    let requests = number(&json, "/requests")? as u64;
    let failed_share = number(&json, "/failed_share")?;
    Ok(ToolReport {
        requests,
        requests_per_s: number(&json, "/requests_per_s")?,
        failed: (failed_share * requests as f64).round() as u64,
        p50_ms: Some(number(&json, "/p50_ms")?),
        p99_ms: Some(number(&json, "/p99_ms")?),
        ..ToolReport::default()
    })
}

fn number(json: &Value, pointer: &str) -> anyhow::Result<f64> {
    json.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no number at {pointer}"))
}

/// Parses `barograph http --json`.
pub(super) fn barograph(text: &str) -> anyhow::Result<ToolReport> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let requests = number(&json, "/requests")? as u64;
    Ok(ToolReport {
        requests,
        requests_per_s: number(&json, "/requests_per_s")?,
        failed: number(&json, "/errors")? as u64,
        p50_ms: Some(number(&json, "/p50_ms")?),
        p99_ms: Some(number(&json, "/p99_ms")?),
        lag_p99_ms: Some(number(&json, "/lag_p99_ms")?),
        own_cpu_us: json.pointer("/cpu_us_per_request").and_then(Value::as_f64),
    })
}

/// Parses the last trial of a record, `run.jsonl`.
pub(super) fn record(text: &str) -> anyhow::Result<ToolReport> {
    let entries = text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let trial =
        entries.into_iter().find(|entry| entry["kind"] == "trial").context("no trial in the record")?;
    let of = |pointer: &str| number(&trial, pointer);
    let seconds = of("/window/to_s")? - of("/window/from_s")?;
    let requests_per_s = of("/window/requests_s")?;
    Ok(ToolReport {
        requests: (requests_per_s * seconds).round() as u64,
        requests_per_s,
        failed: of("/window/ops/0/failed")? as u64,
        p50_ms: Some(of("/window/ops/0/p50_ms")?),
        p99_ms: Some(of("/window/ops/0/p99_ms")?),
        lag_p99_ms: of("/window/lag_p99_ms").ok(),
        own_cpu_us: of("/resources/driver_cpu_us_per_request").ok(),
    })
}

#[cfg(test)]
mod tests;
