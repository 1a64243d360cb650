//! Figures of one service, and the machine of the measurement.

use std::fs;

use anyhow::Context;
use barograph_services::Figures;

/// Figures for a `service.toml`.
pub(crate) struct ServiceFigures {
    pub(crate) machine: String,
    pub(crate) version: String,
    pub(crate) vanilla: Figures,
    pub(crate) tuned: Figures,
}

/// As a line for people.
pub(crate) fn line(figures: &Figures) -> String {
    format!(
        "ready {:.3} s, stopped {:.3} s, RSS {:.1} MiB, PSS {:.1} MiB, idle {:.1} millicores, {} processes",
        figures.ready_s,
        figures.stop_s,
        figures.rss_mib,
        figures.pss_mib,
        figures.idle_millicores,
        figures.processes
    )
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// This machine in one line, with its load.
pub(crate) fn machine() -> anyhow::Result<String> {
    let read = |path: &str| fs::read_to_string(path).with_context(|| format!("read {path}"));
    let (cpus, memory) = (read("/proc/cpuinfo")?, read("/proc/meminfo")?);
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
    };
    let model = field(&cpus, "model name").context("find the model of the processor")?;
    let kib: u64 = field(&memory, "MemTotal")
        .and_then(|total| total.split_whitespace().next()?.parse().ok())
        .context("find the memory")?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let load = read("/proc/loadavg")?;
    let load = load.split_whitespace().next().unwrap_or_default();
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{cores} cores of {model}, {} GiB, Linux {}, load {load}", kib >> 20, kernel.trim()))
}
