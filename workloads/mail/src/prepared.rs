//! A load prepared for its server; shared by all workers.

use std::sync::{Arc, Mutex, OnceLock};

use barograph_data::{Numbers, Popularity, Stream, Streams};
use barograph_imap::Client;
use barograph_lines::Target;
use barograph_workload::Reasons;

use crate::address::MailAddress;
use crate::ledger::Ledger;
use crate::message::{self, Correspondents, MailId};
use crate::plan::MailPlan;
use crate::vocabulary::Vocabulary;

/// The folders of a mailbox beside INBOX. Sent is the last.
pub(crate) const FOLDERS: [&str; 11] = [
    "Archive", "Bills", "Family", "Friends", "Lists", "News", "Orders", "Projects", "Team", "Travel", "Sent",
];

/// The folder for sent mail.
pub(crate) const SENT: &str = "Sent";

/// A load prepared for its server.
pub(crate) struct PreparedLoad {
    pub(crate) plan: MailPlan,
    pub(crate) address: MailAddress,
    pub(crate) submission: Target,
    /// `None` for a load that submits mail and reads none.
    pub(crate) mailboxes: Option<Target>,
    /// Made when it is first needed: a check needs none.
    vocabulary: Arc<OnceLock<Vocabulary>>,
    seed: u64,
    pub(crate) streams: Streams,
    /// Tells the mail of this load from that of others at the same server.
    pub(crate) run: u32,
    /// How often each folder is filed into.
    pub(crate) folders: Numbers,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

/// State that outlives one preparation of a load.
#[derive(Clone)]
pub(crate) struct LoadState {
    pub(crate) vocabulary: Arc<OnceLock<Vocabulary>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl PreparedLoad {
    pub(crate) fn new(
        (plan, seed, run): (MailPlan, u64, u32),
        address: MailAddress,
        (submission, mailboxes): (Target, Option<Target>),
        state: LoadState,
    ) -> Self {
        PreparedLoad {
            plan,
            address,
            submission,
            mailboxes,
            vocabulary: state.vocabulary,
            seed,
            streams: Streams::new(seed),
            run,
            folders: Numbers::new(FOLDERS.len() as u64, Popularity::Zipf { exponent: 1.0 }),
            ledger: state.ledger,
            reasons: state.reasons,
        }
    }

    /// The words of mail.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        self.vocabulary.get_or_init(|| Vocabulary::new(self.seed))
    }

    /// A client for the mailboxes, of the calling thread.
    ///
    /// # Errors
    /// If the load has no address for them.
    pub(crate) fn reader(&self) -> Result<Client, String> {
        let target = self.mailboxes.as_ref();
        target.map(Client::new).ok_or_else(|| "there is no address for IMAP".to_owned())
    }

    /// The address of an account.
    pub(crate) fn account(&self, number: u32) -> String {
        self.plan.user.replace("{n}", &number.to_string())
    }

    /// Writes a mail, of the usual sizes where the plan has none.
    pub(crate) fn compose(
        &self,
        id: MailId,
        correspondents: &Correspondents<'_>,
        rng: &mut Stream,
        out: &mut Vec<u8>,
    ) {
        let bytes = self.plan.bytes.unwrap_or_else(|| message::size(rng, self.plan.size));
        message::write(id, correspondents, (self.vocabulary(), rng, bytes), out);
    }
}
