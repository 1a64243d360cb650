//! A session of a server.

use barograph_lines::{Link, foreign};

use crate::client::Dialect;
use crate::extensions::Extensions;
use crate::flaw::Flaw;
use crate::reply::{Reply, frame};
use crate::{Fault, body};

/// Sender and recipients of a mail.
#[derive(Clone, Copy, Debug)]
pub struct Envelope<'a, R> {
    /// Address of the sender.
    pub from: &'a str,
    /// Addresses of the recipients.
    pub to: &'a [R],
}

/// The result of a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// For each recipient in order, whether the server has taken the mail.
    pub taken: Vec<bool>,
    /// The first refusal of a recipient.
    pub refusal: Option<String>,
}

/// A session. A call that is dropped, or fails by anything but a refusal, leaves it unusable.
pub struct Session {
    link: Link,
    dialect: Dialect,
    extensions: Extensions,
}

impl Session {
    pub(crate) fn new(link: Link, dialect: Dialect) -> Self {
        Session { link, dialect, extensions: Extensions::default() }
    }

    /// The extensions of the server.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Whether a call may begin: the last one is complete, and the server has not closed.
    #[must_use]
    pub fn is_usable(&mut self) -> bool {
        self.link.is_quiet()
    }

    pub(crate) fn into_link(self) -> Link {
        self.link
    }

    /// Reads the first reply of a connection.
    pub(crate) async fn greeting(&mut self) -> Result<(), Fault> {
        self.link.begin()?;
        match self.expect("a connection", 220).await.map(drop) {
            Err(Fault::Flawed(flaw)) => {
                return Err(foreign(self.link.unread(), "SMTP").unwrap_or(Fault::Flawed(flaw)));
            }
            done => done?,
        }
        self.link.end();
        Ok(())
    }

    /// Sends EHLO or LHLO and reads the extensions.
    pub(crate) async fn hello(&mut self, name: &str) -> Result<(), Fault> {
        let verb = if self.dialect == Dialect::Lmtp { "LHLO" } else { "EHLO" };
        self.line(&[verb, " ", name])?;
        self.link.send().await?;
        let reply = self.expect("EHLO", 250).await?;
        self.extensions = Extensions::of(&reply);
        self.link.end();
        Ok(())
    }

    /// Sends STARTTLS. The handshake follows.
    pub(crate) async fn start_tls(&mut self) -> Result<(), Fault> {
        self.line(&["STARTTLS"])?;
        self.link.send().await?;
        self.expect("STARTTLS", 220).await?;
        if self.link.has_input() {
            return Err(Fault::Flawed(Flaw::Unprotected));
        }
        self.link.end();
        Ok(())
    }

    /// Sends the lines of a login, each after the server has asked for it.
    pub(crate) async fn authenticate(&mut self, lines: &[&str]) -> Result<(), Fault> {
        for (at, line) in lines.iter().enumerate() {
            self.line(&[line])?;
            self.link.send().await?;
            self.expect("AUTH", if at + 1 == lines.len() { 235 } else { 334 }).await?;
            self.link.end();
        }
        Ok(())
    }

    /// Sends NOOP.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn noop(&mut self) -> Result<(), Fault> {
        self.simple("NOOP").await
    }

    /// Forgets a mail that was begun.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn reset(&mut self) -> Result<(), Fault> {
        self.simple("RSET").await
    }

    /// Ends the session.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn quit(mut self) -> Result<(), Fault> {
        self.line(&["QUIT"])?;
        self.link.send().await?;
        self.expect("QUIT", 221).await.map(drop)
    }

    /// Sends a mail, whose lines end with CRLF, and waits until the server has taken it. Where the server
    /// offers it, the envelope is sent in one piece.
    ///
    /// # Errors
    /// [`Fault::Refused`] if the server takes the mail for no recipient, or refuses the sender or the mail.
    pub async fn submit<R: AsRef<str>>(
        &mut self,
        envelope: &Envelope<'_, R>,
        mail: &[u8],
    ) -> Result<Receipt, Fault> {
        self.begin_mail(envelope, mail.len())?;
        let mut receipt = Receipt::default();
        let refused = match self.extensions.pipelining {
            true => self.pipelined(envelope, mail, &mut receipt).await?,
            false => self.stepwise(envelope, mail, &mut receipt).await?,
        };
        self.link.end();
        match refused {
            None => Ok(receipt),
            Some(why) => {
                // A mail that was begun would refuse the next one.
                self.reset().await?;
                Err(Fault::Refused(why))
            }
        }
    }

    /// Writes MAIL. Nothing is sent yet.
    fn begin_mail<R: AsRef<str>>(&mut self, envelope: &Envelope<'_, R>, bytes: usize) -> Result<(), Fault> {
        let all = envelope.to.iter().map(AsRef::as_ref).chain([envelope.from]);
        if all.into_iter().any(|address| address.bytes().any(|b| b < b' ' || b == b'>')) {
            return Err(Fault::Argument);
        }
        let sizes = self.extensions.sizes;
        let out = self.begin()?;
        out.extend_from_slice(b"MAIL FROM:<");
        out.extend_from_slice(envelope.from.as_bytes());
        out.push(b'>');
        if sizes {
            out.extend_from_slice(b" SIZE=");
            out.extend_from_slice(bytes.to_string().as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn recipient(&mut self, to: &str) {
        let out = self.link.out();
        out.extend_from_slice(b"RCPT TO:<");
        out.extend_from_slice(to.as_bytes());
        out.extend_from_slice(b">\r\n");
    }

    /// Sends the envelope in one piece, with DATA where that begins the mail. Returns the refusal of the mail.
    ///
    /// BDAT waits for the replies to the envelope: a server that writes them apart from that to the mail would hold the second
    /// write back until the first is acknowledged, 40 ms later, since the client has nothing to send.
    async fn pipelined<R: AsRef<str>>(
        &mut self,
        envelope: &Envelope<'_, R>,
        mail: &[u8],
        receipt: &mut Receipt,
    ) -> Result<Option<String>, Fault> {
        let is_chunk = self.extensions.chunking;
        envelope.to.iter().for_each(|to| self.recipient(to.as_ref()));
        if !is_chunk {
            self.link.out().extend_from_slice(b"DATA\r\n");
        }
        self.link.send().await?;
        let sender = self.refusal("MAIL").await?;
        for _ in envelope.to {
            self.recipient_reply(receipt).await?;
        }
        let is_refused = sender.is_some() || !receipt.taken.contains(&true);
        if is_chunk && is_refused {
            return Ok(sender.or(receipt.refusal.take()));
        }
        if is_chunk {
            self.chunk(mail);
            self.link.send().await?;
            return self.taken("BDAT", receipt).await;
        }
        let data = self.reply("DATA").await?;
        if !data.is_intermediate() {
            let why = data.to_string();
            return Ok(sender.or(receipt.refusal.take()).or(Some(why)));
        }
        if is_refused {
            // The server waits for a mail that has no recipient: an empty one ends the wait.
            self.link.out().extend_from_slice(b".\r\n");
            self.link.send().await?;
            self.reply("an empty mail").await?;
            return Ok(sender.or(receipt.refusal.take()));
        }
        body::write(mail, self.link.out());
        self.link.send().await?;
        self.taken("a mail", receipt).await
    }

    /// Sends each command after the reply to the one before. Returns the refusal of the mail.
    async fn stepwise<R: AsRef<str>>(
        &mut self,
        envelope: &Envelope<'_, R>,
        mail: &[u8],
        receipt: &mut Receipt,
    ) -> Result<Option<String>, Fault> {
        self.link.send().await?;
        if let Some(why) = self.refusal("MAIL").await? {
            return Ok(Some(why));
        }
        for to in envelope.to {
            self.recipient(to.as_ref());
            self.link.send().await?;
            self.recipient_reply(receipt).await?;
        }
        if !receipt.taken.contains(&true) {
            return Ok(receipt.refusal.take());
        }
        self.link.out().extend_from_slice(b"DATA\r\n");
        self.link.send().await?;
        let data = self.reply("DATA").await?;
        if !data.is_intermediate() {
            return Ok(Some(data.to_string()));
        }
        body::write(mail, self.link.out());
        self.link.send().await?;
        self.taken("a mail", receipt).await
    }

    fn chunk(&mut self, mail: &[u8]) {
        let out = self.link.out();
        out.extend_from_slice(format!("BDAT {} LAST\r\n", mail.len()).as_bytes());
        out.extend_from_slice(mail);
    }

    /// Reads the replies to a whole mail: one, or one for each recipient in LMTP.
    async fn taken(&mut self, command: &'static str, receipt: &mut Receipt) -> Result<Option<String>, Fault> {
        if self.dialect == Dialect::Smtp {
            return self.refusal(command).await;
        }
        for at in 0..receipt.taken.len() {
            if receipt.taken[at]
                && let Some(why) = self.refusal(command).await?
            {
                receipt.taken[at] = false;
                receipt.refusal.get_or_insert(why);
            }
        }
        Ok(if receipt.taken.contains(&true) { None } else { receipt.refusal.take() })
    }

    async fn recipient_reply(&mut self, receipt: &mut Receipt) -> Result<(), Fault> {
        let refusal = self.refusal("RCPT").await?;
        receipt.taken.push(refusal.is_none());
        if let Some(why) = refusal {
            receipt.refusal.get_or_insert(why);
        }
        Ok(())
    }

    async fn simple(&mut self, verb: &'static str) -> Result<(), Fault> {
        self.line(&[verb])?;
        self.link.send().await?;
        self.expect(verb, 250).await?;
        self.link.end();
        Ok(())
    }

    /// Begins a call. A reply that is there already would be taken for that to the call.
    fn begin(&mut self) -> Result<&mut Vec<u8>, Fault> {
        self.link.begin()?;
        if self.link.has_input() { Err(Fault::Flawed(Flaw::Surplus)) } else { Ok(self.link.out()) }
    }

    /// Begins a call with one line.
    fn line(&mut self, parts: &[&str]) -> Result<(), Fault> {
        let out = self.begin()?;
        parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Reads a reply; 421 ends the session.
    async fn reply(&mut self, command: &'static str) -> Result<Reply<'_>, Fault> {
        let place = self.link.message(frame).await?;
        let reply = Reply::of(self.link.bytes(&place));
        match reply.code {
            421 => Err(Fault::Ended(reply.to_string())),
            code if reply.is_intermediate() && !matches!(command, "DATA" | "AUTH") => {
                Err(Fault::Flawed(Flaw::Order { code, command }))
            }
            _ => Ok(reply),
        }
    }

    /// Reads a reply to a command; `None` if the command was done.
    async fn refusal(&mut self, command: &'static str) -> Result<Option<String>, Fault> {
        let reply = self.reply(command).await?;
        Ok((!reply.is_positive()).then(|| reply.to_string()))
    }

    /// Reads a reply that has this code unless it is a refusal. After a refusal the session may be used.
    async fn expect(&mut self, command: &'static str, wanted: u16) -> Result<Reply<'_>, Fault> {
        let place = self.link.message(frame).await?;
        let code = Reply::of(self.link.bytes(&place)).code;
        if code == wanted {
            return Ok(Reply::of(self.link.bytes(&place)));
        }
        let words = Reply::of(self.link.bytes(&place)).to_string();
        match code {
            421 => Err(Fault::Ended(words)),
            400.. => {
                self.link.end();
                Err(Fault::Refused(words))
            }
            _ => Err(Fault::Flawed(Flaw::Order { code, command })),
        }
    }
}
