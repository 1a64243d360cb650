//! Tiles through the program.

use std::path::Path;

use crate::plans::runs_beside_the_data;
use crate::smoke::Smoke;

/// Nanoseconds would be needed.
const IMPOSSIBLE: &str = "loads[4].kv.limit_ms=0.001";

#[test]
fn a_tile_with_an_impossible_load_fails_and_names_it() {
    let plan = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/tile.toml"));
    let mut smoke = Smoke::of(plan);
    smoke.sets.push(IMPOSSIBLE.to_owned());
    let Some(run) = runs_beside_the_data(plan, &smoke) else { return };
    let verdict = run.verdict().unwrap();
    assert!(!verdict.passed && verdict.score.is_none(), "{verdict:?}");
    let failed = verdict.sentence.split_once("Failed: ").unwrap().1;
    assert!(failed.contains("standby-1"), "{verdict:?}");
    assert!(verdict.reasons.iter().any(|why| why.starts_with("standby-1: ")), "{verdict:?}");
    let tiles = run.tiles().unwrap();
    assert_eq!((tiles.count(), tiles.loads.len()), (1, 5));
}
