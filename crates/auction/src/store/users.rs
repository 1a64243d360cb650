//! Users and their tokens.

use barograph_auction_api::{NewUser, User, UserId, UserUpdate};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Store, StoreError};

/// A user with what only the application may see.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) user: User,
    /// The password's hash as a PHC string.
    pub(crate) password: String,
}

const COLUMNS: &str = "id, name, first_name, last_name, credit_cents, enabled, password";

fn account(row: &Row<'_>) -> rusqlite::Result<Account> {
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

fn by_id(conn: &Connection, id: UserId) -> rusqlite::Result<Option<Account>> {
    let mut query = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM user WHERE id = ?1"))?;
    query.query_row([id.0], account).optional()
}

impl Store {
    /// The user of this name.
    pub(crate) fn user_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        self.readers.read(|conn| {
            let mut query = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM user WHERE name = ?1"))?;
            query.query_row([name], account).optional()
        })
    }

    /// The user of this number.
    pub(crate) fn user(&self, id: UserId) -> Result<Option<Account>, StoreError> {
        self.readers.read(|conn| by_id(conn, id))
    }

    /// Who holds this token.
    pub(crate) fn token_holder(&self, token: &str) -> Result<Option<UserId>, StoreError> {
        self.readers.read(|conn| {
            let mut query = conn.prepare_cached("SELECT id FROM user WHERE token = ?1")?;
            query.query_row([token], |row| row.get(0).map(UserId)).optional()
        })
    }

    /// Gives a user another token, or none; answers with the token before.
    pub(crate) async fn set_token(
        &self,
        id: UserId,
        token: Option<String>,
    ) -> Result<Option<String>, StoreError> {
        let change = move |conn: &Connection| {
            let mut query = conn.prepare_cached("SELECT token FROM user WHERE id = ?1")?;
            let before: Option<String> = query.query_row([id.0], |row| row.get(0))?;
            conn.prepare_cached("UPDATE user SET token = ?2 WHERE id = ?1")?
                .execute(rusqlite::params![id.0, token])?;
            Ok(before)
        };
        self.relational.write(change).await
    }

    /// Makes a user with this credit; a taken name is a conflict.
    pub(crate) async fn add_user(
        &self,
        new: NewUser,
        password_hash: String,
        credit_cents: i64,
    ) -> Result<User, StoreError> {
        let change = move |conn: &Connection| {
            let mut insert = conn.prepare_cached(
                "INSERT INTO user (name, password, first_name, last_name, credit_cents, enabled) \
                 VALUES (?1, ?2, ?3, ?4, ?5, 1)",
            )?;
            insert.execute(rusqlite::params![
                new.name,
                password_hash,
                new.first_name,
                new.last_name,
                credit_cents
            ])?;
            let id = UserId(conn.last_insert_rowid());
            Ok(User {
                id,
                name: new.name,
                first_name: new.first_name,
                last_name: new.last_name,
                credit_cents,
                enabled: true,
            })
        };
        self.relational.write(change).await
    }

    /// Changes a user's profile (`password` of the update is replaced by its hash); `None` when there is no such user.
    pub(crate) async fn update_user(
        &self,
        id: UserId,
        update: UserUpdate,
    ) -> Result<Option<User>, StoreError> {
        let change = move |conn: &Connection| {
            conn.prepare_cached(
                "UPDATE user SET name = coalesce(?2, name), password = coalesce(?3, password), \
                 first_name = coalesce(?4, first_name), last_name = coalesce(?5, last_name), \
                 version = version + 1 WHERE id = ?1",
            )?
            .execute(rusqlite::params![
                id.0,
                update.name,
                update.password,
                update.first_name,
                update.last_name
            ])?;
            by_id(conn, id)
        };
        Ok(self.relational.write(change).await?.map(|a| a.user))
    }
}
