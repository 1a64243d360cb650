//! Statements outside of the load, and threads with an event loop for them.

use barograph_postgres::{Client, Connection, Fault, Target};
use barograph_reactor::block_on;

use super::PostgresError;

/// Does work on a thread of its own, which stays behind if the future is dropped.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PostgresError> + Send + 'static,
) -> Result<T, PostgresError> {
    let (send, done) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("postgres".to_owned()).spawn(move || {
        // Without a receiver the result is not wanted any more.
        let _ = send.send(work());
    });
    spawned.map_err(PostgresError::Loop)?;
    done.await.unwrap_or(Err(PostgresError::Thread))
}

/// Does work in a session. `what` is what is attempted.
pub(super) fn in_session<T>(
    target: &Target,
    what: &'static str,
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Fault>,
) -> Result<T, PostgresError> {
    let name = &target.address().database;
    let worked = block_on(async {
        let mut session = Client::new(target).connect(0).await?;
        work(&mut session).await
    });
    worked.map_err(PostgresError::Loop)?.map_err(PostgresError::of(what, name))
}

/// Runs SQL to its end.
pub(super) async fn run(session: &mut Connection, sql: &str) -> Result<u64, Fault> {
    session.query(sql)?.finish().await
}

/// The first row of a query; null is an empty text.
pub(super) async fn row(session: &mut Connection, sql: &str) -> Result<Option<Vec<String>>, Fault> {
    let mut replies = session.query(sql)?;
    let row = replies.row().await?;
    let texts = row.map(|row| {
        let texts = (0..row.len()).map(|at| row.bytes(at).unwrap_or_default());
        texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    });
    replies.finish().await?;
    Ok(texts)
}

/// Whether a query has a row.
pub(super) async fn has_row(session: &mut Connection, sql: &str) -> Result<bool, Fault> {
    Ok(row(session, sql).await?.is_some())
}

/// A name as SQL has it.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL has it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
