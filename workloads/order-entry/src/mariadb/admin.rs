//! Statements outside of the load, and threads with an event loop for them.

use barograph_mysql::{Client, Connection, Fault, Target};
use barograph_reactor::block_on;

use super::MariadbError;

/// Does work on a thread of its own, which stays behind if the future is dropped.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, MariadbError> + Send + 'static,
) -> Result<T, MariadbError> {
    let (send, done) = tokio::sync::oneshot::channel();
    let spawned = std::thread::Builder::new().name("mariadb".to_owned()).spawn(move || {
        // Without a receiver the result is not wanted any more.
        let _ = send.send(work());
    });
    spawned.map_err(MariadbError::Loop)?;
    done.await.unwrap_or(Err(MariadbError::Thread))
}

/// Does work in a session. `what` is attempted on the database `name`.
pub(super) fn in_session<T>(
    target: &Target,
    (what, name): (&'static str, &str),
    work: impl AsyncFnOnce(&mut Connection) -> Result<T, Fault>,
) -> Result<T, MariadbError> {
    let worked = block_on(async {
        let mut session = Client::new(target).connect(0).await?;
        work(&mut session).await
    });
    worked.map_err(MariadbError::Loop)?.map_err(MariadbError::of(what, name))
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
    format!("`{}`", name.replace('`', "``"))
}

/// A text as SQL has it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
