//! Runs a scenario file against an address and prints the driver's cost.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use barograph_engine::{EngineHandle, Settings};
use barograph_http::Target;
use barograph_model::{Nanos, OpId};
use barograph_scenario::Scenario;
use barograph_stats::Interval;
use barograph_workload_scenario::{Options, Reasons, reach, runnable};

use crate::say::say;

/// A load whose users start evenly over the warm-up, or at once without one.
struct Plan {
    users: u32,
    seconds: u64,
    warm_up: u64,
}

/// Runs the scenario of a file.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let [file, url, users, seconds, rest @ ..] = words else {
        bail!("wanted are FILE URL USERS SECONDS [WARM_UP]");
    };
    let text = std::fs::read_to_string(file).with_context(|| format!("read {file}"))?;
    let scenario = barograph_scenario::read(file, &text, &|path| std::fs::read(path));
    let scenario = Arc::new(scenario.map_err(|refused| anyhow!(refused.to_string()))?);
    let plan = Plan {
        users: users.parse()?,
        seconds: seconds.parse()?,
        warm_up: rest.first().map_or(Ok(0), |text| text.parse())?,
    };
    let resolved = Target::parse(url, &reach(&scenario.target))?.resolve()?;
    let reasons = Reasons::shared();
    // The time of day is constant: no figure depends on it.
    let options = Options { clock: || Nanos(1_767_225_600_000_000_000), reasons: Arc::clone(&reasons) };
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(scenario.behaviours.clone()),
        limits: scenario.limits(),
        interval: Nanos::from_secs(1),
        timeout: scenario.target.timeout.unwrap_or(Nanos::from_secs(60)),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let workload = runnable(Arc::clone(&scenario), resolved, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let sum = runtime.block_on(async { drive(workload.start(&settings)?, &plan).await })?;
    show(&scenario, &sum, &reasons.lock().expect("the workers are gone"));
    Ok(true)
}

async fn drive(mut handle: EngineHandle, plan: &Plan) -> anyhow::Result<Interval> {
    handle.ramp(plan.users, Nanos::from_secs(plan.warm_up)).await?;
    for _ in 0..=plan.warm_up {
        handle.next().await?;
    }
    let mut sum: Option<Interval> = None;
    for _ in 0..plan.seconds {
        let next = handle.next().await?.context("the engine ended")?;
        match &mut sum {
            Some(sum) => sum.append(&next),
            None => sum = Some(next),
        }
    }
    handle.stop(Nanos::from(Duration::from_secs(1))).await;
    while handle.next().await?.is_some() {}
    sum.context("there was no time to measure")
}

fn show(scenario: &Scenario, sum: &Interval, reasons: &Reasons) {
    let count: u64 = sum.ops.iter().map(|op| op.count()).sum();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    say(&format!(
        "{:.0} operations/s  {:.2} us of CPU each  users {}  most memory {resident}",
        count as f64 / sum.seconds(),
        sum.worker_cpu_s * 1e6 / count as f64,
        sum.users,
    ));
    for (i, (operation, op)) in scenario.operations.iter().zip(&sum.ops).enumerate() {
        let p = |q| op.response.value_at_quantile(q);
        let (good, failed) = (op.count() - op.failed(), op.failed());
        say(&format!(
            "{}: {good} good, {failed} failed, p50 {} us, p99 {} us",
            operation.name,
            p(0.5),
            p(0.99)
        ));
        for reason in reasons.of(OpId(i as u8)) {
            say(&format!("  {reason}"));
        }
    }
}
