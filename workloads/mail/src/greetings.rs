//! The first answers of a server, before the load: a wrong address or password is found before anything is sent.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use barograph_lines::{Address, Fault};
use barograph_model::words::in_one_line;

use crate::background;
use crate::prepared::PreparedLoad;

/// Time limit of the greeting and the login at one address.
const LIMIT: Duration = Duration::from_secs(10);

/// Correction of a login that is refused.
pub(crate) const ACCOUNTS: &str =
    "make the account, or correct mail.user or mail.password (--user, --password)";

/// Asks at the addresses of a load for their greetings, and logs in as the first account.
///
/// # Errors
/// The fault in words, with its address.
pub(crate) async fn check(load: &Arc<PreparedLoad>) -> Result<(), String> {
    let asked = Arc::clone(load);
    let greeted = background::run(|_| {}, move |_| async move { submission(&asked).await });
    in_time(load.submission.address(), greeted).await?;
    let Some(mailboxes) = &load.mailboxes else { return Ok(()) };
    let asked = Arc::clone(load);
    let greeted = background::run(|_| {}, move |_| async move { mailbox(&asked).await });
    in_time(mailboxes.address(), greeted).await
}

async fn in_time(address: &Address, greeted: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let silent = || format!("the server said nothing for {} s; correct the address", LIMIT.as_secs());
    let end = tokio::time::timeout(LIMIT, greeted).await.unwrap_or_else(|_| Err(silent()));
    end.map_err(|why| format!("{address}: {why}"))
}

/// As [`check`], for callers without a runtime. Blocks.
///
/// # Errors
/// The fault in words, with its address.
pub(crate) fn check_blocking(load: &Arc<PreparedLoad>) -> Result<(), String> {
    let on_runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.map_err(|why| format!("start a runtime: {why}"))?.block_on(check(load))
    };
    // A thread of a runtime may not block on another.
    std::thread::scope(|scope| scope.spawn(on_runtime).join().expect("it does not panic"))
}

/// As [`check`], without a time limit.
///
/// # Errors
/// The fault in words.
pub(crate) async fn ask(load: &PreparedLoad) -> Result<(), String> {
    submission(load).await?;
    if load.mailboxes.is_some() { mailbox(load).await } else { Ok(()) }
}

async fn submission(load: &PreparedLoad) -> Result<(), String> {
    let client = barograph_smtp::Client::new(&load.submission, load.address.dialect);
    let has_login = load.submission.address().login.is_some();
    let advice = if has_login { "correct USER:PASSWORD@ of the address" } else { "correct the address" };
    let session = client.connect(0).await.map_err(|why| words(&why, advice))?;
    // A server that leaves without a farewell serves as well.
    drop(session.quit().await);
    Ok(())
}

async fn mailbox(load: &PreparedLoad) -> Result<(), String> {
    let (account, password) = (load.account(0), &load.plan.password);
    let session = load.reader()?.connect_as(0, &account, password).await;
    let session = session.map_err(|why| format!("log in as {account}: {}", words(&why, ACCOUNTS)))?;
    drop(session.log_out().await);
    Ok(())
}

/// A fault with its correction; that of a refusal is given.
pub(crate) fn words<F: Error + 'static>(fault: &Fault<F>, refused: &str) -> String {
    match fault {
        Fault::Foreign { .. } => format!("{fault}; correct the address"),
        Fault::Refused(_) => format!("{fault}; {refused}"),
        _ => in_one_line(fault),
    }
}
