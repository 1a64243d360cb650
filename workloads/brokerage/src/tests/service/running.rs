//! Transactions on servers: what they leave in the database, alone, side by side, and after the death of the server.

use barograph_database::Access;
use barograph_database_engines::Form;
use barograph_engine::{User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_reactor::block_on;
use barograph_test_services::{Service, or_skip};
use barograph_testkit::allocations;
use barograph_workload::{VerifyResult, WorkloadFactory as _};

use super::rig::{Mariadb, Postgres, Product, Rig, digests};
use crate::Brokerage;
use crate::tests::rig as sqlite;
use crate::tests::seam::{block, ended, fill, load, plan_at, verify};
use crate::user::Transaction;

#[test]
fn a_seed_leaves_the_same_tables_on_postgres_as_on_sqlite() {
    let Some(server) = or_skip(Postgres::start()) else { return };
    a_seed_leaves_the_same_tables_as_on_sqlite::<Postgres>(&server, &[Form::Statements, Form::Stored]);
}

#[test]
fn a_seed_leaves_the_same_tables_on_mariadb_as_on_sqlite() {
    let Some(server) = or_skip(Mariadb::start()) else { return };
    a_seed_leaves_the_same_tables_as_on_sqlite::<Mariadb>(&server, &[Form::Statements]);
}

/// Orders at the market beside the tables: later orders follow from them.
fn a_seed_leaves_the_same_tables_as_on_sqlite<P: Product>(server: &Service, forms: &[Form]) {
    let embedded = sqlite::Rig::new(3);
    assert_eq!(embedded.trade(1, 1_500), 0, "{:?}", embedded.shared.reasons.lock().unwrap());
    for form in forms {
        let name = format!("seeded_{form:?}").to_lowercase();
        let rig = Rig::<P>::new(server, &name, (3, *form));
        assert_eq!(digests(&rig.filled), sqlite::digests(embedded.target.file()));
        assert_eq!(rig.trade(1, 1_500), 0, "{:?}", rig.shared.reasons.lock().unwrap());
        assert_eq!(rig.shared.tally.counts.committed(), embedded.shared.tally.counts.committed());
        assert_eq!(rig.shared.market.backlog(), embedded.shared.market.backlog());
        assert_eq!(digests(&rig.copy), sqlite::digests(&embedded.copy), "{form:?}");
        assert_eq!(rig.wrong(), Vec::<String>::new());
        reading_allocates_nothing(&rig);
        // Side by side.
        assert_eq!(rig.trade(6, 300), 0, "{:?}", rig.shared.reasons.lock().unwrap());
        assert_eq!(rig.wrong(), Vec::<String>::new());
    }
}

fn reading_allocates_nothing<P: Product>(rig: &Rig<P>) {
    let users = rig.users();
    block_on(async {
        let (user, mut context) = (users.user(UserId(7)), sqlite::context(3, 7));
        let (mut made, mut reads) = (0, 0);
        for number in 0..400 {
            let op = OpId(user.choose(ChooserId(0), &mut context) as u8);
            let before = allocations();
            assert_eq!(user.act(op, &mut context).await, Outcome::Good);
            // Buffers are warm in the second half.
            if number >= 200 && Transaction::ALL[op.index()].access() == Access::Read {
                (made, reads) = (made + allocations() - before, reads + 1);
            }
        }
        assert!(made == 0 && reads > 100, "{made} allocations in {reads} transactions");
    })
    .unwrap();
}

#[test]
fn a_load_survives_the_death_of_postgres() {
    a_load_survives_the_death_of_its_server::<Postgres>(&["brokerage.form=stored"]);
}

#[test]
fn a_load_survives_the_death_of_mariadb() {
    a_load_survives_the_death_of_its_server::<Mariadb>(&[]);
}

/// Every acknowledged commit is there after a crash; those without an answer may be.
fn a_load_survives_the_death_of_its_server<P: Product>(sets: &[&str]) {
    let Some(mut server) = or_skip(P::start()) else { return };
    let plan = plan_at(&P::url(&server, "brokerage"), sets);
    let workload = Brokerage.of_plan(&plan).unwrap();
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
