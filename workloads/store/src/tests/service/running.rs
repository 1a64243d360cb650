//! The workload as the harness uses it: fill, load, checks.

use barograph_model::Outcome;
use barograph_test_services::or_skip;
use barograph_workload::{VerifyResult, WorkloadFactory as _};

use super::rig::{Mariadb, Postgres, Product};
use crate::Store;
use crate::tests::seam::{block, ended, fill, load, plan_at, verify};

#[test]
fn a_load_is_counted_and_survives_the_death_of_postgres() {
    a_load_is_counted_and_survives_the_death_of_its_server::<Postgres>();
}

#[test]
fn a_load_is_counted_and_survives_the_death_of_mariadb() {
    a_load_is_counted_and_survives_the_death_of_its_server::<Mariadb>();
}

/// Every acknowledged commit is there after a crash; those without an answer may be.
fn a_load_is_counted_and_survives_the_death_of_its_server<P: Product>() {
    let Some(mut server) = or_skip(P::start()) else { return };
    let plan = plan_at(&P::url(&server, "store"), &[]);
    let workload = Store.of_plan(&plan).unwrap();
    assert!(!workload.operations_block() && workload.connections(9, barograph_spec::Connections::Keep) == 9);
    block(async {
        assert!(!fill(workload.as_ref(), &plan).await.unwrap());
        let mut is_killed = false;
        let loading = load(workload.as_ref(), &plan, |all| {
            if !is_killed && ended(all) >= 500 {
                assert_eq!(all.ops.iter().map(|op| op.failed()).sum::<u64>(), 0);
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
