//! The check after a load: all mailboxes are read and compared with the ledger.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use barograph_model::words::count;
use barograph_workload::VerifyResult;

use crate::background;
use crate::inventory::{self, Extent, Mailbox};
use crate::ledger::Copy;
use crate::message::MailId;
use crate::prepared::PreparedLoad;

/// Pause between two readings of a mailbox in which mail is missing: a server may deliver after it has answered.
const PAUSE: Duration = Duration::from_secs(1);

/// Copies that are named in a finding.
const NAMED: usize = 3;

/// Differences between mailboxes and ledger.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    pub(crate) lost: Vec<Copy>,
    pub(crate) doubled: Vec<Copy>,
    pub(crate) altered: Vec<Copy>,
}

/// Reads all mailboxes and compares them with the ledger.
///
/// # Errors
/// The fault in words: the check could not be done.
pub(crate) async fn verify(load: Arc<PreparedLoad>) -> Result<VerifyResult, String> {
    let mut found: HashMap<u32, Mailbox> = HashMap::new();
    let mut accounts: Vec<u32> = (0..load.plan.mailboxes).collect();
    let mut differences = Differences::default();
    for reading in 0..=load.plan.delivery_s {
        if reading > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let reading = Arc::clone(&load);
        let read = background::run(
            |_| {},
            move |progress| inventory::read(reading, accounts, (Extent::Contents, progress)),
        )
        .await?;
        found.extend(read.into_iter().map(|mailbox| (mailbox.account, mailbox)));
        differences = compare(&load.ledger.lock().expected(), &found);
        let missing: BTreeSet<u32> = differences.lost.iter().map(|(account, _)| *account).collect();
        accounts = missing.into_iter().collect();
        if accounts.is_empty() {
            break;
        }
    }
    Ok(result(&differences, &found, load.plan.may_double))
}

/// Compares mailboxes with the copies that they may have.
pub(crate) fn compare(expected: &HashMap<Copy, (i64, i64)>, found: &HashMap<u32, Mailbox>) -> Differences {
    let mut counts: HashMap<Copy, i64> = HashMap::new();
    let mut differences = Differences::default();
    for mailbox in found.values() {
        let copy = |id: &MailId| (mailbox.account, *id);
        mailbox.ids.iter().for_each(|id| *counts.entry(copy(id)).or_default() += 1);
        differences.altered.extend(mailbox.altered.iter().map(copy));
    }
    for (copy, (least, _)) in expected {
        if counts.get(copy).copied().unwrap_or(0) < *least {
            differences.lost.push(*copy);
        }
    }
    for (copy, count) in &counts {
        if *count > expected.get(copy).map_or(0, |(_, most)| *most) {
            differences.doubled.push(*copy);
        }
    }
    for copies in [&mut differences.lost, &mut differences.doubled, &mut differences.altered] {
        copies.sort_unstable();
    }
    differences
}

fn result(differences: &Differences, found: &HashMap<u32, Mailbox>, may_double: bool) -> VerifyResult {
    let Differences { lost, doubled, altered } = differences;
    let named = [(lost, "lost"), (doubled, "there more often than delivered"), (altered, "altered")];
    let named = named.into_iter().filter(|(copies, _)| !copies.is_empty());
    let mut findings: Vec<String> = named.map(|(copies, what)| finding(copies, what)).collect();
    let ok = lost.is_empty() && altered.is_empty() && (may_double || doubled.is_empty());
    if ok {
        let mail: usize = found.values().map(|mailbox| mailbox.ids.len()).sum();
        let none = if doubled.is_empty() { "none lost, doubled or altered" } else { "none lost or altered" };
        let (mail, mailboxes) = (count(mail as u64), count(found.len() as u64));
        findings.insert(0, format!("{mail} mails in {mailboxes} mailboxes: {none}"));
    }
    VerifyResult { ok, findings }
}

fn finding(copies: &[Copy], what: &str) -> String {
    let named: Vec<String> = copies
        .iter()
        .take(NAMED)
        .map(|(account, MailId(id))| format!("{id:016x} of mailbox {account}"))
        .collect();
    let several = if copies.len() == 1 { "mail is" } else { "mails are" };
    format!("{} {several} {what}, as {}", count(copies.len() as u64), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_found_and_named() {
        let id = |number| MailId::sent(1, 2, number);
        let expected = HashMap::from([
            ((0, id(0)), (1, 1)),
            ((0, id(1)), (0, 1)),
            ((0, id(2)), (1, 1)),
            ((0, id(3)), (0, 0)),
            ((0, id(4)), (1, 1)),
        ]);
        let ids = vec![id(0), id(0), id(3), id(4), id(5)];
        let mailbox = Mailbox { account: 0, ids, altered: vec![id(4)], foreign: 7 };
        let found = HashMap::from([(0, mailbox)]);
        let differences = compare(&expected, &found);
        assert_eq!(differences.lost, [(0, id(2))], "one in doubt may be missing");
        assert_eq!(differences.doubled, [(0, id(0)), (0, id(3)), (0, id(5))]);
        assert_eq!(differences.altered, [(0, id(4))]);
        for may_double in [false, true] {
            let result = result(&differences, &found, may_double);
            assert!(!result.ok);
            assert_eq!(result.findings[0], "1 mail is lost, as 0000010000200002 of mailbox 0");
            assert!(result.findings[1].starts_with("3 mails are there more often than delivered"));
        }
    }

    #[test]
    fn doubled_mail_alone_is_a_fault_or_counted() {
        let id = MailId::sent(1, 2, 0);
        let mailbox = Mailbox { account: 0, ids: vec![id, id], ..Mailbox::default() };
        let found = HashMap::from([(0, mailbox)]);
        let differences = compare(&HashMap::from([((0, id), (1, 1))]), &found);
        let doubled = "1 mail is there more often than delivered, as 0000010000200000 of mailbox 0";
        let refused = result(&differences, &found, false);
        assert_eq!((refused.ok, refused.findings), (false, vec![doubled.to_owned()]));
        let counted = result(&differences, &found, true);
        assert_eq!((counted.ok, counted.findings.len()), (true, 2));
        assert_eq!(counted.findings, ["2 mails in 1 mailboxes: none lost or altered", doubled]);
    }
}
