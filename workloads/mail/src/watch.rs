//! The second connection of a user: it holds IDLE and sees own mail arrive.

use std::collections::HashSet;

use barograph_imap::{Client, Fault, Session};

use crate::message::{self, FIELD, MailId};
use crate::prepared::PreparedLoad;

/// Ids that are kept while no operation asks for them; older deliveries were given up.
const KEPT: usize = 256;

/// A session that holds IDLE on INBOX.
pub(crate) struct Watch {
    session: Session,
    /// Messages that have arrived, as of the last look.
    arrived: u64,
    /// The UID from which the next look begins.
    next_uid: u32,
    /// Mail of this user that was seen.
    seen: HashSet<MailId>,
}

impl Watch {
    /// Opens the session and begins IDLE.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn open(load: &PreparedLoad, client: &Client, user: u32) -> Result<Self, Fault> {
        let account = load.account(user);
        let mut session = client.connect_as(user, &account, &load.plan.password).await?;
        session.select("INBOX").await?;
        let (arrived, next_uid) = (session.mailbox().arrived(), session.mailbox().next_uid);
        session.begin_idle().await?;
        Ok(Watch { session, arrived, next_uid, seen: HashSet::new() })
    }

    /// Waits until a mail of this user is visible.
    ///
    /// # Errors
    /// [`Fault`].
    pub(crate) async fn wait_for(&mut self, id: MailId) -> Result<(), Fault> {
        while !self.seen.remove(&id) {
            self.session.wait_for_more(self.arrived).await?;
            self.session.end_idle().await?;
            self.look().await?;
            self.session.begin_idle().await?;
        }
        Ok(())
    }

    /// Reads the ids of mail that has arrived.
    async fn look(&mut self) -> Result<(), Fault> {
        let (mut next, mut seen) = (self.next_uid, std::mem::take(&mut self.seen));
        let (set, items) = (format!("{next}:*"), format!("BODY.PEEK[HEADER.FIELDS ({FIELD})]"));
        self.arrived = self.session.mailbox().arrived();
        self.session
            .fetch(&set, &items, |fetched| {
                // The last message is in the set even if it is older.
                let Some(uid) = fetched.uid().filter(|uid| *uid >= next) else { return };
                next = uid + 1;
                seen.extend(fetched.body().and_then(message::id).filter(|_| seen.len() < KEPT));
            })
            .await?;
        (self.next_uid, self.seen) = (next, seen);
        Ok(())
    }
}
