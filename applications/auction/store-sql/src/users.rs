//! Users and their tokens.

use barograph_auction_api::{User, UserId};
use barograph_auction_store::{Account, Profile, StoreError, UserRow};

use crate::rows::{self, USER_COLUMNS, can_be_stored};
use crate::sql::Sql;
use crate::value::{Statement, Value, values};

/// Locks a user's row and reads the token.
const LOCK_TOKEN: &str = "SELECT token FROM barograph_user WHERE id = ? AND name IS NOT NULL FOR UPDATE";

impl Sql {
    async fn account_where(&self, condition: &str, value: Value) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {USER_COLUMNS} FROM barograph_user WHERE {condition}");
        let rows = self.read("read a user", Statement::new(sql, vec![value])).await?;
        rows.first().map(rows::account).transpose()
    }

    pub(crate) async fn account(&self, id: UserId) -> Result<Option<Account>, StoreError> {
        self.account_where("id = ? AND name IS NOT NULL", id.0.into()).await
    }

    pub(crate) async fn account_by_name(&self, name: &str) -> Result<Option<Account>, StoreError> {
        if !can_be_stored(name) {
            return Ok(None);
        }
        self.account_where("name = ?", name.into()).await
    }

    pub(crate) async fn holder(&self, token: &str) -> Result<Option<UserId>, StoreError> {
        if !can_be_stored(token) {
            return Ok(None);
        }
        let statement = Statement::new("SELECT id FROM barograph_user WHERE token = ?", values![token]);
        let rows = self.read("look for a token", statement).await?;
        rows.first().map(|row| row.int(0).map(UserId)).transpose()
    }

    pub(crate) async fn change_token(
        &self,
        id: UserId,
        token: Option<String>,
    ) -> Result<Option<String>, StoreError> {
        let sql = "UPDATE barograph_user SET token = ? WHERE id = ? AND name IS NOT NULL";
        let statements =
            vec![Statement::new(LOCK_TOKEN, values![id.0]), Statement::new(sql, values![token, id.0])];
        let answers = self.change("change a token", statements).await?;
        let before = answers.first().and_then(|answer| answer.rows.first());
        before.map_or(Ok(None), |row| row.words(0))
    }

    pub(crate) async fn insert_user(&self, user: UserRow) -> Result<(), StoreError> {
        let statement = Statement::new(
            "INSERT INTO barograph_user (id, name, password, first_name, last_name, credit_cents, enabled) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
            values![
                user.id,
                user.name,
                user.password,
                user.first_name.into_owned(),
                user.last_name.into_owned(),
                user.credit_cents,
                i64::from(user.enabled),
            ],
        );
        self.change("add a user", vec![statement]).await.map(drop)
    }

    pub(crate) async fn change_profile(
        &self,
        id: UserId,
        profile: Profile,
    ) -> Result<Option<User>, StoreError> {
        let update = Statement::new(
            "UPDATE barograph_user SET name = COALESCE(?, name), password = COALESCE(?, password), \
             first_name = COALESCE(?, first_name), last_name = COALESCE(?, last_name) \
             WHERE id = ? AND name IS NOT NULL",
            values![profile.name, profile.password, profile.first_name, profile.last_name, id.0],
        );
        let sql = format!("SELECT {USER_COLUMNS} FROM barograph_user WHERE id = ? AND name IS NOT NULL");
        let answers =
            self.change("change a profile", vec![update, Statement::new(sql, values![id.0])]).await?;
        let row = answers.get(1).and_then(|answer| answer.rows.first());
        Ok(row.map(rows::account).transpose()?.map(|account| account.user))
    }

    pub(crate) async fn strike_off(&self, id: UserId) -> Result<Option<Option<String>>, StoreError> {
        let sql = "UPDATE barograph_user SET name = NULL, password = '', token = NULL \
                   WHERE id = ? AND name IS NOT NULL";
        let statements = vec![Statement::new(LOCK_TOKEN, values![id.0]), Statement::new(sql, values![id.0])];
        let answers = self.change("remove a user", statements).await?;
        let before = answers.first().and_then(|answer| answer.rows.first());
        before.map(|row| row.words(0)).transpose()
    }
}
