//! The data checks on a database: queries of a blocking caller, answered by a session on a thread.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use barograph_database::Database;
use barograph_postgres::{Client, ColumnError, Connection, Fault, Reply, Target};
use barograph_reactor::block_on;

use super::PostgresError;

/// Numbers of a message.
const NUMBERS: usize = 16 * 1024;

/// Messages that wait to be read.
const WAITING: usize = 4;

/// A database that can be queried.
pub(super) struct Queries {
    ask: SyncSender<String>,
    answers: Receiver<Answer>,
}

/// A piece of an answer.
enum Answer {
    /// Rows with this number of columns.
    Rows(usize, Vec<i64>),
    End(Result<(), PostgresError>),
}

impl Queries {
    /// Begins a session.
    pub(super) fn open(target: &Target) -> Result<Self, PostgresError> {
        let (ask, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(WAITING);
        let target = target.clone();
        let spawned = std::thread::Builder::new().name("checks".to_owned()).spawn(move || {
            // Without a receiver the answer is not wanted any more.
            let _ = answer.send(Answer::End(serve(&target, &asked, &answer)));
        });
        spawned.map_err(PostgresError::Loop)?;
        Ok(Queries { ask, answers })
    }
}

impl Database for Queries {
    type Error = PostgresError;

    fn rows(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> Result<(), PostgresError> {
        // If the session has ended, its last answer says why.
        let _ = self.ask.send(sql.to_owned());
        loop {
            match self.answers.recv() {
                Ok(Answer::Rows(columns, numbers)) => numbers.chunks(columns).for_each(&mut *take),
                Ok(Answer::End(end)) => return end,
                Err(_) => return Err(PostgresError::Thread),
            }
        }
    }
}

/// Answers queries until none comes. An error ends it.
fn serve(
    target: &Target,
    asked: &Receiver<String>,
    answer: &SyncSender<Answer>,
) -> Result<(), PostgresError> {
    let serving = block_on(async {
        let mut session = Client::new(target).connect(0).await?;
        while let Ok(sql) = asked.recv() {
            one(&mut session, &sql, answer).await?;
            if answer.send(Answer::End(Ok(()))).is_err() {
                break;
            }
        }
        Ok(())
    });
    let name = &target.address().database;
    serving.map_err(PostgresError::Loop)?.map_err(PostgresError::of("check", name))
}

async fn one(session: &mut Connection, sql: &str, answer: &SyncSender<Answer>) -> Result<(), Fault> {
    let mut replies = session.query(sql)?;
    let (mut columns, mut numbers) = (1, Vec::new());
    loop {
        match replies.next().await? {
            None => break,
            Some(Reply::Done(_)) => {}
            Some(Reply::Row(row)) => {
                columns = row.len();
                for column in 0..columns {
                    // The sum of no rows is null.
                    let text = row.get_optional::<&str>(column)?.unwrap_or("0");
                    let wrong = |_| ColumnError::Value { column, wanted: "whole number" };
                    numbers.push(text.parse().map_err(wrong)?);
                }
            }
        }
        if numbers.len() >= NUMBERS {
            // As above.
            let _ = answer.send(Answer::Rows(columns, std::mem::take(&mut numbers)));
        }
    }
    let _ = answer.send(Answer::Rows(columns, numbers));
    Ok(())
}
