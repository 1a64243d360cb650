//! Folders and messages in the store.

use rusqlite::{Connection, OptionalExtension as _, params};

/// The flags that a message may have.
pub(crate) const FLAGS: [&str; 5] = ["\\Seen", "\\Answered", "\\Flagged", "\\Deleted", "\\Draft"];

/// A folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) id: i64,
    /// The UID of its next message.
    pub(crate) next_uid: u32,
}

/// A message without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) uid: u32,
    /// Names of flags, separated by blanks.
    pub(crate) flags: String,
    pub(crate) size: u64,
    pub(crate) content: i64,
}

/// Finds a folder. INBOX exists in every account.
pub(crate) fn find(database: &Connection, account: &str, name: &str) -> rusqlite::Result<Option<Folder>> {
    let inbox = name.eq_ignore_ascii_case("INBOX");
    let name = if inbox { "INBOX" } else { name };
    let mut query =
        database.prepare_cached("SELECT id, next_uid FROM folders WHERE account = ?1 AND name = ?2")?;
    let found =
        query.query_row(params![account, name], |row| Ok(Folder { id: row.get(0)?, next_uid: row.get(1)? }));
    match found.optional()? {
        None if inbox => make(database, account, name).map(Some),
        found => Ok(found),
    }
}

/// Makes a folder.
///
/// # Errors
/// If it exists.
pub(crate) fn make(database: &Connection, account: &str, name: &str) -> rusqlite::Result<Folder> {
    let mut insert =
        database.prepare_cached("INSERT INTO folders (account, name, next_uid) VALUES (?1, ?2, 1)")?;
    insert.execute(params![account, name])?;
    Ok(Folder { id: database.last_insert_rowid(), next_uid: 1 })
}

/// The names of all folders of an account.
pub(crate) fn names(database: &Connection, account: &str) -> rusqlite::Result<Vec<String>> {
    find(database, account, "INBOX")?;
    let mut query = database.prepare_cached("SELECT name FROM folders WHERE account = ?1 ORDER BY name")?;
    query.query_map(params![account], |row| row.get(0))?.collect()
}

/// Stores a content for messages to come.
pub(crate) fn store(database: &Connection, bytes: &[u8]) -> rusqlite::Result<i64> {
    database.prepare_cached("INSERT INTO contents (bytes) VALUES (?1)")?.execute(params![bytes])?;
    Ok(database.last_insert_rowid())
}

/// Adds a message with a stored content to a folder. Returns its UID.
pub(crate) fn add(database: &Connection, folder: i64, message: &Message) -> rusqlite::Result<u32> {
    let mut next = database
        .prepare_cached("UPDATE folders SET next_uid = next_uid + 1 WHERE id = ?1 RETURNING next_uid - 1")?;
    let uid: u32 = next.query_row(params![folder], |row| row.get(0))?;
    let mut insert = database.prepare_cached(
        "INSERT INTO messages (folder, uid, flags, size, content) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    insert.execute(params![folder, uid, message.flags, message.size as i64, message.content])?;
    Ok(uid)
}

/// The UIDs of all messages of a folder, in order.
pub(crate) fn uids(database: &Connection, folder: i64) -> rusqlite::Result<Vec<u32>> {
    let mut query = database.prepare_cached("SELECT uid FROM messages WHERE folder = ?1 ORDER BY uid")?;
    query.query_map(params![folder], |row| row.get(0))?.collect()
}

/// A message by its UID.
pub(crate) fn message(database: &Connection, folder: i64, uid: u32) -> rusqlite::Result<Option<Message>> {
    let mut query = database
        .prepare_cached("SELECT flags, size, content FROM messages WHERE folder = ?1 AND uid = ?2")?;
    let found = query.query_row(params![folder, uid], |row| {
        let size: i64 = row.get(1)?;
        Ok(Message { uid, flags: row.get(0)?, size: size.unsigned_abs(), content: row.get(2)? })
    });
    found.optional()
}

/// The bytes of a content.
pub(crate) fn bytes(database: &Connection, content: i64) -> rusqlite::Result<Vec<u8>> {
    let mut query = database.prepare_cached("SELECT bytes FROM contents WHERE id = ?1")?;
    query.query_row(params![content], |row| row.get(0))
}

/// Sets the flags of a message.
pub(crate) fn set_flags(database: &Connection, folder: i64, uid: u32, flags: &str) -> rusqlite::Result<()> {
    let mut update =
        database.prepare_cached("UPDATE messages SET flags = ?3 WHERE folder = ?1 AND uid = ?2")?;
    update.execute(params![folder, uid, flags]).map(drop)
}

/// Removes a message, and its content if no other message has it.
pub(crate) fn remove(database: &Connection, folder: i64, uid: u32) -> rusqlite::Result<()> {
    let mut delete =
        database.prepare_cached("DELETE FROM messages WHERE folder = ?1 AND uid = ?2 RETURNING content")?;
    let content: Option<i64> = delete.query_row(params![folder, uid], |row| row.get(0)).optional()?;
    let mut sweep = database.prepare_cached(
        "DELETE FROM contents WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE content = ?1)",
    )?;
    content.map_or(Ok(()), |content| sweep.execute(params![content]).map(drop))
}
