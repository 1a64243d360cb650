//! A session of a server: commands and their answers.

use barograph_lines::{Link, foreign};

use crate::Fault;
use crate::data::{Condition, Data, Fetched, Response, Status, response};
use crate::flaw::Flaw;
use crate::frame::frame;
use crate::mailbox::{Mailbox, code};
use crate::quoted;

/// Abilities of a server that change how commands are sent.
#[derive(Clone, Copy, Debug, Default)]
struct Abilities {
    /// Literals need no permission (LITERAL+).
    literals: bool,
    /// MOVE.
    moves: bool,
    /// UID EXPUNGE (UIDPLUS).
    uid_plus: bool,
    /// IDLE.
    idle: bool,
    /// The server has told its abilities.
    known: bool,
}

/// State of IDLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    No,
    /// Sent, and not yet confirmed.
    Asked,
    /// Confirmed.
    Confirmed,
}

/// A session. A call that is dropped, or fails by anything but a refusal, leaves it unusable; a wait in IDLE
/// may be dropped.
pub struct Session {
    link: Link,
    /// Number of the last command.
    tag: u32,
    abilities: Abilities,
    mailbox: Mailbox,
    idle: Idle,
    /// The text of the server's farewell.
    bye: Option<String>,
}

impl Session {
    pub(crate) fn new(link: Link) -> Self {
        let (abilities, mailbox) = (Abilities::default(), Mailbox::default());
        Session { link, tag: 0, abilities, mailbox, idle: Idle::No, bye: None }
    }

    /// The selected mailbox.
    #[must_use]
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    pub(crate) fn has_input(&self) -> bool {
        self.link.has_input()
    }

    pub(crate) fn into_link(self) -> Link {
        self.link
    }

    /// Reads the first response of a connection.
    pub(crate) async fn greeting(&mut self) -> Result<(), Fault> {
        self.link.begin()?;
        let place = self.link.message(frame).await?;
        let greeting = self.link.bytes(&place);
        if let Some(fault) = foreign(greeting, "IMAP") {
            return Err(fault);
        }
        match response(greeting).map_err(Fault::Flawed)? {
            Response::Untagged(Data::Condition(Condition::Ok | Condition::Preauth, _)) => {}
            Response::Untagged(Data::Condition(Condition::Bye, text)) => {
                return Err(Fault::Refused(words(text)));
            }
            _ => return Err(Fault::Flawed(Flaw::Begin)),
        }
        self.link.end();
        Ok(())
    }

    pub(crate) async fn start_tls(&mut self) -> Result<(), Fault> {
        self.simple("STARTTLS").await
    }

    /// Logs in, and asks for the abilities of the server.
    pub(crate) async fn log_in(&mut self, user: &str, password: &str) -> Result<(), Fault> {
        let out = self.begin("LOGIN ")?;
        quoted::write(user, out)?;
        out.push(b' ');
        quoted::write(password, out)?;
        self.finish(|_| {}).await?;
        if !self.abilities.known {
            self.simple("CAPABILITY").await?;
        }
        Ok(())
    }

    /// Selects a mailbox.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn select(&mut self, mailbox: &str) -> Result<(), Fault> {
        self.named("SELECT ", mailbox)?;
        self.mailbox = Mailbox { selecting: true, ..Mailbox::default() };
        let selected = self.finish(|_| {}).await;
        self.mailbox.selecting = false;
        selected
    }

    /// Makes a mailbox.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn create(&mut self, mailbox: &str) -> Result<(), Fault> {
        self.named("CREATE ", mailbox)?;
        self.finish(|_| {}).await
    }

    /// Lists all mailboxes: `each` gets their names.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn list(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), Fault> {
        self.begin("LIST \"\" \"*\"")?;
        self.finish(|data| {
            if let Data::List(name) = data {
                each(name);
            }
        })
        .await
    }

    /// Asks for the number of messages of a mailbox that need not be selected.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn count(&mut self, mailbox: &str) -> Result<u32, Fault> {
        let out = self.named("STATUS ", mailbox)?;
        out.extend_from_slice(b" (MESSAGES)");
        let mut count = None;
        self.finish(|data| {
            if let Data::Status(_, mut items) = *data {
                count = items.nth(1).and_then(|value| value.number());
            }
        })
        .await?;
        let count = count.and_then(|count| u32::try_from(count).ok());
        count.ok_or(Fault::Flawed(Flaw::Number))
    }

    /// Fetches attributes of messages by UID: `items` as in `(FLAGS BODY.PEEK[])`. Data that come unasked are
    /// passed, too; they have no UID.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn fetch(
        &mut self,
        uids: &str,
        items: &str,
        mut each: impl FnMut(&Fetched<'_>),
    ) -> Result<(), Fault> {
        self.words("UID FETCH ", &[uids, " ", items])?;
        self.finish(|data| {
            if let Data::Fetch(fetched) = data {
                each(fetched);
            }
        })
        .await
    }

    /// Fetches attributes of messages by sequence number.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn fetch_by_sequence(
        &mut self,
        sequence: &str,
        items: &str,
        mut each: impl FnMut(&Fetched<'_>),
    ) -> Result<(), Fault> {
        self.words("FETCH ", &[sequence, " ", items])?;
        self.finish(|data| {
            if let Data::Fetch(fetched) = data {
                each(fetched);
            }
        })
        .await
    }

    /// Changes flags of messages by UID: `change` as in `+FLAGS.SILENT (\Seen)`.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn store(&mut self, uids: &str, change: &str) -> Result<(), Fault> {
        self.words("UID STORE ", &[uids, " ", change])?;
        self.finish(|_| {}).await
    }

    /// Copies messages to another mailbox by UID.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn copy(&mut self, uids: &str, mailbox: &str) -> Result<(), Fault> {
        self.with_target("UID COPY ", uids, mailbox).await
    }

    /// Moves messages to another mailbox by UID.
    ///
    /// # Errors
    /// [`Fault::Lacks`] if the server has no MOVE.
    pub async fn relocate(&mut self, uids: &str, mailbox: &str) -> Result<(), Fault> {
        if !self.abilities.moves {
            return Err(Fault::Lacks("MOVE"));
        }
        self.with_target("UID MOVE ", uids, mailbox).await
    }

    /// Removes messages with the flag `\Deleted`: those of `uids`, or all of them if the server has no
    /// UIDPLUS.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn expunge(&mut self, uids: &str) -> Result<(), Fault> {
        match self.abilities.uid_plus {
            true => self.words("UID EXPUNGE ", &[uids])?,
            false => self.words("EXPUNGE", &[])?,
        }
        self.finish(|_| {}).await
    }

    /// Adds a message to a mailbox.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn append(&mut self, mailbox: &str, flags: &str, message: &[u8]) -> Result<(), Fault> {
        let (literals, flags) = (self.abilities.literals, quoted::check(flags)?);
        let out = self.named("APPEND ", mailbox)?;
        out.extend_from_slice(b" (");
        out.extend_from_slice(flags);
        out.extend_from_slice(b") {");
        out.extend_from_slice(message.len().to_string().as_bytes());
        out.extend_from_slice(if literals { b"+}\r\n" } else { b"}\r\n" });
        if !literals {
            self.link.send().await?;
            self.permission().await?;
        }
        self.link.out().extend_from_slice(message);
        self.finish(|_| {}).await
    }

    /// Searches the mailbox: `each` gets the UIDs of messages that match, as in `SUBJECT "word"`.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn search(&mut self, criteria: &str, mut each: impl FnMut(u32)) -> Result<(), Fault> {
        self.words("UID SEARCH ", &[criteria])?;
        self.finish(|data| {
            if let Data::Search(numbers) = *data {
                numbers.for_each(&mut each);
            }
        })
        .await
    }

    /// Asks for news of the mailbox.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn noop(&mut self) -> Result<(), Fault> {
        self.simple("NOOP").await
    }

    /// Ends the session.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn log_out(mut self) -> Result<(), Fault> {
        match self.simple("LOGOUT").await {
            // The farewell is expected here.
            Err(Fault::Ended(_)) => Ok(()),
            other => other,
        }
    }

    /// Begins IDLE, and does not wait for its confirmation.
    ///
    /// # Errors
    /// [`Fault::Lacks`] if the server has no IDLE.
    pub async fn begin_idle(&mut self) -> Result<(), Fault> {
        if !self.abilities.idle {
            return Err(Fault::Lacks("IDLE"));
        }
        self.begin("IDLE\r\n")?;
        self.link.send().await?;
        self.idle = Idle::Asked;
        Ok(())
    }

    /// Waits in IDLE until more than `arrived` messages have arrived, as counted by [`Mailbox::arrived`]. May be
    /// dropped.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn wait_for_more(&mut self, arrived: u64) -> Result<(), Fault> {
        while self.mailbox.arrived() <= arrived {
            self.idle_response().await?;
        }
        Ok(())
    }

    /// Ends IDLE.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn end_idle(&mut self) -> Result<(), Fault> {
        while self.idle == Idle::Asked {
            self.idle_response().await?;
        }
        if self.idle == Idle::No {
            return Err(Fault::Unusable);
        }
        self.idle = Idle::No;
        self.link.out().extend_from_slice(b"DONE");
        self.finish(|_| {}).await
    }

    async fn idle_response(&mut self) -> Result<(), Fault> {
        let place = self.link.message(frame).await?;
        match response(self.link.bytes(&place)).map_err(Fault::Flawed)? {
            Response::Continue if self.idle == Idle::Asked => self.idle = Idle::Confirmed,
            Response::Continue => return Err(Fault::Flawed(Flaw::Continuation)),
            Response::Untagged(data) => {
                note(&mut self.mailbox, &mut self.abilities, &mut self.bye, &data).map_err(Fault::Flawed)?;
                return self.bye.take().map_or(Ok(()), |why| Err(Fault::Ended(why)));
            }
            Response::End { status: Status::Ok, .. } => return Err(Fault::Flawed(Flaw::Tag)),
            Response::End { text, .. } => return Err(Fault::Refused(words(text))),
        }
        Ok(())
    }

    async fn simple(&mut self, command: &str) -> Result<(), Fault> {
        self.begin(command)?;
        self.finish(|_| {}).await
    }

    async fn with_target(&mut self, command: &str, uids: &str, mailbox: &str) -> Result<(), Fault> {
        let uids = quoted::check(uids)?;
        let out = self.begin(command)?;
        out.extend_from_slice(uids);
        out.push(b' ');
        quoted::write(mailbox, out)?;
        self.finish(|_| {}).await
    }

    /// Begins a command with checked words.
    fn words(&mut self, command: &str, words: &[&str]) -> Result<(), Fault> {
        words.iter().try_for_each(|word| quoted::check(word).map(drop))?;
        let out = self.begin(command)?;
        words.iter().for_each(|word| out.extend_from_slice(word.as_bytes()));
        Ok(())
    }

    /// Begins a command with the name of a mailbox.
    fn named(&mut self, command: &str, mailbox: &str) -> Result<&mut Vec<u8>, Fault> {
        quoted::check(mailbox)?;
        let out = self.begin(command)?;
        quoted::write(mailbox, out)?;
        Ok(out)
    }

    /// Begins a command: its tag and its name.
    fn begin(&mut self, command: &str) -> Result<&mut Vec<u8>, Fault> {
        let tag = self.tag.wrapping_add(1);
        let out = self.link.begin()?;
        self.tag = tag;
        write_tag(tag, out);
        out.push(b' ');
        out.extend_from_slice(command.as_bytes());
        Ok(out)
    }

    /// Sends a command and reads to its end. `each` gets the untagged data.
    async fn finish(&mut self, mut each: impl FnMut(&Data<'_>)) -> Result<(), Fault> {
        self.link.out().extend_from_slice(b"\r\n");
        self.link.send().await?;
        loop {
            match self.next(&mut each).await? {
                None => {}
                Some(Ok(())) => return Ok(()),
                Some(Err(why)) => return Err(Fault::Refused(why)),
            }
        }
    }

    /// Waits for the permission to send a literal.
    async fn permission(&mut self) -> Result<(), Fault> {
        loop {
            let place = self.link.message(frame).await?;
            match response(self.link.bytes(&place)).map_err(Fault::Flawed)? {
                Response::Continue => return Ok(()),
                Response::Untagged(data) => {
                    note(&mut self.mailbox, &mut self.abilities, &mut self.bye, &data)
                        .map_err(Fault::Flawed)?;
                }
                Response::End { text, .. } => {
                    let why = words(text);
                    self.link.end();
                    return Err(Fault::Refused(why));
                }
            }
        }
    }

    /// Reads a response; `Some` at the end of the command.
    async fn next(&mut self, each: &mut impl FnMut(&Data<'_>)) -> Result<Option<Result<(), String>>, Fault> {
        let place = match self.link.message(frame).await {
            Err(Fault::Broken(why)) => return Err(self.bye.take().map_or(Fault::Broken(why), Fault::Ended)),
            other => other?,
        };
        match response(self.link.bytes(&place)).map_err(Fault::Flawed)? {
            Response::Continue => Err(Fault::Flawed(Flaw::Continuation)),
            Response::Untagged(data) => {
                note(&mut self.mailbox, &mut self.abilities, &mut self.bye, &data).map_err(Fault::Flawed)?;
                each(&data);
                Ok(None)
            }
            Response::End { tag, status, text } => {
                if tag_number(tag) != Some(self.tag) {
                    return Err(Fault::Flawed(Flaw::Tag));
                }
                if let Some(names) = code(text, "CAPABILITY") {
                    self.abilities.take(names);
                }
                let end = if status == Status::Ok { Ok(()) } else { Err(words(text)) };
                self.link.end();
                Ok(Some(end))
            }
        }
    }
}

/// Takes untagged data, which may come at any time.
fn note(
    mailbox: &mut Mailbox,
    abilities: &mut Abilities,
    bye: &mut Option<String>,
    data: &Data<'_>,
) -> Result<(), Flaw> {
    match data {
        Data::Capability(names) => abilities.take(names),
        Data::Condition(Condition::Bye, text) => *bye = Some(words(text)),
        data => mailbox.take(data)?,
    }
    Ok(())
}

impl Abilities {
    fn take(&mut self, names: &[u8]) {
        let has =
            |name: &str| names.split(|byte| *byte == b' ').any(|n| n.eq_ignore_ascii_case(name.as_bytes()));
        *self = Abilities {
            literals: has("LITERAL+"),
            moves: has("MOVE"),
            uid_plus: has("UIDPLUS"),
            idle: has("IDLE"),
            known: true,
        };
    }
}

fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Appends the tag of a command, as in `a17`.
fn write_tag(tag: u32, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut left) = ([0; 10], 10, tag);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.push(b'a');
    out.extend_from_slice(&digits[at..]);
}

fn tag_number(tag: &[u8]) -> Option<u32> {
    crate::value::number32(tag.strip_prefix(b"a")?).ok()
}
