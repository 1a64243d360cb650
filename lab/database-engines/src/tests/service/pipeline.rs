//! Statements of PostgreSQL that are sent together.

use barograph_database::{Access, TransactionError, Transactions as _};
use barograph_engine::OpContext;
use barograph_postgres::{Address, Param, Target};
use barograph_reactor::block_on;
use barograph_test_services::{or_skip, postgres};

use crate::{PostgresSession, PostgresSessions, Query, Rows, Sessions as _, rows};

#[derive(Clone, Copy)]
enum Sql {
    Put,
    Raise,
    Ids,
}

impl Query for Sql {
    const ALL: &'static [(Self, &'static str)] = &[
        (Sql::Put, "INSERT INTO account VALUES ($1, 0)"),
        (Sql::Raise, "UPDATE account SET balance = balance + 1 WHERE id = $1"),
        (Sql::Ids, "SELECT id FROM account ORDER BY id"),
    ];

    fn number(self) -> usize {
        self as usize
    }
}

/// Begins a transaction in which rows with these ids are put.
async fn begin(session: &mut PostgresSession<Sql>, ids: &[i64]) {
    session.begin(Access::Write, &mut OpContext::for_test()).await.unwrap();
    for id in ids {
        session.add(Sql::Put, &[Param::Int(*id)], Rows::Exactly(1, "room")).unwrap();
    }
}

/// The ids in the table, after the number of statements since the last call.
async fn ids(session: &mut PostgresSession<Sql>) -> (u64, Vec<i64>) {
    let (statements, mut ids) = (session.take_statements(), Vec::new());
    let read = session.execute(Sql::Ids, &[], |row| {
        ids.push(row.get(0)?);
        Ok(())
    });
    assert_eq!(read.await.unwrap(), ids.len() as u64);
    assert_eq!(session.take_statements(), 1);
    (statements, ids)
}

#[test]
fn a_pipeline_is_done_in_order_up_to_an_error() {
    let Some(server) = or_skip(postgres()) else { return };
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    rows(&url, "CREATE TABLE account (id int PRIMARY KEY, balance int)", &mut |_| {}).unwrap();
    let target = Target::resolve(Address::parse(&url).unwrap(), &[]).unwrap();
    let sessions = PostgresSessions::<Sql>::new(&target, &"SET lock_timeout = 0".into());
    block_on(async {
        let mut session = sessions.open(0).await.unwrap();
        begin(&mut session, &[1, 2]).await;
        session.add(Sql::Ids, &[], Rows::Some("account")).unwrap();
        let mut read = Vec::new();
        let flushed = session.flush(|place, row| {
            read.push((place, row.get::<i64>(0)?));
            Ok(())
        });
        flushed.await.unwrap();
        assert_eq!(read, [(2, 1), (2, 2)]);
        session.flush(|_, _| panic!("no statement was added")).await.unwrap();
        session.add(Sql::Raise, &[Param::Int(1)], Rows::Exactly(1, "account")).unwrap();
        session.commit().await.unwrap();
        assert_eq!(ids(&mut session).await, (6, vec![1, 2]));

        // The second row is there: the third one and the commit are skipped.
        begin(&mut session, &[3, 2, 4]).await;
        let failed = session.commit().await;
        let Err(TransactionError::Failed { why, .. }) = failed else { panic!("{failed:?}") };
        assert!(why.contains("duplicate key"), "{why}");
        session.roll_back().await.unwrap();
        assert_eq!(ids(&mut session).await, (4, vec![1, 2]));

        begin(&mut session, &[5]).await;
        session.roll_back().await.unwrap();
        assert_eq!(ids(&mut session).await, (0, vec![1, 2]));

        // A row that is missing is no error of the server, which goes on.
        begin(&mut session, &[6]).await;
        session.add(Sql::Raise, &[Param::Int(7)], Rows::Exactly(1, "account")).unwrap();
        session.add(Sql::Raise, &[Param::Int(7)], Rows::Any).unwrap();
        let missing = session.flush(|_, _| Ok(())).await;
        assert_eq!(missing, Err(TransactionError::missing("account")));
        session.roll_back().await.unwrap();
        assert_eq!(ids(&mut session).await, (5, vec![1, 2]));
    })
    .unwrap();
}
