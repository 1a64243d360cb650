//! Tiles through the program.

use std::path::Path;

use crate::plans::runs_beside_the_data;
use crate::smoke::Smoke;

/// Nanoseconds would be needed.
const IMPOSSIBLE: &str = "loads[4].kv.limit_ms=0.001";

/// A tile of this repository in small, with further keys.
fn small(plan: &Path, more: &[&str]) -> Smoke {
    let mut smoke = Smoke::of(plan);
    smoke.sets.extend(more.iter().map(|set| (*set).to_owned()));
    smoke
}

#[test]
fn a_tile_on_servers_in_containers_has_a_score() {
    let plan = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/tile.toml"));
    let servers = [
        "platform=container",
        "loads[0].deploy.like=minimal",
        "loads[1].deploy.database=postgres",
        "loads[4].deploy.store=redis",
    ];
    let Some(run) = runs_beside_the_data(plan, &small(plan, &servers)) else { return };
    let topology = run.topology().unwrap();
    assert_eq!(topology.platform, "container");
    let of = |name: &str| topology.parts.iter().filter(|part| part.service == name).count();
    assert_eq!(
        ["PostgreSQL", "Redis", "nginx", "embedded mail server"].map(of),
        [2, 1, 1, 1],
        "{topology:?}"
    );
    assert_eq!(run.tiles().unwrap().loads.len(), 5);
    let verdict = run.verdict().unwrap();
    assert_eq!(verdict.score.is_some(), verdict.passed && verdict.valid, "{verdict:?}");
}

#[test]
fn a_tile_with_an_impossible_load_fails_and_names_it() {
    let plan = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/tile.toml"));
    let Some(run) = runs_beside_the_data(plan, &small(plan, &[IMPOSSIBLE])) else { return };
    let verdict = run.verdict().unwrap();
    assert!(!verdict.passed && verdict.score.is_none(), "{verdict:?}");
    let failed = verdict.sentence.split_once("Failed: ").unwrap().1;
    assert!(failed.contains("standby-1"), "{verdict:?}");
    assert!(verdict.reasons.iter().any(|why| why.starts_with("standby-1: ")), "{verdict:?}");
    let tiles = run.tiles().unwrap();
    assert_eq!((tiles.count(), tiles.loads.len()), (1, 5));
}
