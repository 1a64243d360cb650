//! A second PostgreSQL that has every commit before the commit is answered.

use barograph_services::Flavour;

use crate::databases::psql;
use crate::stand::{InstanceSpec, TestSite, or_skip, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_answered_when_the_standby_has_it() {
    let Some([service]) = or_skip(["postgres"]) else { return };
    let stand = TestSite::new().await;
    let flavour = Flavour::Tuned;
    let values = [("standby", "postgres-2".to_owned())];
    let primary = stand.start(service, InstanceSpec { name: "postgres-1", flavour, values: &values }).await;
    // It accepts connections and reads before its standby is ready, and a commit waits.
    assert_eq!(psql(&primary.url, "SELECT 1"), "1");
    let (waiting_url, later) =
        (primary.url.clone(), "CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)");
    let commit = tokio::task::spawn_blocking(move || psql(&waiting_url, later));
    until("commit that waits", || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        (psql(&primary.url, waiting) == "1").then_some(())
    })
    .await;
    assert!(!commit.is_finished());

    let values = [("primary", primary.main().to_string())];
    let standby = stand.start(service, InstanceSpec { name: "postgres-2", flavour, values: &values }).await;
    commit.await.unwrap();
    let state = "SELECT application_name, state, sync_state FROM pg_stat_replication";
    until("synchronous standby", || (psql(&primary.url, state) == "postgres-2|streaming|sync").then_some(()))
        .await;
    assert_eq!(psql(&standby.url, "SELECT pg_is_in_recovery()"), "t");
    // An answered commit is on the standby's disk; it becomes visible a moment later.
    psql(&primary.url, "INSERT INTO kept VALUES (41)");
    until("row on the standby", || (psql(&standby.url, "SELECT sum(x) FROM kept") == "42").then_some(()))
        .await;
    standby.assert_listens_at_home();
    standby.stop().await;
    primary.stop().await;
    stand.end().await;
}
