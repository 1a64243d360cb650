//! The workload as the harness uses it: fill, load, checks.

use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use barograph_test_services::{or_skip, postgres};
use barograph_workload::{LoadError, VerifyResult, WorkloadFactory as _};

use super::rig::url;
use crate::OrderEntry;
use crate::measures::NEW_ORDERS;
use crate::tests::{block, ended, fill, load, plan_at, verify};

#[test]
fn a_load_is_counted_and_its_data_are_right() {
    let Some(server) = or_skip(postgres()) else { return };
    block(async {
        let plan = plan_at(&url(&server), &[]);
        let workload = OrderEntry.of_plan(&plan).unwrap();
        assert!(
            !workload.operations_block() && workload.connections(9, barograph_spec::Connections::Keep) == 9
        );
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 500).await;
        let failed: u64 = all.ops.iter().map(|op| op.failed()).sum();
        assert_eq!((failed, workload.failure_reasons()), (0, vec![]));
        assert!(all.counters.get(NEW_ORDERS) > 150);
        let application = workload.application().unwrap();
        let tiers = application.tiers(&url(&server)).await.unwrap();
        assert!(tiers[0].product.starts_with("PostgreSQL 1"), "{tiers:?}");
        assert_eq!(tiers[0].durability, "fsync on, full_page_writes on, synchronous_commit on");
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        // The copy is gone.
        let again = application.verify(&url(&server)).unwrap().await.unwrap_err();
        assert!(again.contains("does not exist"), "{again}");
    });
}

/// Every acknowledged commit is there after a crash; those without an answer may be.
#[test]
fn a_server_that_is_killed_under_load_keeps_its_commits() {
    let Some(mut server) = or_skip(postgres()) else { return };
    let plan = plan_at(&url(&server), &["order_entry.warehouses=2"]);
    let workload = OrderEntry.of_plan(&plan).unwrap();
    block(async {
        fill(workload.as_ref(), &plan).await.unwrap();
        let mut is_killed = false;
        let loading = load(workload.as_ref(), &plan, |all| {
            if !is_killed && ended(all) >= 100 {
                server.kill();
                is_killed = true;
            }
            is_killed && all.ops.iter().any(|op| op.failed() > 0)
        });
        let all = loading.await;
        let broken = all.ops.iter().map(|op| op.outcomes[Outcome::Broken.index()]).sum::<u64>();
        assert!(broken > 0, "{:?}", workload.failure_reasons());
        server.restart();
        let verified = verify(workload.as_ref(), &plan).await;
        assert_eq!(verified, VerifyResult { ok: true, findings: vec![] });
    });
}

#[test]
fn a_server_without_durable_commits_is_refused_unless_the_plan_wants_none() {
    let Some(server) = or_skip(barograph_test_services::product("postgres", &[("not_durable", "yes")]))
    else {
        return;
    };
    block(async {
        let plan = plan_at(&url(&server), &[]);
        let refused = fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.unwrap_err();
        let LoadError::Refused(refused) = refused else { panic!("{refused:?}") };
        assert_eq!(refused.0[0].key, "order_entry.durability");
        assert!(refused.0[0].allowed.contains("fsync off, full_page_writes off"), "{refused:?}");
        let plan = plan_at(&url(&server), &["order_entry.durability=off"]);
        assert!(!fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.unwrap());
        let other = plan_at(&url(&server), &["order_entry.durability=off", "seed=2"]);
        let refused = fill(OrderEntry.of_plan(&other).unwrap().as_ref(), &other).await.unwrap_err();
        assert!(in_one_line(&refused).contains("which was filled otherwise: warehouses = 1"), "{refused}");
    });
}

#[test]
fn a_server_that_is_gone_is_unreachable() {
    let Some(mut server) = or_skip(postgres()) else { return };
    server.kill();
    block(async {
        let plan = plan_at(&url(&server), &[]);
        let gone = fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.unwrap_err();
        assert!(matches!(gone, LoadError::Unreachable { .. }), "{gone:?}");
    });
}
