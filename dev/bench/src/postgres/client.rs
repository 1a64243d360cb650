//! The transactions of pgbench, on the measured client.

use std::rc::Rc;

use anyhow::{Context, anyhow};
use barograph_postgres::{Address, Client, Connection, Fault, Param, Statement, Target};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::mpsc::channel;

/// A transaction and its form on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    /// One row by its key.
    Select,
    /// Three updates, a query and an insert, each statement in a round trip of its own.
    Tpcb,
    /// The same in one round trip.
    TpcbBatch,
}

impl Case {
    /// All transactions.
    pub(super) const ALL: [Case; 3] = [Case::Select, Case::Tpcb, Case::TpcbBatch];

    pub(super) fn name(self) -> &'static str {
        match self {
            Case::Select => "select",
            Case::Tpcb => "tpcb",
            Case::TpcbBatch => "tpcb-batch",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name() == name)
    }
}

/// The statements, by their index in [`Tpcb`].
const STATEMENTS: [&str; 7] = [
    "BEGIN",
    "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
    "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
    "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2",
    "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2",
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
    "COMMIT",
];

/// A connection and its user's random stream.
struct User {
    session: Connection,
    statements: Vec<Statement>,
    random: Xoshiro256PlusPlus,
    branches: i64,
}

/// Performs the transactions, on this thread.
pub(super) fn drive(url: &str, case: Case, connections: u32, transactions: u32) -> anyhow::Result<()> {
    let target = Target::resolve(Address::parse(url)?, &[])?;
    barograph_reactor::block_on(async {
        let client = Rc::new(Client::new(&target));
        let (tell, mut told) = channel(connections.max(1) as usize);
        for number in 0..connections {
            let (client, tell) = (Rc::clone(&client), tell.clone());
            barograph_reactor::spawn(async move {
                let end = user(&client, number, case, transactions).await;
                // The receiver is gone after the first failure.
                let _ = tell.send(end).await;
            });
        }
        drop(tell);
        while let Some(end) = told.recv().await {
            end.map_err(|fault| anyhow!(fault))?;
        }
        Ok(())
    })
    .context("run an event loop")?
}

async fn user(client: &Client, number: u32, case: Case, transactions: u32) -> Result<(), Fault> {
    let mut session = client.connect(number).await?;
    let statements = session.prepare_all(&STATEMENTS).await?;
    let mut replies = session.query("SELECT count(*) FROM pgbench_branches")?;
    let branches = replies.row().await?.and_then(|row| row.get::<&str>(0).ok()?.parse().ok()).unwrap_or(1);
    replies.finish().await?;
    let random = Xoshiro256PlusPlus::seed_from_u64(number.into());
    let mut user = User { session, statements, random, branches };
    for _ in 0..transactions {
        match case {
            Case::Select => user.select().await?,
            Case::Tpcb => user.tpcb().await?,
            Case::TpcbBatch => user.tpcb_batch().await?,
        }
    }
    Ok(())
}

/// The numbers of a transaction.
struct Tpcb {
    account: Param<'static>,
    branch: Param<'static>,
    teller: Param<'static>,
    delta: Param<'static>,
}

impl User {
    fn draw(&mut self) -> Tpcb {
        let mut below = |most: i64| Param::Int(self.random.random_range(1..=most));
        let (account, branch) = (below(100_000 * self.branches), below(self.branches));
        let (teller, delta) =
            (below(10 * self.branches), Param::Int(self.random.random_range(-5_000..=5_000)));
        Tpcb { account, branch, teller, delta }
    }

    async fn select(&mut self) -> Result<(), Fault> {
        let account = Param::Int(self.random.random_range(1..=100_000 * self.branches));
        self.balance(account).await
    }

    /// Reads the balance of an account.
    async fn balance(&mut self, account: Param<'static>) -> Result<(), Fault> {
        let mut batch = self.session.batch();
        batch.execute(self.statements[2], &[account])?;
        let mut replies = batch.send()?;
        let balance = replies.row().await?.map(|row| row.get::<i32>(0)).transpose()?;
        std::hint::black_box(balance);
        replies.finish().await.map(drop)
    }

    async fn tpcb(&mut self) -> Result<(), Fault> {
        let Tpcb { account, branch, teller, delta } = self.draw();
        let statements = [0, 1, 3, 4, 5, 6].map(|at| self.statements[at]);
        let [begin, accounts, tellers, branches, history, commit] = statements;
        self.session.execute(begin, &[]).await?;
        self.session.execute(accounts, &[delta, account]).await?;
        self.balance(account).await?;
        self.session.execute(tellers, &[delta, teller]).await?;
        self.session.execute(branches, &[delta, branch]).await?;
        self.session.execute(history, &[teller, branch, account, delta]).await?;
        self.session.execute(commit, &[]).await.map(drop)
    }

    async fn tpcb_batch(&mut self) -> Result<(), Fault> {
        let Tpcb { account, branch, teller, delta } = self.draw();
        let mut batch = self.session.batch();
        batch.execute(self.statements[0], &[])?;
        batch.execute(self.statements[1], &[delta, account])?;
        batch.execute(self.statements[2], &[account])?;
        batch.execute(self.statements[3], &[delta, teller])?;
        batch.execute(self.statements[4], &[delta, branch])?;
        batch.execute(self.statements[5], &[teller, branch, account, delta])?;
        batch.execute(self.statements[6], &[])?;
        batch.send()?.finish().await.map(drop)
    }
}
