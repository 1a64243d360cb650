//! The check after the load: everything that the site has acknowledged is there.

use std::collections::HashMap;
use std::time::Duration;

use barograph_http::ResolvedTarget;
use barograph_model::words::count;
use barograph_social::{Added, Counts, FileKind, FillOrder};
use barograph_workload::VerifyResult;

use crate::ask::ask;
use crate::ledger::{Accounts, Acknowledged, hash};

/// Time limit of an answer: all rows are counted.
pub(crate) const WAIT: Duration = Duration::from_secs(120);

/// Numbers that are named in a finding.
const NAMED: usize = 3;

/// Asks for the numbers of all rows.
///
/// # Errors
/// The fault in words.
pub(crate) async fn counts(target: &ResolvedTarget) -> Result<Counts, String> {
    let answer = ask(target, ("/data/counts".to_owned(), None), WAIT).await?;
    serde_json::from_slice(&answer).map_err(|why| why.to_string())
}

/// Compares the site with the account. `before` has the numbers of rows before the load.
///
/// # Errors
/// The fault in words: the check could not be done.
pub(crate) async fn verify(
    target: &ResolvedTarget,
    order: &FillOrder,
    (before, accounts): (&Counts, &Accounts),
) -> Result<VerifyResult, String> {
    let after = counts(target).await?;
    let mut findings = after.defects.clone();
    findings.extend(compared(before, &after, accounts));
    let size = order.size();
    let people = added(target, ("people", size.people)).await?;
    findings.extend(missing("person", (&accounts.people, &people), &sizes(&FileKind::OF_PERSON, order)));
    let events = added(target, ("events", size.events)).await?;
    findings.extend(missing("event", (&accounts.events, &events), &sizes(&FileKind::OF_EVENT, order)));
    if !findings.is_empty() {
        return Ok(VerifyResult { ok: false, findings });
    }
    let found = format!(
        "{} new people and {} new events with their files, and {} new attendees: all there",
        count(accounts.people.len() as u64),
        count(accounts.events.len() as u64),
        count(accounts.attended as u64)
    );
    Ok(VerifyResult { ok: true, findings: vec![found] })
}

fn sizes(kinds: &[FileKind], order: &FillOrder) -> Vec<i64> {
    kinds.iter().map(|kind| kind.bytes(order.file_scale) as i64).collect()
}

/// Tables whose rows are not as many as before and added. What was sent without an answer may be there.
fn compared(before: &Counts, after: &Counts, accounts: &Accounts) -> Vec<String> {
    let Accounts { people_sent, events_sent, attended_sent, attended, people, events } = accounts;
    let tables = [
        ("people", before.people, after.people, (people.len() as i64, *people_sent)),
        ("events", before.events, after.events, (events.len() as i64, *events_sent)),
        ("attendees", before.attendees, after.attendees, (*attended, *attended_sent)),
        ("comments", before.comments, after.comments, (0, 0)),
        ("friends", before.friends, after.friends, (0, 0)),
    ];
    tables
        .into_iter()
        .filter(|(_, before, after, (least, most))| !(before + least..=before + most).contains(after))
        .map(|(table, before, after, (least, most))| {
            format!("{after} {table}, where {before} and from {least} to {most} new ones belong")
        })
        .collect()
}

/// Everything added after the fill, by number.
async fn added(target: &ResolvedTarget, (what, filled): (&str, u64)) -> Result<HashMap<i64, Added>, String> {
    let (mut all, mut after) = (HashMap::new(), filled as i64);
    loop {
        let answer = ask(target, (format!("/data/{what}?after={after}"), None), WAIT).await?;
        let part: Vec<Added> = serde_json::from_slice(&answer).map_err(|why| why.to_string())?;
        let Some(last) = part.last() else { return Ok(all) };
        after = last.id;
        all.extend(part.into_iter().map(|added| (added.id, added)));
    }
}

/// The finding of acknowledged rows that are missing, or have another name or other files.
fn missing(
    what: &str,
    (acknowledged, found): (&[Acknowledged], &HashMap<i64, Added>),
    sizes: &[i64],
) -> Option<String> {
    let is_there = |one: &&Acknowledged| {
        found.get(&one.id).is_some_and(|added| hash(&added.name) == one.hash && added.files == sizes)
    };
    let lost: Vec<String> =
        acknowledged.iter().filter(|one| !is_there(one)).map(|one| one.id.to_string()).collect();
    (!lost.is_empty()).then(|| {
        let named = lost[..lost.len().min(NAMED)].join(", ");
        format!("{what} acknowledged and not there as sent: {} of them, as number {named}", lost.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let before = Counts { people: 100, events: 75, attendees: 10, ..Counts::default() };
        let accounts = Accounts {
            people_sent: 2,
            people: vec![Acknowledged { id: 101, hash: hash("a") }],
            attended_sent: 3,
            attended: 3,
            ..Accounts::default()
        };
        let after = Counts { people: 102, attendees: 12, ..before.clone() };
        assert_eq!(
            compared(&before, &after, &accounts),
            ["12 attendees, where 10 and from 3 to 3 new ones belong"]
        );
        let row = |name: &str, bytes| Added { id: 101, name: name.to_owned(), files: vec![bytes] };
        let judged = |row: Added| missing("person", (&accounts.people, &HashMap::from([(101, row)])), &[5]);
        assert_eq!(judged(row("a", 5)), None);
        let expected = "person acknowledged and not there as sent: 1 of them, as number 101";
        assert_eq!(judged(row("b", 5)).as_deref(), Some(expected));
        assert_eq!(judged(row("a", -1)).as_deref(), Some(expected));
        assert_eq!(missing("person", (&accounts.people, &HashMap::new()), &[5]).as_deref(), Some(expected));
    }
}
