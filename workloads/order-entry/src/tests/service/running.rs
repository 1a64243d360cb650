//! The workload as the harness uses it: fill, load, checks.

use barograph_model::Outcome;
use barograph_test_services::{or_skip, product};
use barograph_workload::{LoadError, VerifyResult, WorkloadFactory as _};

use super::rig::{Mariadb, Postgres, Product, run};
use crate::OrderEntry;
use crate::measures::NEW_ORDERS;
use crate::tests::{block, ended, fill, load, plan_at, verify};

#[test]
fn a_load_is_counted_and_survives_the_death_of_postgres() {
    let durability = "fsync on, full_page_writes on, synchronous_commit on";
    a_load_is_counted_and_survives_the_death_of_its_server::<Postgres>("PostgreSQL 1", durability);
}

#[test]
fn a_load_is_counted_and_survives_the_death_of_mariadb() {
    let durability = "innodb_flush_log_at_trx_commit 1, innodb_doublewrite 1, log_bin 0, sync_binlog 1";
    a_load_is_counted_and_survives_the_death_of_its_server::<Mariadb>("MariaDB 1", durability);
}

/// Every acknowledged commit is there after a crash; those without an answer may be.
fn a_load_is_counted_and_survives_the_death_of_its_server<P: Product>(name: &str, durability: &str) {
    let Some(mut server) = or_skip(P::start()) else { return };
    let url = P::url(&server, "orders");
    let plan = plan_at(&url, &["order_entry.warehouses=2"]);
    let workload = OrderEntry.of_plan(&plan).unwrap();
    assert!(!workload.operations_block() && workload.connections(9, barograph_spec::Connections::Keep) == 9);
    block(async {
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let all = load(workload.as_ref(), &plan, |all| ended(all) >= 500).await;
        let failed: u64 = all.ops.iter().map(|op| op.failed()).sum();
        assert_eq!((failed, workload.failure_reasons()), (0, vec![]));
        assert!(all.counters.get(NEW_ORDERS) > 150);
        let application = workload.application().unwrap();
        let tiers = application.tiers(&url).await.unwrap();
        assert!(tiers[0].product.starts_with(name), "{tiers:?}");
        assert_eq!(tiers[0].durability, durability);
        assert_eq!(verify(workload.as_ref(), &plan).await, VerifyResult { ok: true, findings: vec![] });
        // The copy is gone.
        assert!(application.verify(&url).unwrap().await.is_err());
        drop(workload);

        let workload = OrderEntry.of_plan(&plan).unwrap();
        assert!(fill(workload.as_ref(), &plan).await.unwrap());
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
        let gone = fill(workload.as_ref(), &plan).await.unwrap_err();
        assert!(matches!(gone, LoadError::Unreachable { .. }), "{gone:?}");
        server.restart();
        let verified = verify(workload.as_ref(), &plan).await;
        assert_eq!(verified, VerifyResult { ok: true, findings: vec![] });
    });
}

/// Refuses the server of an address, unless the plan wants no durable commits.
async fn refused(url: &str, settings: &str) {
    let plan = plan_at(url, &[]);
    let refused = fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.unwrap_err();
    let LoadError::Refused(refused) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.0[0].key, "order_entry.durability");
    assert!(refused.0[0].allowed.contains(settings), "{refused:?}");
    let plan = plan_at(url, &["order_entry.durability=off"]);
    assert!(fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.is_ok());
}

#[test]
fn a_postgres_whose_commits_may_be_lost_is_refused_unless_the_plan_wants_no_other() {
    let Some(server) = or_skip(product("postgres", &[("not_durable", "yes")])) else { return };
    block(refused(&Postgres::url(&server, "orders"), "fsync off, full_page_writes off"));
}

#[test]
fn a_mariadb_whose_commits_may_be_lost_is_refused_unless_the_plan_wants_no_other() {
    let Some(server) = or_skip(product("mariadb", &[("binlog", "on")])) else { return };
    let url = Mariadb::url(&server, "orders");
    let plan = plan_at(&url, &[]);
    block(async {
        assert!(!fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan).await.unwrap());
        run(&url, "SET GLOBAL sync_binlog = 0");
        refused(&url, "log_bin 1, sync_binlog 0").await;
    });
}
