//! Runs a scenario file against an address and prints what it cost: the figures of this crate are taken with it.
//!
//! `cargo run --release -p barograph-workload-scenario --example drive -- FILE URL USERS SECONDS [WARM_UP]`

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use barograph_engine::{EngineHandle, Settings};
use barograph_http::Target;
use barograph_model::{Nanos, OpId};
use barograph_scenario::Scenario;
use barograph_stats::Interval;
use barograph_workload_scenario::{Options, Reasons, reach, runnable};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error>;

/// Users come evenly over the warm-up, or all at once without one.
struct Run {
    users: u32,
    seconds: u64,
    warm_up: u64,
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, url, users, seconds, rest @ ..] = args.as_slice() else {
        return Err("usage: drive FILE URL USERS SECONDS [WARM_UP]".into());
    };
    let text = std::fs::read_to_string(file)?;
    let scenario = barograph_scenario::read(file, &text, &|path| std::fs::read(path));
    let scenario = Arc::new(scenario.map_err(|refused| refused.to_string())?);
    let run = Run {
        users: users.parse()?,
        seconds: seconds.parse()?,
        warm_up: rest.first().map_or(Ok(0), |text| text.parse())?,
    };
    let resolved = Target::parse(url, &reach(&scenario.target))?.resolve()?;
    let reasons = Reasons::shared();
    // The time of day stands still: no figure depends on it.
    let options = Options { clock: || Nanos(1_767_225_600_000_000_000), reasons: Arc::clone(&reasons) };
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(scenario.behaviours.clone()),
        limits: scenario.limits(),
        interval: Nanos::from_secs(1),
        timeout: scenario.target.timeout,
        open: None,
    };
    let workload = runnable(Arc::clone(&scenario), resolved, options)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let sum = runtime.block_on(async { drive(workload.start(&settings)?, &run).await })?;
    show(&scenario, &sum, &reasons.lock().expect("the workers are gone"))?;
    Ok(())
}

async fn drive(mut handle: EngineHandle, run: &Run) -> Result<Interval, Failure> {
    handle.ramp(run.users, Nanos::from_secs(run.warm_up)).await?;
    for _ in 0..=run.warm_up {
        handle.next().await?;
    }
    let mut sum: Option<Interval> = None;
    for _ in 0..run.seconds {
        let next = handle.next().await?.ok_or("the engine ended")?;
        match &mut sum {
            Some(sum) => sum.append(&next),
            None => sum = Some(next),
        }
    }
    handle.stop(Nanos::from(Duration::from_secs(1))).await;
    while handle.next().await?.is_some() {}
    sum.ok_or_else(|| "no time to measure".into())
}

fn show(scenario: &Scenario, sum: &Interval, reasons: &Reasons) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let count: u64 = sum.ops.iter().map(|op| op.count()).sum();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    writeln!(
        out,
        "{:.0} operations/s  {:.2} us of CPU each  users {}  most memory {resident}",
        count as f64 / sum.seconds(),
        sum.worker_cpu_s * 1e6 / count as f64,
        sum.users,
    )?;
    for (i, (operation, op)) in scenario.operations.iter().zip(&sum.ops).enumerate() {
        let p = |q| op.response.value_at_quantile(q);
        let (good, failed) = (op.count() - op.failed(), op.failed());
        writeln!(
            out,
            "{}: {good} good, {failed} failed, p50 {} us, p99 {} us",
            operation.name,
            p(0.5),
            p(0.99)
        )?;
        for reason in reasons.of(OpId(i as u8)) {
            writeln!(out, "  {reason}")?;
        }
    }
    Ok(())
}
