//! Users and their tokens.

use barograph_auction_api::{User, UserId};
use barograph_auction_store::{Account, Profile, UserRow};
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

macro_rules! select_user {
    ($where:literal) => {
        concat!(
            "SELECT id, name, first_name, last_name, credit_cents, enabled, password FROM user WHERE ",
            $where
        )
    };
}

fn account(row: &Row<'_>) -> Result<Account> {
    Ok(Account {
        user: User {
            id: UserId(row.get(0)?),
            name: row.get(1)?,
            first_name: row.get(2)?,
            last_name: row.get(3)?,
            credit_cents: row.get(4)?,
            enabled: row.get(5)?,
        },
        password: row.get(6)?,
    })
}

pub(crate) fn by_id(conn: &Connection, id: UserId) -> Result<Option<Account>> {
    conn.prepare_cached(select_user!("id = ?1 AND removed = 0"))?.query_row([id.0], account).optional()
}

pub(crate) fn by_name(conn: &Connection, name: &str) -> Result<Option<Account>> {
    conn.prepare_cached(select_user!("name = ?1 AND removed = 0"))?.query_row([name], account).optional()
}

pub(crate) fn token_holder(conn: &Connection, token: &str) -> Result<Option<UserId>> {
    let mut query = conn.prepare_cached("SELECT id FROM user WHERE token = ?1")?;
    query.query_row([token], |row| row.get(0).map(UserId)).optional()
}

/// The token of a user; `None` if there is no such user.
fn token(conn: &Connection, id: UserId) -> Result<Option<Option<String>>> {
    let mut query = conn.prepare_cached("SELECT token FROM user WHERE id = ?1 AND removed = 0")?;
    query.query_row([id.0], |row| row.get(0)).optional()
}

pub(crate) fn set_token(conn: &Connection, id: UserId, new: Option<&str>) -> Result<Option<String>> {
    let Some(before) = token(conn, id)? else { return Ok(None) };
    conn.prepare_cached("UPDATE user SET token = ?2 WHERE id = ?1")?.execute(params![id.0, new])?;
    Ok(before)
}

pub(crate) fn add(conn: &Connection, user: &UserRow) -> Result<()> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO user (id, name, password, first_name, last_name, credit_cents, enabled) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let UserRow { id, name, password, first_name, last_name, credit_cents, enabled } = user;
    insert.execute(params![id, name, password, first_name, last_name, credit_cents, enabled])?;
    Ok(())
}

pub(crate) fn update(conn: &Connection, id: UserId, profile: &Profile) -> Result<Option<User>> {
    let mut update = conn.prepare_cached(
        "UPDATE user SET name = coalesce(?2, name), password = coalesce(?3, password), \
         first_name = coalesce(?4, first_name), last_name = coalesce(?5, last_name), version = version + 1 \
         WHERE id = ?1 AND removed = 0",
    )?;
    let Profile { name, password, first_name, last_name } = profile;
    update.execute(params![id.0, name, password, first_name, last_name])?;
    Ok(by_id(conn, id)?.map(|account| account.user))
}

/// Removes a user. The row stays, because its credit is counted; it loses its token and its entry in the
/// index of names.
pub(crate) fn remove(conn: &Connection, id: UserId) -> Result<Option<Option<String>>> {
    let Some(before) = token(conn, id)? else { return Ok(None) };
    conn.prepare_cached(
        "UPDATE user SET removed = 1, enabled = 0, token = NULL, version = version + 1 WHERE id = ?1",
    )?
    .execute([id.0])?;
    Ok(Some(before))
}
