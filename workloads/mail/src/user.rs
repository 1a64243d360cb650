//! A user with its mailbox.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use barograph_data::Position;
use barograph_engine::{OpContext, User, UserFactory};
use barograph_imap::{Fault, Fetched, Session};
use barograph_model::words::in_one_line;
use barograph_model::{BehaviourId, OpId, Outcome, UserId};
use barograph_smtp::Envelope;
use barograph_workload::{Failure, Reasons};
use futures::lock::Mutex;
use rand::RngExt as _;

use crate::ledger::Change;
use crate::measures::{FETCHED, IDLED, SENT, TAKEN, VISIBLE};
use crate::message::{self, Correspondents, FIELD, Judged, MailId};
use crate::operation::Operation;
use crate::prepared::{self, FOLDERS, PreparedLoad};
use crate::watch::Watch;

/// The activities that wait for own mail and that open the second connection.
const DELIVERY: BehaviourId = BehaviourId(1);
const WATCH: BehaviourId = BehaviourId(2);

/// Headers that are read when a mailbox is opened.
const NEWEST: u32 = 50;

/// Messages of INBOX that a user knows; older ones are forgotten.
const KNOWN: usize = 200;

/// Bytes of a fetched part.
const PART_BYTES: u32 = 64 * 1024;

/// Header fields and flags of a message in a list of mail.
const HEADERS: &str = "FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS";

/// A message of INBOX.
#[derive(Clone, Copy)]
struct Known {
    uid: u32,
    /// `None` for mail of others.
    id: Option<MailId>,
    size: u64,
}

/// The mailbox of a user.
#[derive(Default)]
struct State {
    /// `None` before the first operation, and after a failure.
    session: Option<Session>,
    inbox: VecDeque<Known>,
    /// The UID after the newest known one.
    next_uid: u32,
    /// Buffer for mail.
    mail: Vec<u8>,
}

/// Makes the users of one worker.
pub(crate) struct MailUsers {
    load: Arc<PreparedLoad>,
    imap: Option<Rc<barograph_imap::Client>>,
    smtp: Rc<barograph_smtp::Client>,
}

impl MailUsers {
    pub(crate) fn new(load: &Arc<PreparedLoad>) -> Self {
        MailUsers {
            imap: load.mailboxes.as_ref().map(|target| Rc::new(barograph_imap::Client::new(target))),
            smtp: Rc::new(barograph_smtp::Client::new(&load.submission, load.address.dialect)),
            load: Arc::clone(load),
        }
    }
}

impl UserFactory for MailUsers {
    type User = MailUser;

    fn user(&self, id: UserId) -> MailUser {
        MailUser {
            load: Arc::clone(&self.load),
            imap: self.imap.clone(),
            smtp: Rc::clone(&self.smtp),
            number: id.0,
            sent: Cell::new(0),
            submission: Cell::new(None),
            state: Mutex::default(),
            watch: Mutex::default(),
            is_watching: Cell::new(false),
        }
    }
}

/// A user.
pub(crate) struct MailUser {
    load: Arc<PreparedLoad>,
    /// `None` for a load that submits mail and reads none.
    imap: Option<Rc<barograph_imap::Client>>,
    smtp: Rc<barograph_smtp::Client>,
    /// Its number, which is that of its mailbox, too.
    number: u32,
    /// Mail that it has sent or appended.
    sent: Cell<u32>,
    /// The session of its last submission, if sessions are kept.
    submission: Cell<Option<barograph_smtp::Session>>,
    state: Mutex<State>,
    watch: Mutex<Option<Watch>>,
    is_watching: Cell<bool>,
}

/// A failed operation: its outcome and its reason.
type Failed = (Outcome, String);

impl User for MailUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let operation = Operation::ALL[op.index()];
        context.sent();
        let done = match operation {
            Operation::Submit => self.submit(context).await,
            Operation::Delivery => self.delivery(context).await,
            Operation::Watch => self.open_watch(context).await,
            _ => self.in_mailbox(operation, context).await,
        };
        match done {
            Ok(()) => Outcome::Good,
            Err((outcome, why)) => {
                Reasons::note(&self.load.reasons, op, &Failure { outcome, why, seen: &[] });
                outcome
            }
        }
    }
}

impl MailUser {
    /// Does an operation on the mailbox. A session that fails, or whose operation is dropped, is closed; the
    /// next operation opens another.
    async fn in_mailbox(&self, operation: Operation, context: &mut OpContext) -> Result<(), Failed> {
        let state = &mut *self.state.try_lock().ok_or_else(busy)?;
        let kept = state.session.take().filter(|_| operation != Operation::Open);
        let mut session = match kept {
            Some(session) => session,
            None => self.open(state).await.map_err(|fault| failed(&fault))?,
        };
        let done = match operation {
            Operation::Open => Ok(()),
            Operation::Headers => self.headers(&mut session, state).await,
            Operation::Folders => self.folders(&mut session, context).await,
            Operation::Search => self.search(&mut session, context).await,
            Operation::Append => return self.append(session, state, context).await,
            _ => match pick(state, context) {
                Some(at) => return self.on_message(operation, session, (state, at), context).await,
                None => {
                    context.add(IDLED, 1);
                    session.noop().await
                }
            },
        };
        if operation == Operation::Open && self.watches() && !self.is_watching.replace(true) {
            context.start(WATCH, 0);
        }
        keep(session, state, done)
    }

    /// Opens a session, selects INBOX and reads the newest headers.
    async fn open(&self, state: &mut State) -> Result<Session, Fault> {
        let account = self.load.account(self.number);
        let client = self.reader()?;
        let mut session = client.connect_as(self.number, &account, &self.load.plan.password).await?;
        session.select("INBOX").await?;
        let (exists, next_uid) = (session.mailbox().exists, session.mailbox().next_uid);
        state.inbox.clear();
        state.next_uid = 1;
        if exists > 0 {
            let first = exists.saturating_sub(NEWEST - 1).max(1);
            let items = headers();
            session.fetch_by_sequence(&format!("{first}:*"), &items, |fetched| state.learn(fetched)).await?;
        }
        state.next_uid = state.next_uid.max(next_uid);
        Ok(session)
    }

    /// Fetches the headers of mail that has arrived.
    async fn headers(&self, session: &mut Session, state: &mut State) -> Result<(), Fault> {
        let set = format!("{}:*", state.next_uid);
        session.fetch(&set, &headers(), |fetched| state.learn(fetched)).await
    }

    async fn folders(&self, session: &mut Session, context: &mut OpContext) -> Result<(), Fault> {
        session.list(|_| {}).await?;
        session.count(self.folder(context)).await.map(drop)
    }

    async fn search(&self, session: &mut Session, context: &mut OpContext) -> Result<(), Fault> {
        let criteria = match context.rng.random_range(0..3) {
            0 => {
                let from = self.load.account(self.colleague(context));
                format!("FROM \"{from}\"")
            }
            1 => format!("SUBJECT \"{}\"", self.load.vocabulary().word(&mut context.rng)),
            _ => format!("BODY \"{}\"", self.load.vocabulary().word(&mut context.rng)),
        };
        session.search(&criteria, |_| {}).await
    }

    /// Appends a mail to the folder for sent mail.
    async fn append(
        &self,
        mut session: Session,
        state: &mut State,
        context: &mut OpContext,
    ) -> Result<(), Failed> {
        let (id, own) = (self.next_id(), self.load.account(self.number));
        let to = [self.load.account(self.colleague(context))];
        let between = Correspondents { from: &own, to: &to };
        self.load.compose(id, &between, &mut context.rng, &mut state.mail);
        let ledger = &self.load.ledger;
        ledger.note((self.number, id), Change::Sent);
        let done = session.append(prepared::SENT, "\\Seen", &state.mail).await;
        match &done {
            Ok(()) => {
                ledger.note((self.number, id), Change::Taken);
                context.add(SENT, state.mail.len() as u64);
            }
            Err(fault) if !fault.is_in_doubt() => ledger.note((self.number, id), Change::Refused),
            Err(_) => {}
        }
        trim(&mut state.mail);
        keep(session, state, done)
    }

    /// Does an operation on a message.
    async fn on_message(
        &self,
        operation: Operation,
        mut session: Session,
        (state, at): (&mut State, usize),
        context: &mut OpContext,
    ) -> Result<(), Failed> {
        let message = state.inbox[at];
        let uid = message.uid.to_string();
        let done = match operation {
            Operation::Mark => {
                let flag = if context.rng.random_bool(0.8) { "\\Seen" } else { "\\Answered" };
                session.store(&uid, &format!("+FLAGS.SILENT ({flag})")).await
            }
            Operation::Move => {
                let moved = session.relocate(&uid, self.folder(context)).await;
                state.inbox.remove(at);
                moved
            }
            Operation::Delete => {
                state.inbox.remove(at);
                self.delete(&mut session, message).await
            }
            Operation::Part => {
                let last = message.size.saturating_sub(u64::from(PART_BYTES)) as u32;
                let from = context.rng.random_range(0..=last);
                let item = format!("BODY.PEEK[]<{from}.{PART_BYTES}>");
                let mut bytes = 0;
                let done = session.fetch(&uid, &item, |fetched| bytes += length(fetched)).await;
                context.add(FETCHED, bytes);
                done
            }
            _ => return self.body(session, (state, message), context).await,
        };
        keep(session, state, done)
    }

    /// Fetches a mail and checks its content.
    async fn body(
        &self,
        mut session: Session,
        (state, message): (&mut State, Known),
        context: &mut OpContext,
    ) -> Result<(), Failed> {
        let (mut bytes, mut judged) = (0, None);
        let uid = message.uid.to_string();
        let each = |fetched: &Fetched<'_>| {
            bytes += length(fetched);
            judged = judged.or_else(|| fetched.body().map(message::judge));
        };
        let done = session.fetch(&uid, "BODY.PEEK[]", each).await;
        context.add(FETCHED, bytes);
        keep(session, state, done)?;
        let as_known = |id: MailId| message.id.is_none_or(|known| known == id);
        match judged {
            Some(Judged::Right(id)) if as_known(id) => Ok(()),
            Some(Judged::Foreign) if message.id.is_none() => Ok(()),
            Some(_) => Err((Outcome::WrongAnswer, "a mail is not as it was sent".to_owned())),
            None => Err((Outcome::WrongAnswer, "a mail in INBOX was not returned".to_owned())),
        }
    }

    async fn delete(&self, session: &mut Session, Known { uid, id, .. }: Known) -> Result<(), Fault> {
        let uid = uid.to_string();
        session.store(&uid, "+FLAGS.SILENT (\\Deleted)").await?;
        let note = |change| {
            if let Some(id) = id {
                self.load.ledger.note((self.number, id), change);
            }
        };
        note(Change::Removing);
        let done = session.expunge(&uid).await;
        match &done {
            Ok(()) => note(Change::Removed),
            Err(fault) if !fault.is_in_doubt() => note(Change::Kept),
            Err(_) => {}
        }
        done
    }

    /// The client for its mailbox.
    fn reader(&self) -> Result<&barograph_imap::Client, Fault> {
        self.imap.as_deref().ok_or(Fault::Lacks("an address for IMAP"))
    }

    /// The session of the last submission, if it was kept and can be used, or a new one.
    async fn submission(&self) -> Result<barograph_smtp::Session, Failed> {
        if let Some(mut kept) = self.submission.take()
            && kept.is_usable()
        {
            return Ok(kept);
        }
        let connected = self.smtp.connect(self.number).await;
        connected.map_err(|fault| (fault.outcome(), in_one_line(&fault)))
    }

    /// Notes a change of a mail for each of these accounts, where mail is compared after the load.
    fn note(&self, accounts: &[u32], id: MailId, change: Change) {
        if self.imap.is_some() {
            accounts.iter().for_each(|account| self.load.ledger.note((*account, id), change));
        }
    }

    /// Sends a mail over a connection of its own, as mail clients do, or the one that is kept. A user who watches is among the
    /// recipients.
    async fn submit(&self, context: &mut OpContext) -> Result<(), Failed> {
        let (id, own) = (self.next_id(), self.load.account(self.number));
        let mut accounts = Vec::with_capacity(self.load.plan.recipients as usize);
        if self.watches() {
            accounts.push(self.number);
        }
        while accounts.len() < self.load.plan.recipients as usize {
            let other = self.colleague(context);
            if !accounts.contains(&other) {
                accounts.push(other);
            }
        }
        let to: Vec<String> = accounts.iter().map(|account| self.load.account(*account)).collect();
        let mut mail = Vec::new();
        self.load.compose(id, &Correspondents { from: &own, to: &to }, &mut context.rng, &mut mail);
        let mut session = self.submission().await?;
        self.note(&accounts, id, Change::Sent);
        let done = session.submit(&Envelope { from: &own, to: &to }, &mail).await;
        let receipt = match done {
            Ok(receipt) => receipt,
            Err(fault) => {
                if !fault.is_in_doubt() {
                    self.note(&accounts, id, Change::Refused);
                }
                return Err((fault.outcome(), in_one_line(&fault)));
            }
        };
        for (account, is_taken) in accounts.iter().zip(&receipt.taken) {
            self.note(&[*account], id, if *is_taken { Change::Taken } else { Change::Refused });
        }
        let taken = receipt.taken.iter().filter(|is_taken| **is_taken).count();
        context.add(TAKEN, taken as u64);
        context.add(SENT, mail.len() as u64);
        if self.watches() && receipt.taken.first() == Some(&true) {
            context.start(DELIVERY, id.0 as u32 & 0xf_ffff);
        }
        match self.load.plan.keeps_session {
            true => self.submission.set(Some(session)),
            // The mail is taken: a server that leaves without a farewell changes nothing.
            false => drop(session.quit().await),
        }
        match receipt.refusal {
            None => Ok(()),
            Some(why) => Err((Outcome::Refused, format!("a recipient is refused: {why}"))),
        }
    }

    /// Waits until a mail that this user has sent to itself is visible.
    async fn delivery(&self, context: &mut OpContext) -> Result<(), Failed> {
        context.end();
        let id = MailId::sent(self.load.run, self.number, context.argument);
        let mut kept = self.watch.lock().await;
        let Some(mut watch) = kept.take() else {
            // Without a watch from before, the mail may have arrived unseen.
            *kept = Some(self.watch().await?);
            return Err((Outcome::Broken, "the connection that holds IDLE was lost".to_owned()));
        };
        watch.wait_for(id).await.map_err(|fault| failed(&fault))?;
        *kept = Some(watch);
        context.add(VISIBLE, 1);
        Ok(())
    }

    async fn open_watch(&self, context: &mut OpContext) -> Result<(), Failed> {
        context.end();
        let mut kept = self.watch.lock().await;
        *kept = Some(self.watch().await?);
        Ok(())
    }

    /// Opens the second connection.
    async fn watch(&self) -> Result<Watch, Failed> {
        let client = self.reader().map_err(|fault| failed(&fault))?;
        Watch::open(&self.load, client, self.number).await.map_err(|fault| failed(&fault))
    }

    /// Whether this user holds IDLE.
    fn watches(&self) -> bool {
        f64::from(self.number % 10) < self.load.plan.idle * 10.0
    }

    fn next_id(&self) -> MailId {
        let number = self.sent.get();
        self.sent.set(number + 1);
        MailId::sent(self.load.run, self.number, number)
    }

    /// Any account.
    fn colleague(&self, context: &mut OpContext) -> u32 {
        context.rng.random_range(0..self.load.plan.mailboxes)
    }

    fn folder(&self, context: &mut OpContext) -> &'static str {
        FOLDERS[self.load.folders.draw(&mut context.rng, &mut Position::default()) as usize]
    }
}

impl State {
    /// Notes a message whose headers were fetched.
    fn learn(&mut self, fetched: &Fetched<'_>) {
        // The last message is in every set of new ones, even if it is older.
        let Some(uid) = fetched.uid().filter(|uid| *uid >= self.next_uid) else { return };
        let size = fetched.find("RFC822.SIZE").and_then(|size| size.number()).unwrap_or(0);
        self.inbox.push_back(Known { uid, id: fetched.body().and_then(message::id), size });
        if self.inbox.len() > KNOWN {
            self.inbox.pop_front();
        }
        self.next_uid = uid + 1;
    }
}

/// A message of INBOX, most often a new one.
fn pick(state: &State, context: &mut OpContext) -> Option<usize> {
    let count = state.inbox.len();
    if count == 0 {
        return None;
    }
    let age = context.rng.random_range(0..count).min(context.rng.random_range(0..count));
    Some(count - 1 - age)
}

/// Keeps a session that can be used again.
fn keep(session: Session, state: &mut State, done: Result<(), Fault>) -> Result<(), Failed> {
    match done {
        Ok(()) => {
            state.session = Some(session);
            Ok(())
        }
        Err(fault) => {
            if matches!(fault, Fault::Refused(_)) {
                state.session = Some(session);
            }
            Err(failed(&fault))
        }
    }
}

fn headers() -> String {
    format!("(UID {HEADERS} ({FIELD} FROM SUBJECT DATE)])")
}

fn length(fetched: &Fetched<'_>) -> u64 {
    fetched.body().map_or(0, |body| body.len() as u64)
}

/// Frees the buffer of a large mail: thousands of users have one.
fn trim(mail: &mut Vec<u8>) {
    mail.clear();
    mail.shrink_to(0);
}

fn failed(fault: &Fault) -> Failed {
    (fault.outcome(), in_one_line(fault))
}

fn busy() -> Failed {
    (Outcome::DriverFault, "a user has one operation on its mailbox at a time".to_owned())
}
