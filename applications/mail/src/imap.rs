//! A session of IMAP.

use std::io;
use std::rc::Rc;

use rusqlite::Connection;
use tokio::net::TcpStream;

use crate::changes::FolderNews;
use crate::command::{Argument, Piece, announced, arguments};
use crate::fetch::{Attribute, attributes};
use crate::folders::{self, FLAGS, Message};
use crate::input::Input;
use crate::search::criteria;
use crate::server::Shared;
use crate::sets::NumberSet;
use crate::store::StoreError;

/// Largest literal.
const LARGEST: usize = 64 << 20;

/// Most messages of one job of the store, after which other sessions have a turn.
const AT_ONCE: usize = 64;

/// Abilities beside those of every server.
const CAPABILITIES: &str = "IMAP4rev1 LITERAL+ IDLE MOVE UIDPLUS UNSELECT";

/// End of a command: the text of OK, or a refusal.
type End = Result<&'static str, Refusal>;

/// Status and text of a refusal.
type Refusal = (&'static str, &'static str);

/// A folder, with sequence numbers and UIDs of some of its messages.
type ChosenMessages = (i64, Vec<(u32, u32)>);

const UNREADABLE: Refusal = ("BAD", "a command that cannot be read");
const NO_FOLDER: Refusal = ("NO", "[NONEXISTENT] no such mailbox");
const NO_STORE: Refusal = ("NO", "[SERVERBUG] the mail store failed");

impl From<StoreError> for Refusal {
    fn from(_: StoreError) -> Self {
        NO_STORE
    }
}

/// A way of messages to another mailbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Copy,
    Move,
}

/// The selected folder.
struct Selected {
    id: i64,
    /// UIDs by sequence number, as the client knows them.
    uids: Vec<u32>,
    news: Rc<FolderNews>,
    /// The version of the news that `uids` shows.
    seen: u64,
}

/// A session.
pub(crate) struct ImapSession {
    input: Input,
    shared: Rc<Shared>,
    out: Vec<u8>,
    account: Option<String>,
    selected: Option<Selected>,
    over: bool,
}

impl ImapSession {
    pub(crate) fn new(stream: TcpStream, shared: &Rc<Shared>) -> Self {
        let (input, shared) = (Input::new(stream), Rc::clone(shared));
        ImapSession { input, shared, out: Vec::new(), account: None, selected: None, over: false }
    }

    /// Serves the session to its end.
    ///
    /// # Errors
    /// If the connection breaks.
    pub(crate) async fn serve(mut self) -> io::Result<()> {
        self.input.send(format!("* OK [CAPABILITY {CAPABILITIES}] barograph\r\n").as_bytes()).await?;
        while !self.over {
            let Some(pieces) = self.command().await? else { return Ok(()) };
            let words = arguments(&pieces).filter(|words| words.len() >= 2);
            let (tag, end) = match words.as_deref() {
                Some([Argument::Atom(tag), Argument::Atom(name), rest @ ..]) => {
                    (tag.clone(), Box::pin(self.execute(&name.to_ascii_uppercase(), rest)).await?)
                }
                _ => ("*".to_owned(), Err(UNREADABLE)),
            };
            let (status, text) = end.map_or_else(|refusal| refusal, |text| ("OK", text));
            self.say(&format!("{tag} {status} {text}"));
            self.flush().await?;
        }
        Ok(())
    }

    /// Reads a command with its literals.
    async fn command(&mut self) -> io::Result<Option<Vec<Piece>>> {
        let mut pieces = Vec::new();
        loop {
            let Some(mut line) = self.input.line().await? else { return Ok(None) };
            let Some((begin, length, waits)) = announced(&line) else {
                pieces.push(Piece::Line(line));
                return Ok(Some(pieces));
            };
            if length > LARGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if waits {
                self.input.send(b"+ go on\r\n").await?;
            }
            line.truncate(begin);
            pieces.push(Piece::Line(line));
            pieces.push(Piece::Literal(self.input.exactly(length).await?));
        }
    }

    async fn execute(&mut self, name: &str, arguments: &[Argument]) -> io::Result<End> {
        let (is_uid, name, arguments) = match (name, arguments) {
            ("UID", [Argument::Atom(name), rest @ ..]) => (true, name.to_ascii_uppercase(), rest),
            _ => (false, name.to_owned(), arguments),
        };
        let end = match (&name[..], arguments) {
            ("CAPABILITY", []) => {
                self.say(&format!("* CAPABILITY {CAPABILITIES}"));
                Ok("done")
            }
            ("NOOP" | "CHECK", []) => Ok("done"),
            ("LOGOUT", []) => {
                self.say("* BYE until next time");
                self.over = true;
                return Ok(Ok("done"));
            }
            ("LOGIN", [user, password]) if self.account.is_none() => self.log_in(user, password),
            _ if self.account.is_none() => Err(("NO", "log in first")),
            ("IDLE", []) => return self.idle().await,
            _ => self.change(&name, is_uid, arguments).await,
        };
        // Sequence numbers in the answers to these commands must stay as they were.
        let holds = !is_uid && matches!(&name[..], "FETCH" | "STORE" | "SEARCH");
        match end {
            Ok(_) if !holds => Ok(self.news().await.map_or_else(|why| Err(why.into()), |()| end)),
            end => Ok(end),
        }
    }

    fn log_in(&mut self, user: &Argument, password: &Argument) -> End {
        match (user.text(), password.text()) {
            (Some(user), Some(password)) if self.shared.is_login(&user, &password) => {
                self.account = Some(user.to_ascii_lowercase());
                Ok("logged in")
            }
            _ => Err(("NO", "[AUTHENTICATIONFAILED] wrong user or password")),
        }
    }

    async fn change(&mut self, name: &str, is_uid: bool, arguments: &[Argument]) -> End {
        match (name, arguments) {
            ("SELECT" | "EXAMINE", [mailbox]) => self.select(mailbox).await,
            ("UNSELECT", []) => {
                self.selected = None;
                Ok("done")
            }
            ("CREATE", [mailbox]) => self.create(mailbox).await,
            ("LIST", [_, _]) => self.list().await,
            ("STATUS", [mailbox, Argument::List(_)]) => self.status(mailbox).await,
            ("APPEND", [mailbox, Argument::List(flags), Argument::Text(message)]) => {
                self.append(mailbox, flags, message).await
            }
            ("APPEND", [mailbox, Argument::Text(message)]) => self.append(mailbox, &[], message).await,
            ("EXPUNGE", []) => self.expunge("1:*", false).await,
            ("EXPUNGE", [Argument::Atom(set)]) if is_uid => self.expunge(set, true).await,
            ("SEARCH", criteria) => self.search(is_uid, criteria).await,
            ("FETCH", [Argument::Atom(set), items]) => self.fetch(set, is_uid, items).await,
            ("STORE", [Argument::Atom(set), Argument::Atom(change), Argument::List(flags)]) => {
                self.store(set, is_uid, (change, flags)).await
            }
            ("COPY", [Argument::Atom(set), mailbox]) => {
                self.transfer(set, is_uid, (mailbox, Transfer::Copy)).await
            }
            ("MOVE", [Argument::Atom(set), mailbox]) => {
                self.transfer(set, is_uid, (mailbox, Transfer::Move)).await
            }
            _ => Err(("BAD", "an unknown command, or other arguments than it has here")),
        }
    }

    async fn select(&mut self, mailbox: &Argument) -> End {
        self.selected = None;
        let name = mailbox.text().ok_or(UNREADABLE)?;
        let folder = self.find(name).await?;
        let news = self.shared.changes.follow(folder.id);
        let seen = news.version();
        let uids = self.shared.store.run(move |database| folders::uids(database, folder.id)).await?;
        self.say(&format!("* FLAGS ({})", FLAGS.join(" ")));
        self.say(&format!("* {} EXISTS\r\n* 0 RECENT", uids.len()));
        self.say(&format!("* OK [UIDVALIDITY {}] valid", folder.id));
        self.say(&format!("* OK [UIDNEXT {}] next", folder.next_uid));
        self.selected = Some(Selected { id: folder.id, uids, news, seen });
        Ok("[READ-WRITE] selected")
    }

    async fn create(&self, mailbox: &Argument) -> End {
        let (account, name) = (self.account(), mailbox.text().ok_or(UNREADABLE)?);
        let made = self.shared.store.run(move |database| match folders::find(database, &account, &name)? {
            Some(_) => Ok(false),
            None => folders::make(database, &account, &name).map(|_| true),
        });
        if made.await? { Ok("made") } else { Err(("NO", "[ALREADYEXISTS] the mailbox exists")) }
    }

    async fn list(&mut self) -> End {
        let account = self.account();
        let names = self.shared.store.run(move |database| folders::names(database, &account)).await?;
        for name in names {
            self.say(&format!("* LIST (\\HasNoChildren) \"/\" {}", quoted(&name)));
        }
        Ok("done")
    }

    async fn status(&mut self, mailbox: &Argument) -> End {
        let name = mailbox.text().ok_or(UNREADABLE)?;
        let folder = self.find(name.clone()).await?;
        let count = self.shared.store.run(move |database| folders::uids(database, folder.id)).await?.len();
        let (next, validity) = (folder.next_uid, folder.id);
        let counts = format!("MESSAGES {count} UIDNEXT {next} UIDVALIDITY {validity}");
        self.say(&format!("* STATUS {} ({counts})", quoted(&name)));
        Ok("done")
    }

    async fn append(&self, mailbox: &Argument, flags: &[Argument], message: &[u8]) -> End {
        let flags = self::flags(flags).ok_or(UNREADABLE)?;
        let folder = self.find(mailbox.text().ok_or(UNREADABLE)?).await?.id;
        let message = message.to_vec();
        let added = self.shared.store.run(move |database| {
            let content = folders::store(database, &message)?;
            let size = message.len() as u64;
            folders::add(database, folder, &Message { uid: 0, flags: flags.join(" "), size, content })
        });
        added.await?;
        self.shared.changes.tell(folder);
        Ok("appended")
    }

    async fn fetch(&mut self, set: &str, is_uid: bool, items: &Argument) -> End {
        let mut wanted = attributes(items).ok_or(("BAD", "an attribute that this server does not have"))?;
        if is_uid && !wanted.contains(&Attribute::Uid) {
            wanted.insert(0, Attribute::Uid);
        }
        let (folder, messages) = self.chosen(set, is_uid)?;
        for part in messages.chunks(AT_ONCE) {
            let (part, wanted) = (part.to_vec(), wanted.clone());
            let lines =
                self.shared.store.run(move |database| fetched(database, folder, &part, &wanted)).await?;
            self.out.extend_from_slice(&lines);
            // A client that has gone is noticed by the next read.
            let _ = self.flush().await;
        }
        if wanted.iter().any(Attribute::marks_seen) {
            self.shared.changes.tell(folder);
        }
        Ok("fetched")
    }

    async fn store(&mut self, set: &str, is_uid: bool, (change, flags): (&str, &[Argument])) -> End {
        let change = change.to_ascii_uppercase();
        let (change, is_silent) = change.strip_suffix(".SILENT").map_or((&change[..], false), |c| (c, true));
        let how = match change {
            "FLAGS" => ' ',
            "+FLAGS" => '+',
            "-FLAGS" => '-',
            _ => return Err(UNREADABLE),
        };
        let flags = self::flags(flags).ok_or(("NO", "[CANNOT] a flag that this server does not keep"))?;
        let (folder, messages) = self.chosen(set, is_uid)?;
        let stored = self.shared.store.run(move |database| {
            let mut lines = Vec::new();
            for (sequence, uid) in messages {
                let Some(message) = folders::message(database, folder, uid)? else { continue };
                let now = changed(&message.flags, how, &flags);
                folders::set_flags(database, folder, uid, &now)?;
                lines.push(format!("* {sequence} FETCH (UID {uid} FLAGS ({now}))"));
            }
            Ok(lines)
        });
        let lines = stored.await?;
        if !is_silent {
            lines.iter().for_each(|line| self.say(line));
        }
        Ok("stored")
    }

    async fn expunge(&mut self, set: &str, is_uid: bool) -> End {
        let (folder, messages) = self.chosen(set, is_uid)?;
        let deleted = self.shared.store.run(move |database| {
            let mut deleted = Vec::new();
            for (_, uid) in messages {
                let message = folders::message(database, folder, uid)?;
                if message.is_some_and(|message| message.flags.contains("\\Deleted")) {
                    deleted.push(uid);
                }
            }
            Ok(deleted)
        });
        let deleted = deleted.await?;
        self.remove(deleted).await
    }

    /// Removes messages of the selected folder. The news that follow tell the client.
    async fn remove(&self, uids: Vec<u32>) -> End {
        let Some(selected) = &self.selected else { return Err(NO_FOLDER) };
        let folder = selected.id;
        let removed = self
            .shared
            .store
            .run(move |database| uids.into_iter().try_for_each(|uid| folders::remove(database, folder, uid)));
        removed.await?;
        self.shared.changes.tell(folder);
        Ok("removed")
    }

    /// Copies or moves messages, in one transaction: a killed server leaves no message in both mailboxes.
    async fn transfer(&self, set: &str, is_uid: bool, (mailbox, how): (&Argument, Transfer)) -> End {
        let to = self.find(mailbox.text().ok_or(UNREADABLE)?).await?.id;
        let (folder, messages) = self.chosen(set, is_uid)?;
        let transferred = self.shared.store.run(move |database| {
            for (_, uid) in messages {
                let Some(message) = folders::message(database, folder, uid)? else { continue };
                folders::add(database, to, &message)?;
                if how == Transfer::Move {
                    folders::remove(database, folder, uid)?;
                }
            }
            Ok(())
        });
        transferred.await?;
        self.shared.changes.tell(to);
        self.shared.changes.tell(folder);
        Ok("done")
    }

    async fn search(&mut self, is_uid: bool, arguments: &[Argument]) -> End {
        let (folder, messages) = self.chosen("1:*", false)?;
        let last = messages.last().map_or(0, |(_, uid)| *uid);
        let all = criteria(arguments, last).ok_or(("BAD", "a criterion that this server does not have"))?;
        let mut line = "* SEARCH".to_owned();
        for part in messages.chunks(AT_ONCE) {
            let (part, all) = (part.to_vec(), all.clone());
            let found = self.shared.store.run(move |database| {
                let needs_content = all.iter().any(|criterion| criterion.needs_content());
                let mut found = Vec::new();
                for (sequence, uid) in part {
                    let Some(message) = folders::message(database, folder, uid)? else { continue };
                    let mut content = Vec::new();
                    if needs_content {
                        content = folders::bytes(database, message.content)?;
                        content.make_ascii_lowercase();
                    }
                    if all.iter().all(|criterion| criterion.holds(&message, &content)) {
                        found.push(if is_uid { uid } else { sequence });
                    }
                }
                Ok(found)
            });
            found.await?.iter().for_each(|number| line.push_str(&format!(" {number}")));
        }
        self.say(&line);
        Ok("searched")
    }

    /// Holds IDLE until the client ends it.
    async fn idle(&mut self) -> io::Result<End> {
        self.say("+ idling");
        self.flush().await?;
        loop {
            if self.news().await.is_err() {
                return Ok(Err(NO_STORE));
            }
            self.flush().await?;
            let newer = async {
                match &self.selected {
                    Some(selected) => selected.news.newer(selected.seen).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                line = self.input.line() => {
                    let is_done = line?.is_some_and(|line| line.eq_ignore_ascii_case(b"DONE"));
                    return Ok(if is_done { Ok("idled") } else { Err(UNREADABLE) });
                }
                () = newer => {}
            }
        }
    }

    /// Tells the client what has changed in the selected folder.
    async fn news(&mut self) -> Result<(), StoreError> {
        let Some(selected) = &mut self.selected else { return Ok(()) };
        let (version, folder) = (selected.news.version(), selected.id);
        if version == selected.seen {
            return Ok(());
        }
        let now = self.shared.store.run(move |database| folders::uids(database, folder)).await?;
        for at in (0..selected.uids.len()).rev() {
            if now.binary_search(&selected.uids[at]).is_err() {
                selected.uids.remove(at);
                self.out.extend_from_slice(format!("* {} EXPUNGE\r\n", at + 1).as_bytes());
            }
        }
        if now.len() > selected.uids.len() {
            self.out.extend_from_slice(format!("* {} EXISTS\r\n", now.len()).as_bytes());
        }
        (selected.uids, selected.seen) = (now, version);
        Ok(())
    }

    /// The selected folder, and sequence numbers and UIDs of a set of its messages.
    fn chosen(&self, set: &str, is_uid: bool) -> Result<ChosenMessages, Refusal> {
        let selected = self.selected.as_ref().ok_or(("NO", "select a mailbox first"))?;
        let count = selected.uids.len() as u32;
        let last = if is_uid { selected.uids.last().copied().unwrap_or(0) } else { count };
        let set = NumberSet::parse(set, last.max(1)).ok_or(UNREADABLE)?;
        let numbered = (1..).zip(selected.uids.iter().copied());
        let chosen = numbered.filter(|(sequence, uid)| set.has(if is_uid { *uid } else { *sequence }));
        Ok((selected.id, chosen.collect()))
    }

    async fn find(&self, name: String) -> Result<folders::Folder, Refusal> {
        let account = self.account();
        let found = self.shared.store.run(move |database| folders::find(database, &account, &name)).await?;
        found.ok_or(NO_FOLDER)
    }

    fn account(&self) -> String {
        self.account.clone().unwrap_or_default()
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

/// The lines of FETCH for messages.
fn fetched(
    database: &Connection,
    folder: i64,
    messages: &[(u32, u32)],
    wanted: &[Attribute],
) -> rusqlite::Result<Vec<u8>> {
    let mut out = Vec::new();
    let (needs_content, marks_seen) =
        (wanted.iter().any(Attribute::needs_content), wanted.iter().any(Attribute::marks_seen));
    for (sequence, uid) in messages {
        let Some(mut message) = folders::message(database, folder, *uid)? else { continue };
        if marks_seen {
            message.flags = changed(&message.flags, '+', &["\\Seen"]);
            folders::set_flags(database, folder, *uid, &message.flags)?;
        }
        let content = if needs_content { folders::bytes(database, message.content)? } else { Vec::new() };
        out.extend_from_slice(format!("* {sequence} FETCH (").as_bytes());
        for (at, attribute) in wanted.iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            attribute.write(&message, &content, &mut out);
        }
        out.extend_from_slice(b")\r\n");
    }
    Ok(out)
}

/// Known flags by their names; `None` if one is unknown.
fn flags(arguments: &[Argument]) -> Option<Vec<&'static str>> {
    let known = |argument: &Argument| {
        let text = argument.text()?;
        FLAGS.into_iter().find(|flag| flag.eq_ignore_ascii_case(&text))
    };
    arguments.iter().map(known).collect()
}

/// Flags after a change: `+` adds, `-` removes, a blank replaces.
fn changed(before: &str, how: char, flags: &[&str]) -> String {
    let had = |flag: &str| before.split(' ').any(|known| known == flag);
    let has = |flag: &&str| match how {
        '+' => had(flag) || flags.contains(flag),
        '-' => had(flag) && !flags.contains(flag),
        _ => flags.contains(flag),
    };
    FLAGS.into_iter().filter(has).collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_added_removed_and_replaced() {
        assert_eq!(changed("", '+', &["\\Flagged", "\\Seen"]), "\\Seen \\Flagged");
        assert_eq!(changed("\\Seen \\Flagged", '-', &["\\Seen"]), "\\Flagged");
        assert_eq!(changed("\\Seen", ' ', &["\\Deleted"]), "\\Deleted");
    }
}
