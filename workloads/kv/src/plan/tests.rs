//! Reading, refusing and explaining `[kv]`.

use barograph_model::{Nanos, Share};

use super::*;
use crate::testing;

fn own(text: &str) -> KvPlan {
    KvPlan::of(&testing::plan(text)).clone()
}

#[test]
fn an_empty_plan_is_three_reads_to_a_write_over_filled_keys() {
    let own = own("");
    assert_eq!(own.mix, [(Verb::Get, 3), (Verb::Set, 1)]);
    assert_eq!((own.keys, own.value, own.pipeline), (100_000, Size { least: 100, most: 100 }, 1));
    assert_eq!((own.fill.get(), own.verify, own.resp3), (1.0, false, false));
    assert_eq!(own.rules.limit, Some(Nanos::from_millis(5)));
    assert_eq!((own.deploy.store, own.deploy.stores, own.deploy.proxies), ("embedded", 1, 0));
}

#[test]
fn a_resolved_plan_reads_back_to_the_same() {
    let text = "[kv]\nmix.SET = 1\nmix.HGET = 4\nkeys = 5\npopularity = \"zipf\"\nzipf_exponent = 1.2\nvalue_bytes = 10\n\
                value_bytes_max = 20\npipeline = 30\nverify = true\nhits = 0.5\nlimit_ms = 0.5\nquantile = 0.95\nfields = 3\n\
                [deploy]\nstore = \"redis\"\nstores = 4\nproxy = \"twemproxy\"\nproxies = 2\nbalancer = \"haproxy\"\n\
                append_only = \"everysec\"\n";
    let plan = testing::plan(text);
    let again =
        barograph_spec::read(barograph_spec::Catalogue::of(&[&KeyValue]), "again", &plan.resolved, &[])
            .unwrap();
    assert_eq!(KvPlan::of(&again), KvPlan::of(&plan));
    let own = KvPlan::of(&plan);
    assert_eq!(own.value, Size { least: 10, most: 20 });
    assert_eq!((own.rules.hits, own.rules.limit), (Share::percent(50.0), Some(Nanos(500_000))));
    assert_eq!((own.deploy.stores, own.deploy.proxies), (4, 2));
}

#[test]
fn what_does_not_go_together_is_refused_with_the_way_out() {
    let refused = |text: &str, key: &str, part: &str| {
        let why = testing::refusals(text);
        assert!(why.contains(&format!("`{key}`")) && why.contains(part), "{text}: {why}");
    };
    refused("[kv]\nvalue_bytes_max = 5\n", "kv.value_bytes_max", "at least the 100");
    refused("[kv]\nmix.INCR = 1\nvalue_bytes = 5\n", "kv.value_bytes", "left out without strings");
    refused("[kv]\nmget_keys = 5\n", "kv.mget_keys", "left out without MGET");
    refused("[kv]\nmix.EXPIRE = 5\n", "kv.expire_s", "at least 1 with EXPIRE");
    refused("[kv]\nhot_keys = 0.5\n", "kv.hot_keys", "only with kv.popularity = \"hot\"");
    refused("[kv]\nlimit_ms = 0\nquantile = 0.5\n", "kv.quantile", "left out with kv.limit_ms = 0");
    refused("[kv]\nmix.SET = 1\nhits = 0.5\n", "kv.hits", "left out without GET");
    refused("[kv]\nmix.FLUSHALL = 1\n", "kv.mix.FLUSHALL", "");
    refused("[deploy]\nappend_only = \"always\"\n", "deploy.append_only", "keeps everything in memory");
    refused("[deploy]\nproxies = 2\n", "deploy.proxies", "left out with deploy.proxy");
    refused("[deploy]\nproxy = \"twemproxy\"\nproxies = 2\n", "deploy.proxies", "1 without a balancer");
    refused("[deploy]\nstores = 2\nbalancer = \"haproxy\"\n", "deploy.stores", "a balancer knows no keys");
    refused(
        "[kv]\nprotocol = \"resp3\"\n[deploy]\nproxy = \"twemproxy\"\n",
        "kv.protocol",
        "speaks nothing else",
    );
    refused("[kv]\nmix = 3\n", "kv.mix", "a table, with keys as `kv.mix.");
    let crowd = "[target]\nurl = \"redis://localhost:1\"\n[load]\nstrategy = \"fixed\"\nusers = 28001\n";
    refused(crowd, "target.url", "at most 28000 connections");
    refused("[target]\nurl = \"http://x\"\n", "target.url", "unknown scheme `http`");
    refused("[target]\nurl = \"redis://x\"\ntls.verify = false\n", "target.tls.verify", "rediss");
    refused("[target]\nurl = \"redis://x\"\n[deploy]\nstores = 2\n", "deploy.stores", "there already");
}

#[test]
fn a_plan_is_explained_in_a_few_lines() {
    let plan = testing::plan("[kv]\npipeline = 30\nverify = true\npopularity = \"hot\"\n");
    let lines = WorkloadSettings::explain(KvPlan::of(&plan), &plan);
    assert_eq!(
        lines[..4],
        [
            "commands  GET 75.0 %, SET 25.0 %; each as soon as the reply to the one before is there",
            "data      100,000 keys (90.0 % of the commands to 10.0 % of them), values of 100 bytes, all filled before",
            "          up to 30 users share a connection, each with one command in flight",
            "          values that come back are compared with what was written",
        ]
    );
    assert!(lines[4].starts_with("target    1 store of this program "), "{}", lines[4]);
    let text = "[deploy]\nstore = \"redis\"\nstores = 2\nproxy = \"twemproxy\"\nappend_only = \"everysec\"\n";
    let plan = testing::plan(text);
    let lines = WorkloadSettings::explain(KvPlan::of(&plan), &plan);
    assert!(
        lines[2].starts_with("target    1 twemproxy in front of 2 x redis with its log on disk everysec "),
        "{}",
        lines[2]
    );
}
