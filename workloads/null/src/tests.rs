//! The workload run by the engine, and the document that shows it.

use barograph_engine::Settings;
use barograph_model::{Nanos, TimeLimits};

use super::*;

#[test]
fn users_do_nothing_as_fast_as_the_engine_lets_them() {
    let text = format!("workload = {NAME:?}");
    let plan = barograph_spec::read(barograph_spec::Catalogue::of(&[&Null]), "a plan", &text, &[]).unwrap();
    let workload = Null.of_plan(&plan).unwrap();
    let settings = Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: vec![TimeLimits::default()],
        interval: Nanos::from_millis(50),
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let job = LoadJob { url: "null://localhost", plan: &plan, data: None };
    let mut load = workload.load(&job).unwrap().start(&settings).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ended = runtime.block_on(async {
        load.ramp(10, Nanos::ZERO).await.unwrap();
        let first = load.next().await.unwrap().unwrap();
        load.stop(Nanos::from_secs(1)).await;
        let mut all = first;
        while let Some(next) = load.next().await.unwrap() {
            all.append(&next);
        }
        all
    });
    assert!(ended.ops[0].count() > 1_000, "{}", ended.ops[0].count());
    assert_eq!((ended.ops[0].failed(), ended.ops[0].requests), (0, ended.ops[0].count()));
}

/// The code in the document equals this workload, line by line.
#[test]
fn the_document_has_its_source() {
    let document = include_str!("../../../docs/new-workload.md");
    let source = include_str!("lib.rs");
    let shown = document.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(shown.trim_end(), source.split("\n#[cfg(test)]").next().unwrap().trim_end());
}
