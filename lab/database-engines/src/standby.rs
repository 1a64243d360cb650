//! The standby of a server: how it follows, and its data after a load.

use barograph_database::Findings;

use crate::databases::{Databases, Queries};
use crate::parts::Standby;
use crate::product::Product;
use crate::{DatabaseWorkload, ServerError};

/// Tries until a standby has everything, each with a wait of 0.1 s at the standby.
const TRIES: u32 = 100;

/// The state of replication at the first server.
const STATE: &str = "SELECT state, sync_state FROM pg_stat_replication";

/// A commit that flushes the log: with durability off the last commits may not be in it.
const FLUSH: &str = "SET synchronous_commit = local; SELECT pg_logical_emit_message(true, 'barograph', '')";

/// The end of the log at the first server.
const END: &str = "SELECT pg_current_wal_flush_lsn()";

/// How a standby follows, in the words of the server: `streaming sync`.
pub(crate) fn state<P: Product>(databases: &Databases<P>) -> Result<String, ServerError> {
    let row = databases.row(P::MAINTENANCE, ("ask", databases.name()), STATE)?;
    Ok(row.map_or_else(|| "not connected".to_owned(), |row| row.join(" ")))
}

/// Why a standby does not follow as asked; `None` if it does.
pub(crate) fn fault(state: &str, asked: Standby) -> Option<String> {
    let right = match asked {
        Standby::Synchronous => "streaming sync",
        Standby::Asynchronous => "streaming async",
    };
    (state != right).then(|| format!("the standby is {state}, where {right} is asked for"))
}

/// Holds the standby at an address against the plan, and its data against the counts of the load, as those of the
/// first server.
///
/// # Errors
/// A server that does not answer or refuses.
pub(crate) fn check<W: DatabaseWorkload, P: Product>(
    first: &Databases<P>,
    (url, asked): (&str, Standby),
    (contents, tally): (&W::Contents, &W::Tally),
) -> Result<Findings, ServerError> {
    let mut findings = Findings::default();
    if let Some(fault) = fault(&state(first)?, asked) {
        findings.violations.push(fault);
        return Ok(findings);
    }
    let standby = Databases::<P>::at(url)?;
    if !has_all(first, &standby)? {
        let limit = f64::from(TRIES) / 10.0;
        findings.violations.push(format!("the standby has not caught up {limit} s after the load"));
        return Ok(findings);
    }
    let name = standby.run_name(contents);
    let checked = W::check(&mut Queries(&standby, name), contents, tally)?;
    findings.violations.extend(checked.violations.iter().map(|what| format!("at the standby: {what}")));
    Ok(findings)
}

/// Whether the standby gets everything that the first server has now.
fn has_all<P: Product>(first: &Databases<P>, standby: &Databases<P>) -> Result<bool, ServerError> {
    first.run(P::MAINTENANCE, ("ask", first.name()), FLUSH)?;
    let end = first.row(P::MAINTENANCE, ("ask", first.name()), END)?.unwrap_or_default().concat();
    let replayed = format!("pg_last_wal_replay_lsn() >= {}::pg_lsn", P::literal(&end));
    let question = format!("SELECT {replayed}, CASE WHEN {replayed} THEN NULL ELSE pg_sleep(0.1) END");
    for _ in 0..TRIES {
        let row = standby.row(P::MAINTENANCE, ("ask", standby.name()), &question)?.unwrap_or_default();
        if row.first().is_some_and(|is_there| is_there == "t") {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standby_follows_as_it_was_asked() {
        for (state, asked, is_right) in [
            ("streaming sync", Standby::Synchronous, true),
            ("streaming async", Standby::Asynchronous, true),
            ("streaming async", Standby::Synchronous, false),
            ("catchup sync", Standby::Synchronous, false),
            ("not connected", Standby::Asynchronous, false),
        ] {
            assert_eq!(fault(state, asked).is_none(), is_right, "{state} {asked:?}");
        }
        assert_eq!(
            fault("not connected", Standby::Synchronous).unwrap(),
            "the standby is not connected, where streaming sync is asked for"
        );
    }
}
