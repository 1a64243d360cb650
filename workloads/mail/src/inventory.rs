//! Reading of whole mailboxes: the mail that they have, before and after a load.

use std::rc::Rc;
use std::sync::Arc;

use barograph_imap::{Client, Fault, Session};
use barograph_model::words::in_one_line;
use futures::future::try_join_all;

use crate::background::Progress;
use crate::greetings::{self, ACCOUNTS};
use crate::message::{self, FIELD, Judged, MailId};
use crate::prepared::PreparedLoad;

/// Mailboxes that are worked on at once.
const AT_ONCE: u32 = 16;

/// The extent of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The ids only.
    Ids,
    /// Contents, compared with their hashes.
    Contents,
}

/// The mail of one mailbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mailbox {
    pub(crate) account: u32,
    /// Ids, as often as they occur.
    pub(crate) ids: Vec<MailId>,
    /// Ids of mail whose content is not what was sent.
    pub(crate) altered: Vec<MailId>,
    /// Mail that is not of this workload.
    pub(crate) foreign: u64,
}

/// Does `work` with each of these accounts, several at once.
///
/// # Errors
/// The first error.
pub(crate) async fn each<T, F: Future<Output = Result<T, String>>>(
    accounts: &[u32],
    work: impl Fn(u32) -> F,
) -> Result<Vec<T>, String> {
    let lanes = (0..AT_ONCE as usize).map(|lane| {
        let work = &work;
        async move {
            let mut done = Vec::new();
            for account in accounts.iter().skip(lane).step_by(AT_ONCE as usize) {
                done.push(work(*account).await?);
            }
            Ok::<_, String>(done)
        }
    });
    Ok(try_join_all(lanes).await?.into_iter().flatten().collect())
}

/// Opens a session of an account.
///
/// # Errors
/// The fault in words.
pub(crate) async fn open(load: &PreparedLoad, client: &Client, account: u32) -> Result<Session, String> {
    let user = load.account(account);
    let session = client.connect_as(account, &user, &load.plan.password).await;
    session.map_err(|why| format!("open the mailbox of {user}: {}", greetings::words(&why, ACCOUNTS)))
}

/// Reads the mailboxes of accounts.
///
/// # Errors
/// The fault in words.
pub(crate) async fn read(
    load: Arc<PreparedLoad>,
    accounts: Vec<u32>,
    (extent, progress): (Extent, Arc<Progress>),
) -> Result<Vec<Mailbox>, String> {
    let client = Rc::new(load.reader()?);
    each(&accounts, |account| {
        let (load, client, progress) = (Arc::clone(&load), Rc::clone(&client), Arc::clone(&progress));
        async move {
            let mut session = open(&load, &client, account).await?;
            let mailbox = mailbox(&mut session, account, extent).await;
            progress.step();
            mailbox.map_err(|why| {
                format!("read the mailbox of {}: {}", load.account(account), in_one_line(&why))
            })
        }
    })
    .await
}

/// The names of all folders.
///
/// # Errors
/// [`Fault`].
pub(crate) async fn folders(session: &mut Session) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    session.list(|name| names.push(String::from_utf8_lossy(name).into_owned())).await?;
    Ok(names)
}

async fn mailbox(session: &mut Session, account: u32, extent: Extent) -> Result<Mailbox, Fault> {
    let mut mailbox = Mailbox { account, ..Mailbox::default() };
    let items = match extent {
        Extent::Ids => format!("BODY.PEEK[HEADER.FIELDS ({FIELD})]"),
        Extent::Contents => "BODY.PEEK[]".to_owned(),
    };
    for folder in folders(session).await? {
        session.select(&folder).await?;
        if session.mailbox().exists == 0 {
            continue;
        }
        let each = |fetched: &barograph_imap::Fetched<'_>| {
            let Some(bytes) = fetched.body() else { return };
            let judged = match extent {
                Extent::Contents => message::judge(bytes),
                Extent::Ids => message::id(bytes).map_or(Judged::Foreign, Judged::Right),
            };
            match judged {
                Judged::Right(id) => mailbox.ids.push(id),
                Judged::Altered(id) => {
                    mailbox.ids.push(id);
                    mailbox.altered.push(id);
                }
                Judged::Foreign => mailbox.foreign += 1,
            }
        };
        session.fetch_by_sequence("1:*", &items, each).await?;
    }
    Ok(mailbox)
}
