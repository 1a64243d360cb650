//! Filling of mailboxes through their address, before the load.

use std::rc::Rc;
use std::sync::Arc;

use barograph_imap::{Fault, Session};
use barograph_model::words::in_one_line;
use barograph_record::{Count, Fill};
use barograph_workload::{FillProgress, OnProgress};

use crate::background::{self, Progress};
use crate::inventory::{self, Extent};
use crate::message::{Correspondents, MailId};
use crate::prepared::{FOLDERS, PreparedLoad};

/// Fills the mailboxes, in parallel, and enters what they have into the ledger. A mailbox that is filled in
/// part is continued, one that is filled stays as it is.
///
/// # Errors
/// The fault in words.
pub(crate) async fn fill(load: Arc<PreparedLoad>, progress: OnProgress) -> Result<Fill, String> {
    let (mailboxes, messages) = (load.plan.mailboxes, load.plan.messages);
    let total = u64::from(mailboxes) * u64::from(messages);
    let show = |stage: &'static str, total| {
        let progress = Arc::clone(&progress);
        move |done| progress(FillProgress { stage: stage.to_owned(), done, total })
    };
    let accounts: Vec<u32> = (0..mailboxes).collect();
    let filling = Arc::clone(&load);
    background::run(show("fill", total), move |state| fill_all(filling, state)).await?;
    let reading = Arc::clone(&load);
    let found = background::run(show("read", mailboxes.into()), move |state| {
        inventory::read(reading, accounts, (Extent::Ids, state))
    })
    .await?;
    let mut ledger = load.ledger.lock();
    let mut mail = 0;
    for mailbox in found {
        mail += mailbox.ids.len() as u64;
        for id in mailbox.ids {
            *ledger.before.entry((mailbox.account, id)).or_default() += 1;
        }
    }
    let rows = vec![Count::new("mailboxes", mailboxes.into()), Count::new("mail", mail)];
    Ok(Fill { rows, ..Fill::default() })
}

async fn fill_all(load: Arc<PreparedLoad>, progress: Arc<Progress>) -> Result<(), String> {
    let client = Rc::new(load.reader()?);
    let accounts: Vec<u32> = (0..load.plan.mailboxes).collect();
    inventory::each(&accounts, |account| {
        let (load, client, progress) = (Arc::clone(&load), Rc::clone(&client), Arc::clone(&progress));
        async move {
            let mut session = inventory::open(&load, &client, account).await?;
            let filled = mailbox(&load, &mut session, (account, &progress)).await;
            filled.map_err(|why| {
                format!("fill the mailbox of {}: {}", load.account(account), in_one_line(&why))
            })
        }
    })
    .await
    .map(drop)
}

/// The name of the empty folder that is made when a mailbox is filled. It has no dots: in a Maildir they separate
/// folders.
fn mark(load: &PreparedLoad) -> String {
    match load.plan.bytes {
        Some(bytes) => format!("Filled {} of {bytes}", load.plan.messages),
        None => format!("Filled {} {:.0}", load.plan.messages, load.plan.size * 1e3),
    }
}

async fn mailbox(
    load: &PreparedLoad,
    session: &mut Session,
    (account, progress): (u32, &Progress),
) -> Result<(), Fault> {
    let (known, mark) = (inventory::folders(session).await?, mark(load));
    if known.contains(&mark) {
        (0..load.plan.messages).for_each(|_| progress.step());
        return Ok(());
    }
    for folder in FOLDERS.iter().filter(|folder| !known.iter().any(|name| name == *folder)) {
        session.create(folder).await?;
    }
    let own = load.account(account);
    let (mut number, mut mail) = (0, Vec::new());
    for (folder, count) in shares(load.plan.messages) {
        let there = session.count(folder).await?;
        for at in 0..count {
            if at >= there {
                let from = load.account(account.wrapping_add(number) % load.plan.mailboxes);
                let to = [own.clone()];
                let id = MailId::filled(account, number);
                let mut rng = load.streams.stream("filled mail", id.0);
                load.compose(id, &Correspondents { from: &from, to: &to }, &mut rng, &mut mail);
                session.append(folder, "\\Seen", &mail).await?;
            }
            number += 1;
            progress.step();
        }
    }
    session.create(&mark).await
}

/// The number of messages of each folder, by Zipf's law; INBOX has the most.
fn shares(messages: u32) -> Vec<(&'static str, u32)> {
    let names = || ["INBOX"].into_iter().chain(FOLDERS);
    let all: f64 = (1..=names().count()).map(|rank| 1.0 / rank as f64).sum();
    let mut left = messages;
    let mut shares: Vec<(&str, u32)> = names()
        .zip(1..)
        .map(|(name, rank)| {
            let share = (f64::from(messages) / f64::from(rank) / all) as u32;
            left -= share.min(left);
            (name, share)
        })
        .collect();
    // INBOX has what is left by rounding.
    shares[0].1 += left;
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_all_messages_between_them() {
        for messages in [0, 1, 13, 100, 2_000] {
            let shares = shares(messages);
            assert_eq!(shares.iter().map(|(_, count)| count).sum::<u32>(), messages);
            assert!(shares.iter().all(|(_, count)| *count <= shares[0].1));
            assert_eq!((shares.len(), shares[0].0, shares[11].0), (12, "INBOX", "Sent"));
        }
        assert_eq!(shares(2_000)[..2], [("INBOX", 650), ("Archive", 322)]);
    }
}
