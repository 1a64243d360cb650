//! A user: draws, transactions, retries and counts.

use std::sync::{Arc, Mutex};

use barograph_database::measures::WRITES;
use barograph_database::{
    Access, CommitGaps, Reply, Terminal, TransactionError, Transacts, Value, with_retries,
};
use barograph_engine::OpContext;
use barograph_model::{OpId, Outcome, UserId};
use barograph_workload::{Failure, Reasons};

use crate::draw::Draw;
use crate::engines::Session;
use crate::script::{Script, Statement, Transaction};
use crate::tally::Tally;

/// State that all users of a load share.
#[derive(Debug)]
pub(crate) struct LoadState {
    pub(crate) script: Arc<Script>,
    /// The draws of values, by their slots.
    pub(crate) draws: Vec<Draw>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// A user.
#[derive(Debug)]
pub(crate) struct FileUser {
    shared: Arc<LoadState>,
    /// The values of all slots.
    values: Vec<Value>,
    /// The columns of a row that are kept, before they go into their slots.
    kept: Vec<Value>,
}

impl Terminal for FileUser {
    type Shared = LoadState;

    fn new(shared: &Arc<LoadState>, _: UserId) -> Self {
        let values = vec![Value::Null; shared.script.slots];
        FileUser { shared: Arc::clone(shared), kept: values.clone(), values }
    }

    fn access(&self, op: OpId) -> Access {
        self.shared.script.transactions[op.index()].access
    }

    fn failed(&self, op: OpId, outcome: Outcome, why: String) -> Outcome {
        Reasons::note(&self.shared.reasons, op, &Failure { outcome, why, seen: &[] });
        outcome
    }

    fn gaps(&self) -> Option<&CommitGaps> {
        Some(&self.shared.tally.gaps)
    }

    /// Transactions follow by their weights only.
    fn choose(&mut self, _: &mut OpContext) -> usize {
        0
    }
}

impl<S: Session> Transacts<S> for FileUser {
    async fn act(&mut self, session: &mut S, op: OpId, context: &mut OpContext) -> Outcome {
        let shared = Arc::clone(&self.shared);
        let transaction = &shared.script.transactions[op.index()];
        if transaction.access == Access::Write {
            context.add(WRITES, 1);
        }
        self.draw(&transaction.drawn, context);
        let attempt = async |session: &mut S, context: &mut OpContext| {
            self.attempt(session, (op.index(), transaction), context).await
        };
        match with_retries(session, context, attempt).await {
            Ok(()) => {
                if transaction.access == Access::Write {
                    shared.tally.gaps.committed(context.watch()());
                }
                Outcome::Good
            }
            Err((outcome, why)) => self.failed(op, outcome, why),
        }
    }
}

impl FileUser {
    fn draw(&mut self, slots: &[usize], context: &mut OpContext) {
        for slot in slots {
            self.shared.draws[*slot].draw(1, &mut context.rng, &mut self.values[*slot]);
        }
    }

    /// Does a transaction once. From its commit to the answer it is in doubt.
    async fn attempt(
        &mut self,
        session: &mut impl Session,
        (at, transaction): (usize, &Transaction),
        context: &mut OpContext,
    ) -> Reply<()> {
        let shared = Arc::clone(&self.shared);
        let tally = &shared.tally;
        if !transaction.has_begin {
            tally.asked(at);
            let answer = self.statements(session, transaction, context).await;
            tally.answered(at, &answer);
            return answer;
        }
        session.begin(transaction.access, context).await?;
        self.statements(session, transaction, context).await?;
        tally.asked(at);
        let answer = session.commit().await;
        tally.answered(at, &answer);
        answer
    }

    async fn statements(
        &mut self,
        session: &mut impl Session,
        transaction: &Transaction,
        context: &mut OpContext,
    ) -> Reply<()> {
        let script = Arc::clone(&self.shared.script);
        for statement in &script.statements[transaction.statements.clone()] {
            for _ in 0..statement.times {
                self.draw(&statement.anew, context);
                self.execute(session, statement).await?;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, session: &mut impl Session, statement: &Statement) -> Reply<()> {
        let kept = &mut self.kept[..statement.kept.len()];
        let rows = session.execute(statement, &self.values, kept).await?;
        if statement.rows.as_ref().is_some_and(|right| !right.contains(&rows))
            || (rows == 0 && !kept.is_empty())
        {
            let what = format!("right number of rows, of which there are {rows}: {}", statement.sqlite.sql);
            return Err(TransactionError::missing(&what));
        }
        for (slot, kept) in statement.kept.iter().zip(kept) {
            std::mem::swap(&mut self.values[*slot], kept);
        }
        Ok(())
    }
}
