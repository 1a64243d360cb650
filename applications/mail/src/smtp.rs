//! A session of SMTP or LMTP.

use std::io;
use std::rc::Rc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tokio::net::TcpStream;

use crate::folders::{self, Message};
use crate::input::Input;
use crate::server::Shared;

/// Largest mail.
const LARGEST: usize = 64 << 20;

/// Most recipients of a mail.
const MOST_RECIPIENTS: usize = 1_000;

/// A session.
pub(crate) struct SmtpSession {
    input: Input,
    shared: Rc<Shared>,
    out: Vec<u8>,
    is_lmtp: bool,
    sender: Option<String>,
    recipients: Vec<String>,
    /// Chunks of the mail that have arrived.
    chunks: Vec<u8>,
}

impl SmtpSession {
    pub(crate) fn new(stream: TcpStream, shared: &Rc<Shared>) -> Self {
        SmtpSession {
            input: Input::new(stream),
            shared: Rc::clone(shared),
            out: Vec::new(),
            is_lmtp: false,
            sender: None,
            recipients: Vec::new(),
            chunks: Vec::new(),
        }
    }

    /// Serves the session to its end.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(crate) async fn serve(mut self) -> io::Result<()> {
        self.say("220 barograph ESMTP");
        self.flush().await?;
        while let Some(line) = self.input.line().await? {
            let line = String::from_utf8_lossy(&line).into_owned();
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match &verb.to_ascii_uppercase()[..] {
                "QUIT" => {
                    self.say("221 until next time");
                    return self.flush().await;
                }
                "DATA" => self.data().await?,
                "BDAT" => self.chunk(rest).await?,
                "AUTH" => self.log_in(rest).await?,
                verb => self.simple(verb, rest),
            }
            // Replies to commands that arrived together leave together.
            if !self.input.has_more() {
                self.flush().await?;
            }
        }
        Ok(())
    }

    fn simple(&mut self, verb: &str, rest: &str) {
        match verb {
            "EHLO" | "LHLO" => {
                self.is_lmtp = verb == "LHLO";
                self.forget();
                self.say(
                    "250-barograph\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-CHUNKING\r\n250-AUTH PLAIN LOGIN",
                );
                self.say(&format!("250 SIZE {LARGEST}"));
            }
            "HELO" => self.say("250 barograph"),
            "MAIL" => self.mail(rest),
            "RCPT" => self.recipient(rest),
            "RSET" => {
                self.forget();
                self.say("250 forgotten");
            }
            "NOOP" => self.say("250 done"),
            _ => self.say("500 an unknown command"),
        }
    }

    fn mail(&mut self, rest: &str) {
        let declared = rest.split(' ').find_map(|word| word.strip_prefix("SIZE="));
        match path(rest, "FROM:") {
            _ if self.sender.is_some() => self.say("503 a mail was begun before"),
            None => self.say("501 MAIL FROM:<address>"),
            Some(_)
                if declared.is_some_and(|size| size.parse::<usize>().map_or(true, |size| size > LARGEST)) =>
            {
                self.say("552 the mail is too large");
            }
            Some(sender) => {
                self.sender = Some(sender);
                self.say("250 go on");
            }
        }
    }

    fn recipient(&mut self, rest: &str) {
        match path(rest, "TO:") {
            _ if self.sender.is_none() => self.say("503 MAIL comes first"),
            None => self.say("501 RCPT TO:<address>"),
            Some(_) if self.recipients.len() == MOST_RECIPIENTS => self.say("452 too many recipients"),
            Some(recipient) if !self.shared.is_account(&recipient) => self.say("550 no such mailbox"),
            Some(recipient) => {
                self.recipients.push(recipient.to_ascii_lowercase());
                self.say("250 go on");
            }
        }
    }

    async fn data(&mut self) -> io::Result<()> {
        if self.recipients.is_empty() {
            self.say("503 RCPT comes first");
            return Ok(());
        }
        self.say("354 end with a dot on a line of its own");
        self.flush().await?;
        let mut mail = Vec::new();
        loop {
            let Some(line) = self.input.line().await? else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            if line == b"." {
                break;
            }
            if mail.len() + line.len() <= LARGEST {
                mail.extend_from_slice(line.strip_prefix(b".").unwrap_or(&line));
                mail.extend_from_slice(b"\r\n");
            }
        }
        self.deliver(mail).await;
        Ok(())
    }

    async fn chunk(&mut self, rest: &str) -> io::Result<()> {
        let mut words = rest.split(' ');
        let length = words.next().and_then(|word| word.parse::<usize>().ok()).filter(|n| *n <= LARGEST);
        let Some(length) = length else { return Err(io::ErrorKind::InvalidData.into()) };
        let bytes = self.input.exactly(length).await?;
        if self.recipients.is_empty() {
            self.say("503 RCPT comes first");
        } else if self.chunks.len() + length > LARGEST {
            self.forget();
            self.say("552 the mail is too large");
        } else {
            self.chunks.extend_from_slice(&bytes);
            match words.next().is_some_and(|word| word.eq_ignore_ascii_case("LAST")) {
                true => {
                    let mail = std::mem::take(&mut self.chunks);
                    self.deliver(mail).await;
                }
                false => self.say("250 go on"),
            }
        }
        Ok(())
    }

    /// Stores a mail for all recipients in one transaction, and answers.
    async fn deliver(&mut self, mail: Vec<u8>) {
        let (sender, recipients) =
            (self.sender.take().unwrap_or_default(), std::mem::take(&mut self.recipients));
        let replies = if self.is_lmtp { recipients.len() } else { 1 };
        let content = [format!("Return-Path: <{sender}>\r\n").into_bytes(), mail].concat();
        let stored = self.shared.store.run(move |database| {
            let size = content.len() as u64;
            let content = folders::store(database, &content)?;
            let mut folders = Vec::new();
            for recipient in recipients {
                let inbox = folders::find(database, &recipient, "INBOX")?;
                if let Some(inbox) = inbox {
                    folders::add(
                        database,
                        inbox.id,
                        &Message { uid: 0, flags: String::new(), size, content },
                    )?;
                    folders.push(inbox.id);
                }
            }
            Ok(folders)
        });
        let reply = match stored.await {
            Ok(folders) => {
                folders.into_iter().for_each(|folder| self.shared.changes.tell(folder));
                "250 stored"
            }
            Err(_) => "451 the mail store failed",
        };
        (0..replies).for_each(|_| self.say(reply));
        self.forget();
    }

    async fn log_in(&mut self, rest: &str) -> io::Result<()> {
        let (method, initial) = rest.split_once(' ').unwrap_or((rest, ""));
        let login = match &method.to_ascii_uppercase()[..] {
            "PLAIN" => {
                let secret = if initial.is_empty() { self.asked("").await? } else { decoded(initial) };
                let mut parts = secret.split('\0').skip(1).map(str::to_owned);
                parts.next().zip(parts.next())
            }
            "LOGIN" => {
                let user = self.asked("VXNlcm5hbWU6").await?;
                Some((user, self.asked("UGFzc3dvcmQ6").await?))
            }
            _ => {
                self.say("504 PLAIN and LOGIN are known");
                return Ok(());
            }
        };
        match login {
            Some((user, password)) if self.shared.is_login(&user, &password) => self.say("235 logged in"),
            _ => self.say("535 wrong user or password"),
        }
        Ok(())
    }

    /// Asks for a line of a login.
    async fn asked(&mut self, question: &str) -> io::Result<String> {
        self.say(&format!("334 {question}"));
        self.flush().await?;
        let line = self.input.line().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(decoded(&String::from_utf8_lossy(&line)))
    }

    fn forget(&mut self) {
        self.sender = None;
        self.recipients.clear();
        self.chunks.clear();
    }

    fn say(&mut self, line: &str) {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
    }

    async fn flush(&mut self) -> io::Result<()> {
        let sent = self.input.send(&self.out).await;
        self.out.clear();
        sent
    }
}

/// The address in `FROM:<address> ...`.
fn path(rest: &str, begin: &str) -> Option<String> {
    let head = rest.get(..begin.len()).filter(|head| head.eq_ignore_ascii_case(begin))?;
    let path = rest[head.len()..].trim_start().strip_prefix('<')?;
    path.split_once('>').map(|(address, _)| address.to_owned())
}

fn decoded(text: &str) -> String {
    let bytes = BASE64_STANDARD.decode(text.trim()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
